"""The merger: the answers of all shards to a frame become match records.

merger.py    reads, writes, commits
assembly.py  which answers to a frame are there, and the best of all shards' hits
writing.py   match records, also those of nodes
progress.py  what a merger tells its successor, in the metadata of its commits
"""
