"""`events`: what happens, to be matched with the subscriptions.

`contract` reads one record at a time, whatever the kind; `numbers` and `mixed` are the two forms
that its attributes take in columns, and on the wire.
"""
