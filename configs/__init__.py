"""Typed, frozen settings and collection files; everything public is importable from here."""

from configs.collection import Collection, Partitions, Retention, load_collection
from configs.errors import ConfigError, Problem
from configs.kafka_client import kafka_client_config
from configs.settings import (
    Http,
    Kafka,
    Loaded,
    Matcher,
    Merger,
    Redis,
    Router,
    Settings,
    Snapshots,
    Spark,
    load_settings,
    load_with_origins,
)

__all__ = [
    "Collection",
    "ConfigError",
    "Http",
    "Kafka",
    "Loaded",
    "Matcher",
    "Merger",
    "Partitions",
    "Problem",
    "Redis",
    "Retention",
    "Router",
    "Settings",
    "Snapshots",
    "Spark",
    "kafka_client_config",
    "load_collection",
    "load_settings",
    "load_with_origins",
]
