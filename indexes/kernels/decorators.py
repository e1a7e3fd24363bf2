"""How kernels are compiled; all are kept on disk.

    called from Python                     njit(cache=True), with nogil=True if it takes long
    called by kernels only                 inner
    ... and makes no array                 bare
    ... and on the path of every query     fused
    as fused, but makes arrays             inlined

The further down, the longer callers take to compile: without a measured reason, one of the first.
"""

from numba import njit

__all__ = ["bare", "fused", "inlined", "inner"]

# A kernel that only kernels call needs no way in from Python, which takes long to compile.
inner = njit(  # type: ignore[call-overload]
    cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)

# Counting the references to the arrays of a tuple takes longer than most of what kernels do with
# them.  One that neither makes nor returns arrays can do without.
bare = njit(  # type: ignore[call-overload]
    cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False
)

# On a hot path even handing over the arrays takes too long: these become part of their callers.
# A large one that has many callers is compiled as often; there `bare` is better.
fused = njit(  # type: ignore[call-overload]
    cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False, forceinline=True
)

# Becomes part of its callers as well.  May make arrays, and Python may call it, so references are
# counted: callers take arrays without an owner (see `borrowed`) where that costs too much.
inlined = njit(cache=True, forceinline=True)
