"""`podium demo parking`: free places along a road, and who wants to know the cheapest near them.

data    the made-up places, subscribers and changes
story   the steps, on a fleet of a painter and zones
watch   reads the lists as they come
scan    the slow and obvious way to a list
check   whether records are what a scan says, and follow from each other
report  what was found, for people and for programs
"""
