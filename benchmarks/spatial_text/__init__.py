"""Location-aware matching, measured: `python -m benchmarks.spatial_text`.

users        what a user would write instead: a list per rarest token, an R-tree
lab          sizes, workloads, indexes side by side
experiments  the figures of the paper, §6
speed        the targets
areas        circles and polygons beside boxes
"""
