"""Why a subscription is or is not in the answer to an event: `podium explain`.

records.py      reads single records and stretches of topics
explanation.py  what is said in the end, for people and for programs
matches.py      of an event and its match record
ranking.py      how many subscriptions are better: a scan over all, as slow as it is obvious
lists.py        of an object and a subscriber's list
"""
