"""The k best hits so far, in a row of a `HitTable`: a heap with the worst first, then sorted."""

from indexes.boolean.kernels import bare, hot


@hot
def worse(score, id, other_score, other_id):
    return score < other_score or (score == other_score and id > other_id)


@bare
def _sift_down(ids, scores, size, at, id, score):
    """Put a hit at `at` or, as long as one below is worse, further down."""
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and worse(scores[child + 1], ids[child + 1], scores[child], ids[child]):
            child += 1
        if not worse(scores[child], ids[child], score, id):
            break
        ids[at], scores[at] = ids[child], scores[child]
        at = child
    ids[at], scores[at] = id, score


@hot
def offer(ids, scores, size, id, score, shared):
    """Add a hit if it is among the best; return how many there are.

    An id whose rows are shared may be there already: its better score counts.
    """
    if shared:
        for i in range(size):
            if ids[i] == id:
                if score > scores[i]:
                    _sift_down(ids, scores, size, i, id, score)
                return size
    if size < len(ids):
        at = size
        while at > 0:
            above = (at - 1) // 2
            if not worse(score, id, scores[above], ids[above]):
                break
            ids[at], scores[at] = ids[above], scores[above]
            at = above
        ids[at], scores[at] = id, score
        return size + 1
    if worse(scores[0], ids[0], score, id):
        _sift_down(ids, scores, size, 0, id, score)
    return size


@bare
def sort_best_first(ids, scores, size):
    """Turn the heap into a list by moving the worst to its end, again and again."""
    while size > 1:
        size -= 1
        id, score = ids[size], scores[size]
        ids[size], scores[size] = ids[0], scores[0]
        _sift_down(ids, scores, size, 0, id, score)
