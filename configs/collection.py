"""Collection files: one matching problem each, `<folder>/<name>.yaml`."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from configs.errors import ConfigError, Problem
from configs.kinds import KINDS, STEMMERS
from configs.section import Section, checked, expected
from configs.sources import from_file, joined, source_of

NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")
NAME_FORM = "1 to 63 of a-z, 0-9 and -, beginning with a letter"
SUFFIXES = (".yaml", ".yml")
PACKAGED = Path(__file__).parent / "collections"

PartitionCount = Annotated[int, Field(ge=1, le=1024)]
Span = Annotated[float, Field(gt=0, le=1_000_000)]


class Partitions(Section):
    events: PartitionCount = 4
    partials: PartitionCount = 2
    matches: PartitionCount = 4


class Retention(Section):
    events_hours: Span = 24.0
    matches_hours: Span = 24.0
    # Of frames and partials. A fleet that stands still for longer than this loses what was on its
    # way, so keep it above the longest stop that you plan for.
    frames_minutes: Span = 60.0
    dead_letters_days: Span = 14.0
    # An overwritten subscription stays in the log at least this long, so that a recent answer can
    # still be checked against the subscriptions that it was computed from.
    compaction_lag_minutes: Span = 60.0
    # An unsubscription stays in the log at least this long. A worker that starts from a snapshot
    # older than this could miss one, and would have to replay from the beginning instead.
    unsubscriptions_days: Span = 7.0


class Routing(Section):
    """Whether shards publish what they hold, so that the router leaves out those that cannot match.

    It pays where subscriptions are placed by likeness (`podium shards plan`).
    """

    enabled: bool = False
    # A shard with more boxes than this that no other covers publishes boxes around groups of them.
    most_boxes: Annotated[int, Field(ge=2, le=16_384)] = 4096
    every_ms: Annotated[float, Field(ge=10, le=60_000)] = 200.0


class Collection(Section):
    name: str
    kind: str
    attributes: tuple[str, ...] = ()
    k: Annotated[int, Field(ge=1)] = 10  # matches an event, unless its `podium-k` says otherwise
    max_k: Annotated[int, Field(ge=1, le=10_000)] = 1000
    # Partitions of `subscriptions`. Keys are placed by it, so it cannot change on a live topic.
    shards: PartitionCount = 2
    emit_empty: bool = False
    # Of kind spatial_text.  Whether positions are longitudes and latitudes on the Earth, taken for
    # a sphere, or plain coordinates; and whether words count as their stems, of which language.
    space: Literal["sphere", "plane"] = "sphere"
    stemmer: str | None = None
    # Of kinds that match events. A shard has one worker, or every worker has all shards and takes a
    # share of the events: where they fit into the memory of one, an answer is one hop away.
    layout: Literal["sharded", "replicated"] = "sharded"
    # Of kind range_topk. A zone is a slice of the left ends of ranges; left to itself, the painter
    # chooses the slices from the subscriptions that it finds.
    zones: PartitionCount = 2
    zone_bounds: tuple[float, ...] = ()
    painter: Literal["live", "batch"] = "live"  # a worker, or the Spark job
    paint: Literal["dense", "sparse"] = "sparse"
    # Of painter: batch and paint: dense. In how many slices of x the objects are kept and painted,
    # each by a Spark task of its own; 1: in the job's driver.
    slices: Annotated[int, Field(ge=1, le=1024)] = 1
    epsilon: Annotated[float, Field(gt=0, le=1)] | None = None
    deliver: Literal["lists", "messages"] = "lists"
    emit: Literal["list", "changes", "both"] = "both"
    min_interval_ms: Annotated[float, Field(ge=0, le=3_600_000)] = 0.0
    partitions: Partitions = Partitions()
    retention: Retention = Retention()
    routing: Routing = Routing()

    @field_validator("name", mode="before")
    @classmethod
    def _can_be_part_of_a_topic_name(cls, value: Any) -> Any:
        if not isinstance(value, str) or not NAME.fullmatch(value):
            raise expected(NAME_FORM)
        return value

    @field_validator("kind", mode="before")
    @classmethod
    def _is_a_kind_that_podium_has(cls, value: Any) -> Any:
        if not isinstance(value, str) or value not in KINDS:
            raise expected(f"one of {', '.join(KINDS)}")
        return value

    @field_validator("attributes")
    @classmethod
    def _attributes_fit_the_kind(
        cls, names: tuple[str, ...], info: ValidationInfo
    ) -> tuple[str, ...]:
        if kind := info.data.get("kind"):
            allowed = KINDS[kind]
            most = len(names) if allowed.most_attributes is None else allowed.most_attributes
            if not allowed.least_attributes <= len(names) <= most:
                raise expected(f"{allowed.expected()} for kind {kind}")
        for name in names:
            if not name.strip():
                raise expected(f"names that are not blank, but one is {name!r}")
            if kind and name in KINDS[kind].reserved:
                raise expected(
                    f"other names than {', '.join(KINDS[kind].reserved)}, which are fields of"
                    f" every event of kind {kind}"
                )
            if names.count(name) > 1:
                raise expected(f"each name once, but {name!r} is there {names.count(name)} times")
        return names

    @field_validator("layout")
    @classmethod
    def _goes_with_events(cls, value: str, info: ValidationInfo) -> str:
        kind = info.data.get("kind")
        if kind and value == "replicated" and KINDS[kind].has_lists:
            these = ", ".join(name for name, one in KINDS.items() if not one.has_lists)
            raise expected(f"sharded for kind {kind}; replicated is for kinds {these}")
        return value

    @field_validator("max_k")
    @classmethod
    def _leaves_room_for_k(cls, value: int, info: ValidationInfo) -> int:
        k = info.data.get("k")
        if k is not None and value < k:
            raise expected(f"k ({k}) or more")
        return value

    @field_validator(
        "zones", "zone_bounds", "painter", "paint", "slices", "epsilon", "deliver", "emit",
        "min_interval_ms",
    )  # fmt: skip
    @classmethod
    def _goes_with_lists(cls, value: Any, info: ValidationInfo) -> Any:
        kind = info.data.get("kind")
        given = value != cls.model_fields[str(info.field_name)].default
        if kind and given and not KINDS[kind].has_lists:
            these = ", ".join(name for name, one in KINDS.items() if one.has_lists)
            raise expected(f"nothing: it is for kind {these}, and this is {kind}")
        return value

    @field_validator("space", "stemmer")
    @classmethod
    def _goes_with_the_kind(cls, value: Any, info: ValidationInfo) -> Any:
        kind, name = info.data.get("kind"), str(info.field_name)
        if kind and value != cls.model_fields[name].default and name not in KINDS[kind].dialect:
            these = ", ".join(other for other, one in KINDS.items() if name in one.dialect)
            raise expected(f"nothing: it is for kind {these}, and this is {kind}")
        return value

    @field_validator("stemmer")
    @classmethod
    def _is_a_stemmer_of_snowball(cls, value: str | None) -> str | None:
        if value is not None and value not in STEMMERS:
            raise expected(f"one of {', '.join(STEMMERS)}, or null")
        return value

    @field_validator("slices")
    @classmethod
    def _slices_are_painted_by_tasks(cls, slices: int, info: ValidationInfo) -> int:
        painter, paint = info.data.get("painter"), info.data.get("paint")
        if slices > 1 and (painter, paint) != ("batch", "dense"):
            raise expected(
                f"1, or painter: batch with paint: dense; this is {painter} with {paint}"
            )
        return slices

    @field_validator("zone_bounds")
    @classmethod
    def _bounds_cut_as_many_zones(
        cls, bounds: tuple[float, ...], info: ValidationInfo
    ) -> tuple[float, ...]:
        zones = info.data.get("zones")
        if bounds and zones is not None and len(bounds) != zones - 1:
            raise expected(f"{zones - 1} numbers between {zones} zones, or none")
        if any(low >= high for low, high in pairwise(bounds)):
            raise expected("numbers in ascending order")
        return bounds

    @field_validator("routing")
    @classmethod
    def _routes_are_about_attributes(cls, value: Routing, info: ValidationInfo) -> Routing:
        kind = info.data.get("kind")
        has_places = kind is not None and KINDS[kind].has_places
        if value.enabled and not has_places and not info.data.get("attributes"):
            raise expected("enabled: false for a collection that names no attributes")
        if value.enabled and info.data.get("layout") == "replicated":
            raise expected("enabled: false with layout: replicated, where no event is sent around")
        return value

    @field_validator("partitions", "retention", "routing", mode="before")
    @classmethod
    def _a_group_may_be_left_empty(cls, value: Any) -> Any:
        return {} if value is None else value

    @property
    def dialect(self) -> dict[str, Any]:
        """The settings that, beside the attributes, say how the records of its kind are read."""
        return {name: getattr(self, name) for name in KINDS[self.kind].dialect}


def load_collection(name_or_path: str | Path, folder: Path | None = None) -> Collection:
    """A collection by its name or by the path of its file.

    A name is looked for in `folder`, `./configs/collections` and the collections that come
    with Podium; the first file wins.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or "/" in text or text.endswith(SUFFIXES):
        return _read(Path(name_or_path))
    if not NAME.fullmatch(text):
        message = f"got {text!r}, expected a name ({NAME_FORM}) or the path of a .yaml file"
        raise ConfigError([Problem("collection", "", message)])
    folders = collection_folders(folder)
    for candidate in (place / (text + suffix) for place in folders for suffix in SUFFIXES):
        if candidate.is_file():
            collection = _read(candidate)
            if collection.name != text:
                message = f"got {collection.name!r}, expected {text!r} as in the file's name"
                raise ConfigError([Problem(str(candidate), "name", message)])
            return collection
    raise ConfigError([Problem("collection", "", _not_found(text, folders))])


def collection_folders(folder: Path | None = None) -> list[Path]:
    usual = [Path("configs/collections"), PACKAGED]
    folders = [folder, *usual] if folder else usual
    return list({place.resolve(): place for place in folders}.values())


def collection_names(folder: Path | None = None) -> list[str]:
    """The names that `load_collection` would find."""
    return sorted(
        {
            file.stem
            for place in collection_folders(folder)
            if place.is_dir()
            for file in place.iterdir()
            if file.suffix in SUFFIXES and NAME.fullmatch(file.stem)
        }
    )


def _read(file: Path) -> Collection:
    values, given = joined(from_file(file, set()))
    collection: Collection = checked(
        Collection, values, lambda at: source_of(given, at, otherwise=str(file))
    )
    return collection


def _not_found(name: str, folders: list[Path]) -> str:
    looked = ", ".join(map(str, folders))
    known = ", ".join(collection_names(folders[0])) or "none"
    return f"there is no collection {name!r}; looked in {looked}; found there: {known}"
