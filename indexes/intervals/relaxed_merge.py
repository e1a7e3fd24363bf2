"""The Threshold Algorithm over one list of rows an attribute, best weight first.

After Machanavajjhala et al., Scalable Ranked Publish/Subscribe, §4 (Fagin's algorithm).  Rows
come from the lists in turn; each is looked up in all attributes, and its score is offered to
the k best.  The threshold is the sum of the weights last read; a list that has ended counts 0.

Why no unseen row is better than the threshold, also in floating point: in each attribute it
adds at most the weight last read (0 where its interval does not hold, or where the list has
ended).  Scores and threshold add their parts in the same order, and rounded addition is
monotone in both of its arguments, so every partial sum of the row is at most the threshold's.

Why ties are decided: a row whose score equals the threshold may still win by a lower id.  If
lowering the weight last read in attribute j to the next lower one in use (`WeightLevels`)
lowers the threshold, such a row must have exactly that weight there and, equal weights being
in order of id, an id greater than the one last read.  So the k best are final when the k-th
is better than the threshold, or equals it with an id no greater than such a last one.

Why nothing is counted twice, without marking what was seen: a row that another list returned
before is one that holds there and does not rank behind the row last read from it.
"""

import numpy as np
from numba import njit

from indexes.hits import better, offer, sort_best_first
from indexes.intervals.relaxed_levels import lower_weight
from indexes.kernels.decorators import inner

_NO_ID = -1
_EVERY_ID = np.iinfo(np.int64).max


@inner
def _look_up(terms, row, id, values, source, weights, last):
    """The score of a row that came from list `source`; 0 if another list returned it before."""
    score = 0.0
    for j in range(terms.shape[1]):
        if terms[row, j, 0] <= values[j] <= terms[row, j, 1]:
            weight = terms[row, j, 2]
            if j != source and not better(weights[j], last[j], weight, id):
                return 0.0
            score += weight
    return score


@inner
def _sum_but(weights, changed, weight):
    """The sum of the weights, one of them changed, in the order of the attributes."""
    total = 0.0
    for j in range(len(weights)):
        total += weight if j == changed else weights[j]
    return total


@inner
def _is_final(ids, scores, found, weights, last, in_use, counts_in_use):
    """Whether no row that has not been read can be among the k best."""
    threshold = _sum_but(weights, -1, 0.0)
    if threshold == 0.0:
        return True
    if found < len(ids) or scores[0] < threshold:
        return False
    if scores[0] > threshold:
        return True
    for j in range(len(weights)):
        if weights[j] > 0.0 and not better(threshold, last[j], scores[0], ids[0]):
            lower = lower_weight(in_use[j], counts_in_use[j], weights[j])
            if _sum_but(weights, j, lower) < threshold:
                return True
    return False


@inner
def _merge_one(
    rows, counts, terms, row_ids, values, in_use, counts_in_use, ids, scores, weights, last
):
    """Offer rows to the best until these are final; how many they are, were read, and whether."""
    attributes, depth = rows.shape
    weights[:], last[:] = np.inf, _NO_ID
    found, read, final = 0, 0, False
    for at in range(depth):
        for j in range(attributes):
            if at < counts[j]:
                row = rows[j, at]
                id = row_ids[row]
                read += 1
                score = _look_up(terms, row, id, values, j, weights, last)
                if score > 0.0:
                    found = offer(ids, scores, found, id, score)
                weights[j], last[j] = terms[row, j, 2], id
            if counts[j] < depth and at + 1 >= counts[j]:
                weights[j], last[j] = 0.0, _EVERY_ID
        final = _is_final(ids, scores, found, weights, last, in_use, counts_in_use)
        if final:
            break
    return found, read, final


@njit(cache=True)
def merge(lists, terms, row_ids, values, chosen, levels, floors, left, table):
    """Answer events from their lists; where these were long enough, `left` becomes 0.

    `floors` gets a score that the k-th best reaches, if k were found.  Returns rows read.
    """
    weights, last = np.empty(terms.shape[1]), np.empty(terms.shape[1], np.int64)
    in_use, counts_in_use, all_read = levels.weights, levels.counts, 0
    for i in range(len(chosen)):
        event = chosen[i]
        rows, counts = lists.rows[i], lists.counts[i]
        ids, scores = table.ids[event], table.scores[event]
        found, read, final = _merge_one(
            rows, counts, terms, row_ids, values[event], in_use, counts_in_use, ids, scores,
            weights, last,
        )  # fmt: skip
        if final:
            left[event] = 0
        if found == len(ids):
            floors[event] = max(floors[event], scores[0])
        sort_best_first(ids, scores, found)
        table.counts[event] = found
        all_read += read
    return all_read
