"""The workshop: what the kernels of all index families are made with.

    decorators      inner, bare, fused, inlined: how a kernel is compiled, and when to use which
    prefetch        load the cache line of an element before it is needed
    aligned         arrays that begin where a cache line does
    bits            lowest_bit, highest_bit, popcount of a word
    sorting         a stable argsort that is quick, and ids in place
    quantile_codes  values as bytes from 1 to 254, in the order of the values
    vectors         LLVM's vectors, for intrinsics that work on many numbers at once
    borrowed        arrays that kernels use without counting references to them
    disk_cache      compiled kernels on disk, safe for processes that start together

Modules here know nothing of any index, and import nothing of `indexes` but each other.  This one
imports nothing at all: `indexes` itself needs `disk_cache` before anything is compiled.
"""

__all__ = ["NIL"]

NIL = -1  # in place of a row, a node or a position: there is none
