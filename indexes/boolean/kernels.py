"""How kernels are compiled, and what they all know."""

from numba import njit

NIL = -1

# A kernel that only kernels call needs no way in from Python, which takes long to compile.
inner = njit(  # type: ignore[call-overload]
    cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)


# A kernel that makes no array need not count references to those it is given, which takes longer
# than most of the work.
bare = njit(  # type: ignore[call-overload]
    cache=True, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True
)
# On a hot path even handing over the arrays takes too long: these become part of the caller.
hot = njit(  # type: ignore[call-overload]
    cache=True, _nrt=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)
