"""The k best hits so far, as a binary heap in one row of a `HitTable`, the worst of them first."""

from indexes.intervals.ir_layout import inner


@inner
def _settle(ids, scores, size, id, score):
    """Put a hit where the first one was; what is worse comes up."""
    i, child = 0, 1
    while child < size:
        right = child + 1
        if right < size and (
            scores[right] < scores[child]
            or (scores[right] == scores[child] and ids[right] > ids[child])
        ):
            child = right
        if scores[child] > score or (scores[child] == score and ids[child] < id):
            break
        ids[i], scores[i] = ids[child], scores[child]
        i, child = child, 2 * child + 1
    ids[i], scores[i] = id, score


@inner
def offer(ids, scores, found, id, score):
    """Keep a hit if it is among the best; returns how many are kept."""
    if found == len(ids):
        if score > scores[0] or (score == scores[0] and id < ids[0]):
            _settle(ids, scores, found, id, score)
        return found
    i = found
    while i > 0:
        over = (i - 1) // 2
        if scores[over] < score or (scores[over] == score and ids[over] > id):
            break
        ids[i], scores[i] = ids[over], scores[over]
        i = over
    ids[i], scores[i] = id, score
    return found + 1


@inner
def put_in_order(ids, scores, found):
    """Best first."""
    for last in range(found - 1, 0, -1):
        id, score = ids[last], scores[last]
        ids[last], scores[last] = ids[0], scores[0]
        _settle(ids, scores, last, id, score)
