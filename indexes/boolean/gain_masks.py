"""Which of 64 members may reach a score by their marks and sums of weights."""

from typing import Any

import numpy as np
from numba import config
from numba.core import cgutils, types
from numba.extending import intrinsic

from indexes.boolean.masks import BLOCK, CHUNK
from indexes.kernels.vectors import LONG, NUMBER, SINGLE, Vectors, constant, vector

__all__ = ["reaching"]

_FEW = 2  # blocks, which end many an l-node
_WORDS, _SINGLES = vector(NUMBER, BLOCK), vector(SINGLE, BLOCK)


def _reaching_among(v: Vectors, blocks: int) -> Any:
    """A mask of the members of so many blocks."""
    b, nothing = v.builder, constant(_SINGLES, 0.0)
    factor, least = (v.repeated(v.given(i, types.float32), _SINGLES) for i in (7, 8))
    places = [b.add(v.given(2), LONG(BLOCK * i)) for i in range(blocks)]
    members = [v.load(_WORDS, 0, place) for place in places]
    sums = [v.load(_SINGLES, 1, place) for place in places]
    totals = [cgutils.alloca_once_value(b, b.fmul(factor, one)) for one in sums]
    with cgutils.for_range(b, v.given(6, types.intp)) as loop:
        mark = v.repeated(b.load(v.place(4, loop.index)), _WORDS)
        gain = v.repeated(b.load(v.place(5, loop.index)), _SINGLES)
        for member, total in zip(members, totals, strict=True):
            borne = b.icmp_unsigned("==", b.and_(member, mark), mark)
            b.store(b.fadd(b.load(total), b.select(borne, gain, nothing)), total)
    mask = LONG(0)
    for i, total in enumerate(totals):
        some = v.mask(b.fcmp_unordered(">=", b.load(total), least))
        mask = b.or_(mask, b.shl(some, LONG(BLOCK * i)))
    return mask


@intrinsic
def _reaching(
    typing_context: Any,
    beside: Any,
    sums: Any,
    at: Any,
    length: Any,
    marks: Any,
    gains: Any,
    count: Any,
    rate: Any,
    least: Any,
) -> Any:
    """Bit i says whether rate * sums[at + i] + gained reaches `least`; `length` bits at least.

    Gained is gains[j], for j < count, of each mark marks[j] that is in beside[at + i].
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        v = Vectors(context, builder, signature, arguments)
        mask = cgutils.alloca_once(builder, LONG)
        few = builder.icmp_signed("<=", v.given(3), LONG(_FEW * BLOCK))
        with builder.if_else(few) as branches:
            for branch, blocks in zip(branches, (_FEW, CHUNK // BLOCK), strict=True):
                with branch:
                    builder.store(_reaching_among(v, blocks), mask)
        return builder.load(mask)

    numbers = (types.float32, types.float32)
    return types.int64(beside, sums, at, length, marks, gains, count, *numbers), generate


def _reaching_plainly(
    beside: Any,
    sums: Any,
    at: int,
    length: int,
    marks: Any,
    gains: Any,
    count: int,
    rate: float,
    least: float,
) -> int:
    """Without the compiler."""
    known = list(zip(marks[:count].tolist(), gains[:count].tolist(), strict=True))
    mask = 0
    for i, borne in enumerate(beside[at : at + length].tolist()):
        bound = float(rate) * float(sums[at + i]) + sum(gain for m, gain in known if m & borne)
        mask |= 0 if bound < float(least) else 1 << i
    return int(np.uint64(mask).astype(np.int64))


# Set by NUMBA_DISABLE_JIT.
reaching: Any = _reaching_plainly if getattr(config, "DISABLE_JIT", 0) else _reaching
