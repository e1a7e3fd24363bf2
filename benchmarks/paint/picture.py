"""The picture of `docs/indexes/paint.md`: an influence region, as an update's messages tile it.

    python -m benchmarks.paint.picture

draws it anew.  Everything in it is asked of a `PaintDense`, so it shows what the code does.
"""

from math import inf
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from benchmarks.report import STYLE
from indexes.paint import Message, PaintDense, reaches

__all__ = ["OBJECTS", "PICTURE", "SUBSCRIPTIONS", "draw"]

PICTURE = Path(__file__).parents[2] / "docs/indexes/paint_influence.svg"
K = 2
OBJECTS = {1.0: 6.0, 2.0: 2.0, 4.0: 3.0, 5.0: 7.0, 7.0: 1.0, 8.0: 5.5, 9.0: 3.5}
UPDATED, NEW_Y = 5.0, 4.0
SUBSCRIPTIONS = [(0.5, 9.5), (2.5, 6.0), (3.2, 8.5), (4.4, 8.2), (4.6, 5.5), (6.0, 9.4)]
AXIS = (0.0, 10.0)
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44")


def messages() -> list[Message]:
    """What the update is told by: it leaves the objects at 2, 4, 7 and 9 better than its own."""
    server = PaintDense(K)
    server.load(list(OBJECTS.items()))
    return server.update(UPDATED, OBJECTS[UPDATED], NEW_Y)


def draw(path: Path = PICTURE) -> None:
    tiles = messages()
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 4.4), layout="constrained")
        events, space = figure.subplots(1, 2)
        _draw_objects(events)
        _draw_tiles(space, tiles)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def _draw_objects(axes: Axes) -> None:
    axes.set(xlim=AXIS, ylim=(0, 8), xlabel="x", ylabel="y (lower is better)",
             title=f"objects: that at {UPDATED:g} goes to y = {NEW_Y:g}")  # fmt: skip
    for x, y in OBJECTS.items():
        better = y < NEW_Y
        axes.plot(x, y, "o", color="black", markerfacecolor="black" if better else "white")
        axes.annotate(f"{x:g}", (x, y), textcoords="offset points", xytext=(6, 4), fontsize=9)
    arrow = {"arrowstyle": "->", "linewidth": 1.4}
    axes.annotate("", (UPDATED, NEW_Y), (UPDATED, OBJECTS[UPDATED] - 0.15), arrowprops=arrow)
    axes.plot(UPDATED, NEW_Y, "o", color="black", markerfacecolor="white", markeredgewidth=2)
    axes.axhline(NEW_Y, color="black", linewidth=0.7, linestyle=":")


def _draw_tiles(axes: Axes, tiles: list[Message]) -> None:
    axes.set(xlim=AXIS, ylim=AXIS, xlabel="low", ylabel="high",
             title=f"subscriptions: whose {K} best have the object at {UPDATED:g}")  # fmt: skip
    axes.plot(AXIS, AXIS, color="black", linewidth=0.7)
    for colour, tile in zip(COLOURS, tiles, strict=False):
        west, north = max(tile.outer_low, AXIS[0]), min(tile.outer_high, AXIS[1])
        width, height = tile.inner_low - west, north - tile.inner_high
        corner = (west, tile.inner_high)
        axes.add_patch(Rectangle(corner, width, height, alpha=0.35, facecolor=colour))
        axes.add_patch(Rectangle(corner, width, height, fill=False, edgecolor=colour))
    for x, y in OBJECTS.items():
        axes.plot(x, x, "o", color="black", markerfacecolor="black" if y < NEW_Y else "white")
        axes.annotate(f"{x:g}", (x, x), textcoords="offset points", xytext=(6, -9), fontsize=9)
    for low, high in SUBSCRIPTIONS:
        told = any(reaches(tile, low, high) for tile in tiles)
        axes.plot(low, high, "s", color="black", markersize=5,
                  markerfacecolor="black" if told else "white")  # fmt: skip
        axes.annotate(f"[{low:g}, {high:g}]", (low, high), textcoords="offset points",
                      xytext=(6, 3), fontsize=8)  # fmt: skip


def inside(tile: Message) -> str:
    """A message as the page shows it."""
    west = "" if tile.outer_low == -inf else f"{tile.outer_low:g} < "
    north = "" if tile.outer_high == inf else f" < {tile.outer_high:g}"
    return f"{west}low <= {tile.inner_low:g}, {tile.inner_high:g} <= high{north}"


if __name__ == "__main__":
    draw()
    for message in messages():
        print(inside(message))
