"""Subscribe and unsubscribe commands in columns, and what they change."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from indexes import validation
from indexes.covering.edges import FORWARD, LEAVE
from indexes.covering.points import box_point, box_points, many_ids
from indexes.kernels import NIL

__all__ = ["Change", "Commands", "checked_points", "commands_of", "net_change", "require_order"]


class Change(NamedTuple):
    """Subscriptions to forward and to withdraw, each in ascending order."""

    forward: list[int]
    withdraw: list[int]


class Commands(NamedTuple):
    """One command a row; the ends of one that unsubscribes are not looked at."""

    ids: np.ndarray  # i8[m]
    lows: np.ndarray  # f8[m, d]
    highs: np.ndarray  # f8[m, d]
    subscribes: np.ndarray  # b1[m]  False: unsubscribes


def commands_of(commands: Iterable[Sequence[Any]], dimensions: int) -> Commands:
    """Columns of `("subscribe", id, lows, highs)` and `("unsubscribe", id)`."""
    listed = list(commands)
    lows, highs = np.zeros((len(listed), dimensions)), np.zeros((len(listed), dimensions))
    for i, command in enumerate(listed):
        match command:
            case ("subscribe", _, low, high):
                point = box_point(low, high, dimensions)
                lows[i], highs[i] = 0.0 - point[0, 0::2], point[0, 1::2]
            case ("unsubscribe", _):
                pass
            case _:
                expected = '("subscribe", id, lows, highs) or ("unsubscribe", id) was expected'
                raise ValueError(f"commands[{i}]: got {command!r} when {expected}")
    ids = validation.as_id_array([command[1] for command in listed], distinct=False)
    subscribes = np.array([command[0] == "subscribe" for command in listed], np.bool_)
    return Commands(ids, lows, highs, subscribes)


def checked_points(commands: Commands, dimensions: int) -> tuple[np.ndarray, ...]:
    """Ids, points and kinds of commands, each as kernels want it."""
    ids = many_ids(commands.ids, distinct=False)
    subscribes = np.array(commands.subscribes)
    if subscribes.dtype != np.bool_:
        raise ValueError(f"subscribes: got {subscribes.dtype} when booleans were expected")
    lows = validation.as_table("lows", commands.lows, dimensions)
    highs = validation.as_table("highs", commands.highs, dimensions)
    validation.require_same_length(ids=ids, lows=lows, highs=highs, subscribes=subscribes)
    if not subscribes.all():
        ends = np.where(subscribes[:, np.newaxis], np.stack((lows, highs)), 0.0)
        lows, highs = ends[0], ends[1]
    return ids, box_points(lows, highs, dimensions), subscribes


def require_order(ids: np.ndarray, subscribes: np.ndarray, rows: np.ndarray) -> None:
    """Each id has to be subscribed before it is unsubscribed, and the reverse.

    `rows` says which are subscribed before the first command.
    """
    order = np.argsort(ids, kind="stable")
    in_order, kinds = ids[order], subscribes[order]
    present = rows[order] != NIL
    again = np.flatnonzero(in_order[1:] == in_order[:-1]) + 1
    present[again] = kinds[again - 1]
    wrong = order[kinds == present]
    if len(wrong):
        first = wrong.min()
        if subscribes[first]:
            raise KeyError(f"id {ids[first]} is already subscribed; unsubscribe it first")
        raise KeyError(f"id {ids[first]} is not subscribed; a subscribed id was expected")


def net_change(log: np.ndarray) -> Change:
    """What a log of many commands amounts to.

    An id whose box may have changed in between is in both lists: withdraw first, then forward.
    """
    if len(log) == 0:
        return Change([], [])
    order = np.argsort(log[:, 0], kind="stable")
    ids, what = log[order, 0], log[order, 1]
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    ends = np.append(starts[1:], len(ids)) - 1
    before, after = what[starts] != FORWARD, what[ends] == FORWARD
    left = np.logical_or.reduceat(what == LEAVE, starts)
    changed = ids[starts]
    return Change(
        forward=changed[after & (left | ~before)].tolist(),
        withdraw=changed[before & (left | ~after)].tolist(),
    )
