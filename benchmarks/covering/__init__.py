"""Subscription covering, measured: see `__main__`.

    lab           sizes, and the indexes side by side
    scan          the plain scan that the paper measures against, compiled
    speed         the targets
    routing       what routing costs the router an event, and what it saves
    experiments   the paper's figures

`python -m benchmarks.covering [--quick] [--only NAME] [--out DIR]`
"""
