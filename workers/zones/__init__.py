"""The zones: keep the lists of subscribers, and write those that change.

zone.py      the worker: zones come and go with the partitions of `messages` that Faust assigns
service.py   the owner of one zone: restore, apply, write, acknowledge, tell how far it is
lists.py     what a zone holds, and what a record of `messages` does to it, without Kafka
history.py   the last record of each subscription in `matches`
"""
