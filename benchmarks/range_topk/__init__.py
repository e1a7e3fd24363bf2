"""Range top-k lists, from an object's record to the lists that change.

lab      sizes, and a world of objects and subscribers with narrow ranges
speed    the painter and a zone by themselves, against the targets
batches  one change after the other, and batches
latency  a painter and zones on a broker
job      the Spark job, batch by batch
"""
