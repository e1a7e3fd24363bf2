"""How large records may be: each limit once, for topics, producers, consumers and the broker.

From small to large: what is parsed, what a topic of people's records takes, what a dead letter
takes, what a record of our own between workers takes.
"""

MIB = 1024 * 1024

# Key and value of a record that is parsed.  The topics themselves take more, so that a larger one
# arrives and can be reported instead of vanishing in its producer's error handling.
PARSED_BYTES = MIB
# The largest record of people's topics, as Kafka counts it (after compression, with key, headers).
RECORD_BYTES = 4 * MIB
# The original record and the headers that say what was wrong with it.
DEAD_LETTER_BYTES = 5 * MIB
# What a dead letter keeps in full, so that its own headers fit beside it.
DEAD_LETTER_KEPT_WHOLE = 4 * MIB + MIB // 2
# What is kept of key and value of one that is larger.
DEAD_LETTER_KEPT_CUT = MIB
# Many events, answers or matches in one record.  No producer, consumer or broker of a fleet may
# take less.
FRAME_BYTES = 16 * MIB
# Answers that go out together, unless one alone is larger: half of what their topic takes.
ANSWERS_TOGETHER_BYTES = FRAME_BYTES // 2

# Messages to a zone that go into one of its records; ids and first lists come on top.
ZONE_MESSAGES_BYTES = 4 * MIB

# They bound the size of a frame and of a shard's answer: with the longest ids both stay below
# `FRAME_BYTES`.
HITS_PER_FRAME_RECORD = 20_000
EVENTS_PER_FRAME_RECORD_BYTES = MIB  # of keys and values

# Kafka deletes whole segments only: with its default of 1 GiB, a short retention would be long.
SHORT_SEGMENT_BYTES = 128 * MIB
