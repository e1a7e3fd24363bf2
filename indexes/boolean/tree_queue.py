"""A heap of partitions with the greatest bound first."""

from indexes.kernels.decorators import bare


@bare
def sift_down(keys, items, size, at):
    key, item = keys[at], items[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and keys[child + 1] > keys[child]:
            child += 1
        if keys[child] <= key:
            break
        keys[at], items[at] = keys[child], items[child]
        at = child
    keys[at], items[at] = key, item


@bare
def heapify(keys, items, size):
    for at in range(size // 2 - 1, -1, -1):
        sift_down(keys, items, size, at)


@bare
def drop_best(keys, items, size):
    """Move the best behind the heap; return the new size."""
    size -= 1
    keys[0], keys[size] = keys[size], keys[0]
    items[0], items[size] = items[size], items[0]
    sift_down(keys, items, size, 0)
    return size
