"""The fleet: router, Faust matchers, merger."""
