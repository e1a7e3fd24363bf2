"""Boolean expressions, measured: see `__main__`.

    lab           sizes, BEGen workloads, and every index beside the others on the same events
    speed         the targets
    experiments   the paper's figures and tables

`python -m benchmarks.boolean [--quick] [--only NAME] [--out DIR]`
"""
