"""Which of 64 members may reach a score by their columns and sums of weights."""

from typing import Any

import numpy as np
from numba import config
from numba.core import cgutils, types
from numba.extending import intrinsic

from indexes.boolean.masks import BLOCK, CHUNK
from indexes.boolean.tree_layout import MORE_COLUMNS
from indexes.boolean.vectors import BYTE, LONG, NUMBER, SINGLE, Vectors, constant, vector

__all__ = ["reaching"]

_BLOCKS = CHUNK // BLOCK
_BYTES, _WORDS, _SINGLES = vector(BYTE, 4 * BLOCK), vector(NUMBER, BLOCK), vector(SINGLE, BLOCK)


def _sum_of_bytes(v: Vectors, four: Any) -> Any:
    """The four bytes of each word, added up."""
    b, pairs = v.builder, constant(_WORDS, 0x00FF00FF)
    halves = b.add(b.and_(four, pairs), b.and_(b.lshr(four, constant(_WORDS, 8)), pairs))
    return b.add(b.and_(halves, constant(_WORDS, 0xFFFF)), b.lshr(halves, constant(_WORDS, 16)))


def _gains(v: Vectors, members: list[Any], folds: int, gains: int, count: int) -> list[Any]:
    """For each byte of the members the gain of its fold, or none."""
    b = v.builder
    found = [cgutils.alloca_once_value(b, constant(_BYTES, 0)) for _ in members]
    with cgutils.for_range(b, v.given(count)) as loop:
        fold = v.repeated(b.load(v.place(folds, loop.index)), _BYTES)
        gain = v.repeated(b.load(v.place(gains, loop.index)), _BYTES)
        for member, one in zip(members, found, strict=True):
            same = b.icmp_unsigned("==", b.bitcast(member, _BYTES), fold)
            b.store(b.select(same, gain, b.load(one)), one)
    return [b.bitcast(b.load(one), _WORDS) for one in found]


@intrinsic
def _reaching(
    typing_context: Any,
    beside: Any,
    sums: Any,
    at: Any,
    folds: Any,
    gains: Any,
    count: Any,
    more: Any,
    rate: Any,
    unit: Any,
    least: Any,
) -> Any:
    """Bit i says whether rate * sums[at + i] + unit * gained reaches `least`; `CHUNK` bits.

    Gained is what the columns beside[at + i] have: gains[j] each that is folds[j], for j < count,
    of equal folds the last one, and `more` where there are more columns than fit.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        v = Vectors(context, builder, signature, arguments)
        first = v.given(2)
        places = [builder.add(first, LONG(BLOCK * i)) for i in range(_BLOCKS)]
        members = [v.load(_WORDS, 0, place) for place in places]
        gained = _gains(v, members, 3, 4, 5)
        others = v.repeated(v.given(6, types.int32), _WORDS)
        factor, part, least = (v.repeated(v.given(i, types.float32), _SINGLES) for i in (7, 8, 9))
        mask = LONG(0)
        for i in range(_BLOCKS):
            untold = builder.icmp_unsigned(">=", members[i], constant(_WORDS, MORE_COLUMNS << 24))
            total = builder.add(
                _sum_of_bytes(v, gained[i]), builder.select(untold, others, constant(_WORDS, 0))
            )
            by_sum = builder.fmul(factor, v.load(_SINGLES, 1, places[i]))
            bound = builder.fadd(by_sum, builder.fmul(part, builder.sitofp(total, _SINGLES)))
            some = v.mask(builder.fcmp_unordered(">=", bound, least))
            mask = builder.or_(mask, builder.shl(some, LONG(BLOCK * i)))
        return mask

    numbers = (types.float32, types.float32, types.float32)
    return types.int64(beside, sums, at, folds, gains, count, more, *numbers), generate


def _reaching_plainly(
    beside: Any,
    sums: Any,
    at: int,
    folds: Any,
    gains: Any,
    count: int,
    more: int,
    rate: float,
    unit: float,
    least: float,
) -> int:
    """Without the compiler."""
    known = dict(zip(folds[:count].tolist(), gains[:count].tolist(), strict=True))
    known[MORE_COLUMNS] = more
    mask = 0
    for i, columns in enumerate(beside[at : at + CHUNK]):
        gained = sum(known.get(fold, 0) for fold in int(columns).to_bytes(4, "little"))
        bound = float(rate) * float(sums[at + i]) + float(unit) * gained
        mask |= 0 if bound < float(least) else 1 << i
    return int(np.uint64(mask).astype(np.int64))


# Set by NUMBA_DISABLE_JIT.
reaching: Any = _reaching_plainly if getattr(config, "DISABLE_JIT", 0) else _reaching
