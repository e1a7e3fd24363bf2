"""What a predicate is, and what is refused with words that say why."""

import math

import numpy as np
import pytest

from indexes.boolean import BEStarTree, Predicate


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        pytest.param(("a", "~", 1), "'~'", id="unknown-operator"),
        pytest.param(("a", None, 1), "None", id="no-operator"),
        pytest.param((3, "=", 1), "3", id="attribute-not-a-string"),
        pytest.param(("a", "=", None), "None", id="no-value"),
        pytest.param(("a", "=", True), "True", id="boolean"),
        pytest.param(("a", "=", np.bool_(True)), "True", id="numpy-boolean"),
        pytest.param(("a", "=", math.nan), "nan", id="nan"),
        pytest.param(("a", "=", math.inf), "inf", id="infinite"),
        pytest.param(("a", "<", 10**400), "finite", id="beyond-float64"),
        pytest.param(("a", "<", "x"), "string", id="order-of-strings"),
        pytest.param(("a", ">=", "x"), "string", id="order-of-strings-ge"),
        pytest.param(("a", "between", ["x", "y"]), "number", id="between-strings"),
        pytest.param(("a", "between", [3, 2]), "low <= high", id="inverted"),
        pytest.param(("a", "between", [1]), "[low, high]", id="one-end"),
        pytest.param(("a", "between", [1, 2, 3]), "[low, high]", id="three-ends"),
        pytest.param(("a", "between", [math.nan, 2]), "nan", id="nan-end"),
        pytest.param(("a", "between", 3), "list", id="between-a-number"),
        pytest.param(("a", "in", []), "empty", id="empty-list"),
        pytest.param(("a", "not in", []), "empty", id="empty-not-in"),
        pytest.param(("a", "in", "xyz"), "list", id="letters-are-no-list"),
        pytest.param(("a", "in", 3), "list", id="in-a-number"),
        pytest.param(("a", "in", [1, "x"]), "strings and numbers", id="mixed"),
        pytest.param(("a", "in", [1, True]), "True", id="boolean-in-list"),
        pytest.param(("a", "in", [1, math.inf]), "inf", id="infinite-in-list"),
        pytest.param(("a", "in", np.array(5)), "list", id="array-without-dimension"),
        pytest.param(("a", "in", np.ones((2, 2))), "list", id="array-of-arrays"),
        pytest.param(("a", "between", {1, 2}), "no order", id="between-a-set"),
        pytest.param(("a", "=", "x\ud800"), "surrogates", id="surrogate"),
        pytest.param(("a", "in", ["x", "\udfff"]), "surrogates", id="surrogate-in-list"),
        pytest.param(("a\ud800", "=", 1), "surrogates", id="surrogate-in-attribute"),
        pytest.param(("a", "=", [1]), "[1]", id="list-where-none-belongs"),
        pytest.param(("a", "=", 1, -0.5), "-0.5", id="negative-weight"),
        pytest.param(("a", "=", 1, math.nan), "nan", id="nan-weight"),
        pytest.param(("a", "=", 1, math.inf), "inf", id="infinite-weight"),
        pytest.param(("a", "=", 1, "2"), "'2'", id="string-weight"),
        pytest.param(("a", "=", 1, True), "True", id="boolean-weight"),
    ],
)
def test_nonsense_is_refused_by_name(arguments, named):
    with pytest.raises(ValueError, match="predicate") as caught:
        Predicate(*arguments)
    assert named in str(caught.value)
    assert f"predicate {arguments[0]}" in str(caught.value)


def test_values_are_kept_as_plain_numbers():
    predicate = Predicate("a", "between", np.array([1, 2]), weight=np.float32(0.5))
    assert predicate == Predicate("a", "between", (1.0, 2.0), 0.5)
    assert [type(end) for end in predicate.value] == [float, float]


def test_a_predicate_cannot_be_changed():
    with pytest.raises(AttributeError):
        Predicate("a", "=", 1).value = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    "event",
    [
        pytest.param({"a": math.nan}, id="nan"),
        pytest.param({"a": math.inf}, id="infinite"),
        pytest.param({"a": True}, id="boolean"),
        pytest.param({"a": None}, id="none"),
        pytest.param({"nobody asks": math.nan}, id="nan-that-nobody-asks-for"),
        pytest.param({"a": (1.0, -1.0)}, id="negative-weight"),
        pytest.param({"a": (1.0, math.nan)}, id="nan-weight"),
        pytest.param({"a": (1.0, 1.0, 1.0)}, id="three-parts"),
        pytest.param([("a", 1.0)], id="no-mapping"),
    ],
)
def test_an_event_that_cannot_be_is_refused(event):
    tree = BEStarTree()
    tree.insert(1, [Predicate("a", "=", 1)])
    with pytest.raises(ValueError, match="event"):
        tree.top_k(event, 1)
    with pytest.raises(ValueError, match="event"):
        tree.explain(1, event)
