"""Structured Streaming jobs beside the fleet."""
