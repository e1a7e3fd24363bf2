"""`events`: what happens, to be matched with the subscriptions.

`contract` reads one record at a time, whatever the kind; `numbers`, `mixed` and `spatial_text` are
the forms that events take in columns, and on the wire.
"""
