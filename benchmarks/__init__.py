"""One script an area; every figure is a ratio to something run beside it."""
