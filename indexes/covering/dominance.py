"""Points compared with one point, dimension by dimension."""

from indexes.kernels.decorators import inlined

__all__ = ["dominates", "dominating"]


@inlined
def dominating(blocks, block, point, order, alive):
    """Mark the slots of a block that dominate the point; say whether there are any."""
    j = order[0]
    end, any_alive = point[j], alive[0] & 0
    for slot in range(len(alive)):
        alive[slot] = blocks[block, j, slot] >= end
        any_alive |= alive[slot]
    at = 1
    while any_alive and at < len(point):
        j = order[at]
        end, any_alive = point[j], alive[0] & 0
        for slot in range(len(alive)):
            alive[slot] &= blocks[block, j, slot] >= end
            any_alive |= alive[slot]
        at += 1
    return any_alive != 0


@inlined
def dominates(store, row, point):
    j = 0
    while j < len(point) and store.points[row, j] >= point[j]:
        j += 1
    return j == len(point)
