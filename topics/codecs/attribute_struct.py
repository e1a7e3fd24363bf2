"""Objects whose fields are the attributes of a collection, decoded into structs."""

from collections.abc import Sequence
from typing import Any

import msgspec


def struct_of(
    title: str, attributes: Sequence[str], type_of_field: Any, absent: Any, **options: Any
) -> type[msgspec.Struct]:
    """A struct with a field for each attribute, in their order; `absent` where one is not given.

    An attribute may have any name, so the fields have names of their own.
    """
    fields = [f"a{i}" for i in range(len(attributes))]
    return msgspec.defstruct(
        title,
        [(field, type_of_field, absent) for field in fields],
        rename=dict(zip(fields, attributes, strict=True)),
        **options,
    )
