"""Visitors and ads in words."""

from collections.abc import Mapping, Sequence

COUNTED = {"visits": "visit"}  # said as a number of things; other attributes as name and value

Ends = tuple[float | None, float | None]


def visitor_text(event: Mapping[str, float | None], attributes: Sequence[str]) -> str:
    """
    >>> visitor_text({"age": 31, "visits": 1}, ["age", "credit_score", "visits"])
    'age 31, credit score unknown, 1 visit'
    """
    return ", ".join(_said(name, _value(event.get(name))) for name in attributes)


def ad_text(where: Mapping[str, Ends], attributes: Sequence[str]) -> str:
    """
    >>> ad_text({"visits": (3, None), "age": (None, 40)}, ["age", "credit_score", "visits"])
    'age at most 40, at least 3 visits'
    >>> ad_text({}, ["age"])
    'everybody'
    """
    said = [_said(name, _range(where[name])) for name in attributes if name in where]
    return ", ".join(said) or "everybody"


def bid_text(score: float) -> str:
    """
    >>> bid_text(9.8)
    'bid 9.80'
    """
    return f"bid {score:.2f}"


def _said(attribute: str, value: str) -> str:
    if attribute not in COUNTED:
        return f"{attribute.replace('_', ' ')} {value}"
    one = value.split()[-1] == "1"
    return f"{value} {COUNTED[attribute]}{'' if one else 's'}"


def _value(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}"


def _range(ends: Ends) -> str:
    low, high = ends
    if low is None and high is None:
        return "any"
    if high is None:
        return f"at least {low:g}"
    if low is None:
        return f"at most {high:g}"
    return f"{low:g}" if low == high else f"{low:g}\N{EN DASH}{high:g}"
