"""Routing by covering: shards that no subscription of theirs can match are left out.

route_set.py  the routes of one shard: few boxes around all its subscriptions, published
placement.py  plans that put subscriptions that are alike into one shard
"""
