"""Range top-k subscriptions, measured: see `__main__`.

    lab           sizes, servers of one workload, and who receives their messages
    paper         what the paper printed, and how it counted
    experiments   the paper's tables and figures
    sorted_sets   a sorted set per range: what one would keep without Paint
    speed         the targets

`python -m benchmarks.paint [--quick] [--only NAME] [--out DIR]`
"""
