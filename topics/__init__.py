"""The topics: what their records mean, and how they are written and read.

catalogue.py    names, partitions, retention; consumer groups     limits.py  sizes of records
areas/          places on the sphere and in the plane, in JSON    words.py   the words of texts
kinds.py        what each kind of collection brings: contracts, event forms, topics, schemas
headers.py      names of headers, tokens, reading headers safely
subscriptions/  events/   matches.py   dead_letters.py            for people, in JSON
frames.py   partials.py   routes.py    bases.py                   between workers
codecs/         columns behind a header, byte strings, JSON records
kafka/          producing, partitioning, creating topics
"""
