"""How a worker keeps Python's search for garbage from holding frames up."""

import gc

# Objects made, less those gone, before Python looks for cycles among the youngest.  A batch of
# records is tens of thousands of them, none in a cycle; Python's own 700 would cost as much time
# as parsing them.
_YOUNG_OBJECTS = 100_000


def keep_calm() -> None:
    """To be called once, when everything is imported and warmed up."""
    gc.set_threshold(_YOUNG_OBJECTS, *gc.get_threshold()[1:])
    gc.collect()
    gc.freeze()  # what is there by now stays; going through it would hold up every frame
