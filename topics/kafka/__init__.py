"""The client's side of Kafka.

producer.py     sends so that nothing is lost in silence; dead letters
partitioner.py  which partition a key goes to
plan.py         what is missing of a collection's topics        creation.py  makes it so
"""
