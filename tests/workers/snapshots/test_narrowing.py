import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from workers.snapshots.snapshot import narrowed, widened

whole_numbers = hnp.arrays(
    st.sampled_from([np.int64, np.int32, np.uint64, np.uint8]), hnp.array_shapes(max_dims=2)
)
ascending = hnp.arrays(np.int64, st.integers(0, 20), elements=st.integers(-1, 2**62)).map(np.sort)
others = hnp.arrays(st.sampled_from([np.float64, np.bool_]), hnp.array_shapes(max_dims=2))


@given(st.dictionaries(st.sampled_from(["ids", "ids.lengths"]), whole_numbers | ascending | others))
def test_arrays_come_back_as_they_were(arrays):
    back = widened(narrowed(arrays))
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        assert (back[name].dtype, back[name].shape) == (array.dtype, array.shape)
        assert back[name].tobytes() == array.tobytes()


# Where a narrower type holds a number, and where it does so no longer.
widths = st.sampled_from([0, 1, 2**8 - 1, 2**8, 2**16 - 1, 2**16, 2**31 - 1])
wider = st.sampled_from([2**31, 2**32 - 1, 2**32, 2**53 + 1])


@given(
    steps=st.lists(widths | wider, min_size=1, max_size=12),
    ordered=st.booleans(),
    dtype=st.sampled_from([np.int64, np.uint64, np.int32, np.uint16, np.dtype(">i8")]),
)
def test_numbers_at_the_ends_of_the_types_come_back_from_as_few_bytes_as_hold_them(
    steps, ordered, dtype
):
    numbers = np.cumsum(steps, dtype=np.int64) if ordered else np.array(steps, np.int64)
    numbers = numbers[numbers <= np.iinfo(dtype).max].astype(dtype)
    ((name, stored),) = narrowed({"ids": numbers}).items()
    ((_, back),) = widened({name: stored}).items()
    assert back.tolist() == numbers.tolist()
    assert back.dtype == np.dtype(dtype).newbyteorder("<") or back is numbers
    if len(numbers):
        ascending = (np.diff(numbers.astype(object)) >= 0).all()
        kept = np.diff(numbers.astype(object), prepend=0) if ascending else numbers.astype(object)
        fitting = [size for size in (1, 2, 4) if max(kept) < 256**size]
        assert stored.itemsize == min([*fitting, numbers.itemsize])


@pytest.mark.parametrize(
    ("numbers", "form", "bytes_each"),
    [
        pytest.param([5, 5, 260], "ids/steps/<i8", 1, id="small-steps"),
        pytest.param([7, 2**40], "ids", 8, id="a-large-step"),
        pytest.param([7, 2**20, 3], "ids/narrow/<i8", 4, id="in-no-order"),
        pytest.param([-1, 3], "ids", 8, id="a-negative-one"),
        pytest.param([], "ids", 8, id="none"),
    ],
)
def test_whole_numbers_take_as_few_bytes_as_they_can(numbers, form, bytes_each):
    ((name, array),) = narrowed({"ids": np.array(numbers, np.int64)}).items()
    assert (name, array.dtype.itemsize) == (form, bytes_each)


def test_a_form_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match="ids/zipped/<i8"):
        widened({"ids/zipped/<i8": np.zeros(3, np.uint8)})


def test_a_name_with_a_slash_is_refused():
    with pytest.raises(ValueError, match="without a slash"):
        narrowed({"a/b": np.zeros(3)})
