"""What a server refuses: the message names the value, and nothing has changed."""

import numpy as np
import pytest

from indexes.paint import CNRelax, PaintDense, PaintSparse, Unicast
from tests.indexes.paint import strategies as some
from tests.indexes.paint.audience import INF, all_lists, refused

NAN = np.nan
CLASSES = [PaintDense, PaintSparse, Unicast, CNRelax]
EITHER = (KeyError, ValueError)  # where the design leaves the choice open


@pytest.fixture(params=CLASSES, ids=lambda cls: cls.__name__)
def server(request):
    found = request.param(2)
    found.load([(0.0, 3.0), (1.0, 2.0), (3.0, 5.0)])
    found.subscribe(1, 0.0, 4.0)
    found.subscribe(2, -INF, INF)
    return found


def seen(server):
    """Every list, and by them every object; ids are seen by the test itself."""
    return all_lists(server, some.WIDER_RANGES[::2])


@pytest.mark.parametrize(
    ("change", "error", "named"),
    [
        pytest.param(lambda s: s.subscribe(1, 0.0, 1.0), KeyError, "1", id="known-id"),
        pytest.param(lambda s: s.subscribe(-3, 0.0, 1.0), ValueError, "-3", id="negative-id"),
        pytest.param(lambda s: s.subscribe(9, NAN, 1.0), ValueError, "nan", id="nan-low"),
        pytest.param(lambda s: s.subscribe(9, 0.0, NAN), ValueError, "nan", id="nan-high"),
        pytest.param(lambda s: s.subscribe(9, 2.5, 1.0), ValueError, "2.5", id="order"),
        pytest.param(lambda s: s.unsubscribe(77), KeyError, "77", id="unknown-id"),
        pytest.param(
            lambda s: s.subscribe_many([9, 1], [0, 0], [1, 1]), KeyError, "1", id="one-known"
        ),
        pytest.param(
            lambda s: s.subscribe_many([9, 9], [0, 0], [1, 1]), ValueError, "9", id="twice"
        ),
        pytest.param(
            lambda s: s.subscribe_many([9, 8], [0, NAN], [1, 1]), ValueError, "nan", id="one-nan"
        ),
        pytest.param(
            lambda s: s.subscribe_many([9, 8], [0, 2.5], [1, 1]), ValueError, "2.5", id="one-order"
        ),
        pytest.param(
            lambda s: s.subscribe_many([9, -8], [0, 0], [1, 1]), ValueError, "-8", id="one-negative"
        ),
        pytest.param(
            lambda s: s.subscribe_many([9, 8], [0, 0], [1]), ValueError, "2", id="lengths"
        ),
        pytest.param(lambda s: s.update(7.0, 3.0, 2.0), KeyError, "7", id="unknown-x"),
        pytest.param(lambda s: s.update(7.0, 3.0, None), KeyError, "7", id="unknown-x-removed"),
        pytest.param(lambda s: s.update(1.0, None, 4.0), KeyError, "1", id="inserted-twice"),
        pytest.param(lambda s: s.update(1.0, 2.5, 4.0), ValueError, "2.5", id="wrong-old-y"),
        pytest.param(lambda s: s.update(1.0, 2.5, None), ValueError, "2.5", id="wrong-removed"),
        pytest.param(lambda s: s.update(1.0, 2.5, 2.5), ValueError, "2.5", id="wrong-unchanged"),
        pytest.param(lambda s: s.update(NAN, None, 4.0), ValueError, "nan", id="nan-x"),
        pytest.param(lambda s: s.update(1.0, NAN, 4.0), ValueError, "nan", id="nan-old-y"),
        pytest.param(lambda s: s.update(1.0, 2.0, NAN), ValueError, "nan", id="nan-new-y"),
        pytest.param(lambda s: s.update(INF, None, 4.0), ValueError, "inf", id="infinite-x"),
        pytest.param(lambda s: s.update(-INF, None, 4.0), ValueError, "inf", id="infinite-x-below"),
        pytest.param(lambda s: s.update(1.0, 2.0, INF), ValueError, "inf", id="infinite-y"),
        pytest.param(lambda s: s.update(7.0, None, -INF), ValueError, "inf", id="infinite-y-below"),
        pytest.param(lambda s: s.update(7.0, None, None), EITHER, "7", id="neither-old-nor-new"),
        pytest.param(lambda s: s.update(1.0, None, None), EITHER, "1", id="neither-but-known"),
        pytest.param(lambda s: s.move(7.0, 8.0, 1.0), KeyError, "7", id="move-unknown"),
        pytest.param(lambda s: s.move(1.0, 3.0, 2.0), KeyError, "3", id="move-to-another"),
        pytest.param(lambda s: s.move(1.0, NAN, 2.0), ValueError, "nan", id="move-to-nan"),
        pytest.param(lambda s: s.move(1.0, INF, 2.0), ValueError, "inf", id="move-to-infinity"),
        pytest.param(lambda s: s.move(1.0, 7.0, NAN), ValueError, "nan", id="move-nan"),
    ],
)
def test_what_is_refused_changes_nothing(server, change, error, named):
    with refused(server, error, named, seen):
        change(server)
    server.subscribe_many([9, 8, 5], [0, 0, 0], [1, 1, 1])  # the ids are still free
    server.unsubscribe(1)
    server.unsubscribe(2)
    server.check()


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize(
    ("objects", "error", "named"),
    [
        pytest.param([(1.0, 2.0), (NAN, 1.0)], ValueError, "nan", id="nan-x"),
        pytest.param([(1.0, 2.0), (2.0, NAN)], ValueError, "nan", id="nan-y"),
        pytest.param([(1.0, 2.0), (INF, 1.0)], ValueError, "inf", id="infinite-x"),
        pytest.param([(1.0, 2.0), (2.0, -INF)], ValueError, "inf", id="infinite-y"),
        pytest.param([(1.0, 2.0), (4.5, 1.0), (4.5, 3.0)], EITHER, "4.5", id="one-x-twice"),
        pytest.param([(1.0, 2.0, 3.0)], ValueError, "", id="three-columns"),
    ],
)
def test_objects_that_are_refused_are_all_left_out(cls, objects, error, named):
    server = cls(2)
    with refused(server, error, named, seen):
        server.load(objects)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("k", [0, -1])
def test_a_k_below_one_is_refused(cls, k):
    with pytest.raises(ValueError, match=str(k)):
        cls(k)
