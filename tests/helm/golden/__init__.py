"""What the chart renders of its files of values, as reviewed: `python -m tests.helm.golden`."""
