"""The quick stable order against numpy's own."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from indexes.kernels.sorting import stable_order


@given(keys=st.lists(st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 2.0, np.inf]), max_size=60))
def test_a_stable_order_is_numpys(keys):
    array = np.array(keys, np.float64)
    assert stable_order(array).tolist() == np.argsort(array, kind="stable").tolist()
