"""Settings of every process: a YAML file, then the environment, then flags.

    kafka:                      PODIUM_KAFKA__BROKERS=kafka-0:9092     --brokers kafka-0:9092
      brokers: kafka-0:9092

The file is the one that `--config` or `PODIUM_CONFIG` names, else `./podium.yaml`, else
`./.podium/podium.yaml`, which a running local stack writes; without any of them the defaults hold.
An empty variable counts as not set. Of a secret the variable may name a file that it is read from:
PODIUM_KAFKA__PASSWORD_FILE.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import DirectoryPath, Field, FilePath, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from configs.addresses import Brokers, RedisUrl, SecretUrl, StoreUrl
from configs.errors import ConfigError
from configs.section import STRICT, Section, checked, expected
from configs.sources import (
    Given,
    from_environment,
    from_file,
    from_flags,
    from_secret_files,
    joined,
    source_of,
    unknown_variables,
)

CONFIG_VARIABLE = "PODIUM_CONFIG"
USUAL_FILES = (Path("podium.yaml"), Path(".podium/podium.yaml"))
FILE_PATHS = {
    ("collections",),
    ("kafka", "ca_file"),
    ("kafka", "cert_file"),
    ("kafka", "key_file"),
}

Count = Annotated[int, Field(ge=1)]
Milliseconds = Annotated[float, Field(ge=0)]
Text = Annotated[str, Field(min_length=1)]
# Kafka refuses `.` and `..`.
InstanceId = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{0,248}[A-Za-z0-9_-]$")]


class Kafka(Section):
    brokers: Brokers = "localhost:9092"
    security: Literal["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"] = "plaintext"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    username: Text | None = None
    password: Annotated[SecretStr, Field(min_length=1)] | None = None
    ca_file: FilePath | None = None
    cert_file: FilePath | None = None
    key_file: FilePath | None = None
    # Of the topics that `podium topics create` makes. With 1, a lost disk is lost data.
    replication: Annotated[int, Field(ge=1, le=32767)] = 1
    # What a batch of records may unpack to, in the memory of a worker: a third of this in any case,
    # all of it if need be; one that would take more becomes a dead letter. It holds for zstd alone,
    # the other codecs are unpacked whatever comes out: a thousand times as much at most.
    most_unpacked_mib: Annotated[int, Field(ge=64, le=2047)] = 512

    @field_validator("sasl_mechanism", "username", "password")
    @classmethod
    def _goes_with_sasl(cls, value: Any, info: ValidationInfo) -> Any:
        security = info.data.get("security")
        if security is not None:
            if value is None and security.startswith("sasl"):
                raise expected(f"is missing; security {security} needs it", secret=True)
            if value is not None and not security.startswith("sasl"):
                message = f"is not used with security {security}; set security or leave this out"
                raise expected(message, secret=True)
        return value

    @field_validator("ca_file", "cert_file", "key_file")
    @classmethod
    def _goes_with_ssl(cls, value: Any, info: ValidationInfo) -> Any:
        security = info.data.get("security")
        if value is not None and security is not None and not security.endswith("ssl"):
            message = f"is not used with security {security}; set security or leave this out"
            raise expected(message, secret=True)
        return value

    @field_validator("key_file")
    @classmethod
    def _comes_with_its_certificate(cls, value: Any, info: ValidationInfo) -> Any:
        if "cert_file" in info.data and (value is None) != (info.data["cert_file"] is None):
            raise expected("cert_file and key_file go together; give both or none", secret=True)
        return value


class Redis(Section):
    url: RedisUrl = SecretUrl("redis://localhost:6379/0")
    timeout_s: Annotated[float, Field(gt=0)] = 5.0


class Router(Section):
    frame_events: Annotated[int, Field(ge=1, le=100_000)] = 1000
    # How long the router waits to fill a frame: the least when idle, the most under load.
    linger_min_ms: Milliseconds = 1.0
    linger_max_ms: Milliseconds = 20.0
    poll_events: Count = 5000

    @field_validator("linger_max_ms")
    @classmethod
    def _not_below_the_least(cls, value: float, info: ValidationInfo) -> float:
        least = info.data.get("linger_min_ms")
        if least is not None and value < least:
            raise expected(f"linger_min_ms ({least}) or more")
        return value


class Matcher(Section):
    feed_batch: Count = 10_000
    # What a worker that died has held (a shard, or a router's or merger's partitions) waits this
    # long for its next owner. Brokers refuse less than 6, unless their
    # group.min.session.timeout.ms allows it.
    session_timeout_s: Annotated[float, Field(ge=1, le=1800)] = 10.0
    # Static membership: the same worker back within the session time-out keeps its shards at once,
    # but after a planned stop the others wait for the whole time-out. Of one process only, so not
    # for a file that several share: two with one id take each other's shards again and again.
    instance_id: InstanceId | None = None

    @property
    def heartbeat_s(self) -> float:
        """By its next heartbeat a member hears of a rebalance, for which all others wait."""
        return min(self.session_timeout_s / 4, 3.0)


class Snapshots(Section):
    """Of the shards, in Redis; without them a worker replays all of `subscriptions`."""

    enabled: bool = True
    every_s: Annotated[float, Field(gt=0)] = 300.0
    # A shard that has changed less than this is not written again. Replaying as many takes a
    # fraction of a second.
    least_changes: Annotated[int, Field(ge=0)] = 10_000
    # Of one value in Redis, which answers nobody else while it handles one.
    chunk_bytes: Annotated[int, Field(ge=64 * 1024, le=64 * 1024 * 1024)] = 1024 * 1024
    # The snapshot before the newest stays this long for those who are reading it. Until then Redis
    # holds both, and while a third one is being written all three.
    keep_old_s: Annotated[float, Field(ge=1)] = 60.0
    # For writing or reading a whole one; redis.timeout_s is for each command.
    timeout_s: Annotated[float, Field(gt=0)] = 60.0


class Merger(Section):
    poll_partials: Count = 500


class Spark(Section):
    master: Text = "local[*]"
    # Folder or URI of the jobs' progress: with it a job goes on where it stopped, without it a job
    # starts from the beginning. On a cluster it must be one that every machine reaches.
    checkpoints: Text = ".podium/spark"
    # Where bases are kept, for matchers and jobs alike; the Redis of `redis.url` if not set.
    bases: StoreUrl | None = None
    # A shard's base is renewed at most this often, and only when so many subscriptions of the
    # collection have changed, or the oldest change has waited for so long.
    trigger_s: Annotated[float, Field(ge=0)] = 10.0
    least_changes: Count = 1000
    longest_wait_s: Annotated[float, Field(gt=0)] = 300.0
    # Records that a batch of paint-batch takes at most, so that a backlog is several batches, each
    # of which fits into the driver's memory. It also begins as soon as there are so many.
    most_changes: Count = 200_000
    # Where jobs serve their metrics that run on other machines than the stack, for `podium status`.
    metrics: Brokers | None = None
    ui: bool = False
    # Options of Spark itself by their names, such as spark.executor.memory.
    options: dict[str, str] = Field(default_factory=dict)


class Http(Section):
    host: Text = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 0  # 0: any free port


class Settings(BaseSettings):
    """A value like any other: it reads no file and no environment, `load_settings` does."""

    model_config = SettingsConfigDict(**STRICT)

    # First part of every topic's name; two fleets on one cluster need two prefixes.
    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")] = "podium"
    kafka: Kafka = Kafka()
    redis: Redis = Redis()
    router: Router = Router()
    matcher: Matcher = Matcher()
    snapshots: Snapshots = Snapshots()
    merger: Merger = Merger()
    spark: Spark = Spark()
    http: Http = Http()
    collections: DirectoryPath | None = None  # a folder of collection files

    @field_validator("*", mode="before")
    @classmethod
    def _a_section_may_be_left_empty(cls, value: Any, info: ValidationInfo) -> Any:
        of = cls.model_fields[info.field_name or ""].annotation
        is_section = isinstance(of, type) and issubclass(of, Section)
        return {} if value is None and is_section else value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


class Loaded(NamedTuple):
    settings: Settings
    file: Path | None
    given: dict[tuple[str, ...], Given]  # what differs from the defaults, and who said so


def load_settings(
    path: str | Path | None = None, overrides: Mapping[str, Any] | None = None
) -> Settings:
    """The effective settings; `ConfigError` with every problem if there is any.

    `overrides` are flags by dotted path (`{"kafka.brokers": "kafka-0:9092"}`) or nested; `None`
    stands for a flag that was not given.
    """
    return load_with_origins(path, overrides).settings


def load_with_origins(
    path: str | Path | None = None, overrides: Mapping[str, Any] | None = None
) -> Loaded:
    """The settings with the file they were read from and the source of every value."""
    file = settings_file(path)
    problems = unknown_variables(Settings)
    told = {problem.source.upper() for problem in problems}
    sources = []
    for source in (
        lambda: from_file(file, FILE_PATHS) if file else {},
        lambda: from_environment(Settings),
        lambda: from_secret_files(Settings),
        lambda: from_flags(overrides or {}),
    ):
        try:
            sources.append(source())
        except ConfigError as error:
            problems += error.problems
    values, given = joined(*sources)
    try:
        settings = checked(Settings, values, lambda at: source_of(given, at))
    except ConfigError as error:
        problems += [problem for problem in error.problems if problem.source not in told]
    if problems:
        raise ConfigError(problems)
    return Loaded(settings, file, given)


def settings_file(path: str | Path | None = None) -> Path | None:
    named = path or os.environ.get(CONFIG_VARIABLE)
    if named:
        return Path(named)
    return next((file for file in USUAL_FILES if file.is_file()), None)
