"""What a painter, the worker or the Spark job, says to the zones and hears of them.

steps.py      from changes of the world to records of `messages`
lives.py      the net effect of records of `subscriptions`
gone.py       who has unsubscribed, and whose null may still have to be written
told.py       the last record of each zone: where a painter goes on, or that it cannot
followed.py   what the zones have said last in `progress`
"""
