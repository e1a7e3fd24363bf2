"""Subscription covering: which boxes cover which, and what a router
has to forward.

A new box is covered if its point, `(-low, high)` in each attribute, is dominated by a stored one
(`points`).  Three indexes find such points: a scan, a bucketed k-d tree (`kd_layout`) and the
Z-order curve (`z_layout`); the relation graph keeps the covers that were found (`graph_kernels`).
"""

from indexes.covering.commands import Change, Commands
from indexes.covering.kd_cover import KDCover
from indexes.covering.naive_cover import NaiveCover
from indexes.covering.relation_graph import RelationGraph, Work
from indexes.covering.z_cover import ZOrderCover

__all__ = [
    "Change", "Commands", "KDCover", "NaiveCover", "RelationGraph", "Work", "ZOrderCover",
]  # fmt: skip
