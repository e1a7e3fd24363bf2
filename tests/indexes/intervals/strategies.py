"""Coarse numbers, so that ties, touching ends and duplicates are the rule, not the exception."""

from hypothesis import strategies as st

from tests.indexes.intervals.columns import INF, Row

ends = st.sampled_from([-INF, -4.0, -3.0, -1.0, -0.0, 0.0, 1.0, 2.0, 4.0, INF])
intervals = st.tuples(ends, ends).map(lambda pair: (min(pair), max(pair)))
scores = st.sampled_from([-1.0, -0.0, 0.0, 1.0, 2.5])
hot_ids = st.integers(0, 7)  # come, go and come back often
ids = hot_ids | st.integers(0, 40) | st.sampled_from([2**31, 2**53 + 1, 2**62, 2**63 - 1])
values = st.sampled_from([-5.0, -4.0, -3.5, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 4.5])
counts = st.integers(0, 8)

rows = st.builds(lambda id, ends, score: Row(id, ends[0], ends[1], score), ids, intervals, scores)
batches = st.lists(rows, max_size=14)  # ids may repeat
few = st.lists(rows, max_size=9, unique_by=lambda row: row.id)
many = st.lists(rows, min_size=15, max_size=41).map(
    lambda drawn: [row._replace(id=at * 7 % 41) for at, row in enumerate(drawn)]
)
populations = few | many
