"""Contracts of the Kafka topics: their records, binary codecs, names and settings."""
