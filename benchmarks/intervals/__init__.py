"""Interval indexes, measured: see `__main__`.

    lab           sizes, workloads, and matchers beside scans
    speed         the targets; `targets` has the rows of their table
    latency       how long a query takes while another thread inserts
    experiments   experiments 1 to 4 of the paper

`python -m benchmarks.intervals [--quick] [--only NAME] [--out DIR]`
"""
