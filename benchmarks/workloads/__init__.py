"""Seeded workloads, as the papers describe theirs."""
