"""Single boxes and commands, where the way into compiled code costs more than the answer.

A call hands over the address of a `Handle` and the ends of a box as bytes.  Whatever is not as
usual is left UNDONE: to the checks, and to the kernels that take arrays.  Without the compiler
everything is.
"""

from collections.abc import Callable
from struct import Struct
from struct import error as NotNumbers
from typing import Any, NamedTuple

import numpy as np
from numba import config, njit

from indexes.covering import edges, kd_layout, scan, z_layout
from indexes.covering.dispatch import Kernels, find_boxes
from indexes.covering.edges import LOGGED
from indexes.covering.graph_kernels import DONE, carry_out
from indexes.covering.store import allocate as allocate_store
from indexes.covering.store import row_count
from indexes.kernels.borrowed import arrays_at
from indexes.kernels.decorators import inlined

__all__ = ["ASK", "COMMAND", "LEAVE", "NONE", "UNDONE", "Scratch", "packer", "scratch_for"]

NONE, UNDONE = -1, -2
LEAVE = b""  # in place of ends


def packer(dimensions: int) -> Callable[[Any, Any], bytes | None]:
    """What makes bytes of the ends of a box, or None where they are not so many numbers in lists.

    A function: Python calls it in half the time of an object.
    """
    pack = Struct(f"{2 * dimensions}d").pack

    def packed(lows: Any, highs: Any) -> bytes | None:
        if type(lows) is list and type(highs) is list and len(lows) == dimensions:
            try:
                return pack(*lows, *highs)
            except NotNumbers:
                return None
        return None

    return packed


class Scratch(NamedTuple):
    """Room for one box."""

    points: np.ndarray  # f8[1, 2d]
    found: np.ndarray  # i8[k]


def scratch_for(width: int, found: np.ndarray) -> Scratch:
    return Scratch(np.zeros((1, width)), found)


_STORE, _GRAPH = allocate_store(0, 2), edges.allocate(0, 0, 0)
_SCRATCH = scratch_for(2, np.zeros(1, np.int64))
_SCAN, _TREE = scan.allocate(2, 0), kd_layout.allocate(2, 2, 0, 0)
_CURVE = z_layout.allocate(2, 2, 0, 0)
_scan_cover, _scan_graph = (
    arrays_at(_SCAN, _STORE, _SCRATCH), arrays_at(_SCAN, _STORE, _SCRATCH, _GRAPH),
)  # fmt: skip
_tree_cover, _tree_graph = (
    arrays_at(_TREE, _STORE, _SCRATCH), arrays_at(_TREE, _STORE, _SCRATCH, _GRAPH),
)  # fmt: skip
_curve_cover, _curve_graph = (
    arrays_at(_CURVE, _STORE, _SCRATCH), arrays_at(_CURVE, _STORE, _SCRATCH, _GRAPH),
)  # fmt: skip


@inlined
def _write_point(ends, scratch):
    """Write the point of a box; False where its ends are not in order, or NaN."""
    box = np.frombuffer(ends, np.float64)
    in_order, dimensions = True, len(box) // 2
    for j in range(dimensions):
        low, high = box[j], box[dimensions + j]
        in_order &= low <= high
        scratch.points[0, 2 * j] = 0.0 - low
        scratch.points[0, 2 * j + 1] = high + 0.0
    return in_order


@inlined
def _ask(index, store, scratch, ends):
    """The id of a box that covers this one, or NONE."""
    if not _write_point(ends, scratch):
        return UNDONE
    if find_boxes(index, store, scratch.points[0], 1, False, scratch.found) == 0:
        return NONE
    return store.ids[scratch.found[0]]


@inlined
def _command(graph, index, store, scratch, id, ends):
    """How many entries of the log say what the command changed."""
    subscribes = len(ends) > 0
    if subscribes:
        room = min(len(store.ids), len(graph.nodes))
        if row_count(store) == room or not _write_point(ends, scratch):
            return UNDONE
    graph.state[LOGGED] = 0
    did = carry_out(graph, index, store, id, scratch.points[0], subscribes, scratch.found)
    return graph.state[LOGGED] if did == DONE else UNDONE


@njit(cache=True)
def _ask_scan(handle, ends):
    index, store, scratch = _scan_cover(handle)
    return _ask(index, store, scratch, ends)


@njit(cache=True)
def _ask_tree(handle, ends):
    index, store, scratch = _tree_cover(handle)
    return _ask(index, store, scratch, ends)


@njit(cache=True)
def _ask_curve(handle, ends):
    index, store, scratch = _curve_cover(handle)
    return _ask(index, store, scratch, ends)


@njit(cache=True)
def _command_scan(handle, id, ends):
    index, store, scratch, graph = _scan_graph(handle)
    return _command(graph, index, store, scratch, id, ends)


@njit(cache=True)
def _command_tree(handle, id, ends):
    index, store, scratch, graph = _tree_graph(handle)
    return _command(graph, index, store, scratch, id, ends)


@njit(cache=True)
def _command_curve(handle, id, ends):
    index, store, scratch, graph = _curve_graph(handle)
    return _command(graph, index, store, scratch, id, ends)


def _leave_undone(*_: object) -> int:
    return UNDONE


ASK: Kernels = {scan.Scan: _ask_scan, kd_layout.Tree: _ask_tree, z_layout.Curve: _ask_curve}
COMMAND: Kernels = {
    scan.Scan: _command_scan,
    kd_layout.Tree: _command_tree,
    z_layout.Curve: _command_curve,
}
if config.DISABLE_JIT:  # type: ignore[attr-defined]
    ASK, COMMAND = dict.fromkeys(ASK, _leave_undone), dict.fromkeys(COMMAND, _leave_undone)
