"""One name for what the three indexes do, so that one kernel serves all of them.

Compiled code chooses by the type of the index's arrays when it is compiled, plain Python when it is
called.
"""

from collections.abc import Callable
from typing import Any

from numba.extending import overload

from indexes.covering import kd_layout, scan, z_layout
from indexes.covering.kd_search import kd_find
from indexes.covering.kd_update import kd_delete, kd_insert, kd_replace
from indexes.covering.store import NEWER, OLDER, PLACE, add_row, relabel, remove_row
from indexes.covering.z_search import z_find
from indexes.covering.z_update import z_delete, z_insert, z_replace
from indexes.kernels import NIL
from indexes.kernels.decorators import inlined

__all__ = ["Index", "add_box", "find_boxes", "is_ready", "remove_box"]

Index = scan.Scan | kd_layout.Tree | z_layout.Curve
Kernels = dict[type, Callable[..., Any]]

_IS_READY: Kernels = {
    scan.Scan: scan.scan_is_ready,
    kd_layout.Tree: kd_layout.is_ready,
    z_layout.Curve: z_layout.is_ready,
}
_FIND: Kernels = {scan.Scan: scan.scan_find, kd_layout.Tree: kd_find, z_layout.Curve: z_find}
_INSERT: Kernels = {
    scan.Scan: scan.scan_insert, kd_layout.Tree: kd_insert, z_layout.Curve: z_insert,
}  # fmt: skip
_DELETE: Kernels = {
    scan.Scan: scan.scan_delete, kd_layout.Tree: kd_delete, z_layout.Curve: z_delete,
}  # fmt: skip
_REPLACE: Kernels = {scan.Scan: relabel, kd_layout.Tree: kd_replace, z_layout.Curve: z_replace}


def is_ready(index):
    """Whether one more box can be put into the index as its arrays are."""
    return _IS_READY[type(index)](index)


def find_boxes(index, store, point, k, strict, found):
    """Write rows of up to k boxes that cover `point` to `found`; how many there are.

    With `strict`, boxes that are equal to the point are left out.
    """
    return _FIND[type(index)](index, store, point, k, strict, found)


def _insert(index, store, row):
    _INSERT[type(index)](index, store, row)


def _delete(index, store, row):
    _DELETE[type(index)](index, store, row)


def _replace(index, place, row, head):
    """Let `row`, whose box is equal, stand in the place of `head`."""
    _REPLACE[type(index)](index, place, row, head)


@overload(is_ready, inline="always")
def _compile_is_ready(index):
    kernel = _IS_READY[index.instance_class]
    return lambda index: kernel(index)


@overload(find_boxes, inline="always")
def _compile_find(index, store, point, k, strict, found):
    kernel = _FIND[index.instance_class]
    return lambda index, store, point, k, strict, found: kernel(
        index, store, point, k, strict, found
    )


@overload(_insert, inline="always")
def _compile_insert(index, store, row):
    kernel = _INSERT[index.instance_class]
    return lambda index, store, row: kernel(index, store, row)


@overload(_delete, inline="always")
def _compile_delete(index, store, row):
    kernel = _DELETE[index.instance_class]
    return lambda index, store, row: kernel(index, store, row)


@overload(_replace, inline="always")
def _compile_replace(index, place, row, head):
    kernel = _REPLACE[index.instance_class]
    return lambda index, place, row, head: kernel(index, place, row, head)


@inlined
def add_box(index, store, id, point):
    """Store and index a new id; `is_ready` must hold, and the store have a free row."""
    row = add_row(store, id, point)
    older = store.links[row, OLDER]
    if older == NIL:
        _insert(index, store, row)
    else:
        _replace(index, store.links[row, PLACE], row, older)
    return row


@inlined
def remove_box(index, store, row):
    older = store.links[row, OLDER]
    if store.links[row, NEWER] == NIL:
        if older == NIL:
            _delete(index, store, row)
        else:
            _replace(index, store.links[row, PLACE], older, row)
    remove_row(store, row)
