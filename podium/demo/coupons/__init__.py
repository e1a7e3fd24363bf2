"""`podium demo coupons`: coupons of shops around the world, and people who talk of what they want.

words   what coupons are about and how people talk of it
data    the made-up coupons and messages, around real cities
scan    the slow and obvious way to an answer
story   the steps, on a fleet of a router, matchers and a merger
report  what was found, for people and for programs
"""
