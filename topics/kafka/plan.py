"""What separates the topics that exist from the topics that are declared."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from topics.catalogue import TopicSpec


class ExistingTopic(NamedTuple):
    partitions: int
    config: Mapping[str, str]  # effective values, the broker's defaults included


class Difference(NamedTuple):
    topic: str
    what: str  # `partitions`, or the name of a topic setting
    got: str
    wanted: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.topic}: {self.what}: got {self.got}, wanted {self.wanted}\n    {self.remedy}"


class Plan(NamedTuple):
    create: list[TopicSpec]
    same: list[TopicSpec]
    different: list[Difference]


def plan(
    wanted: Iterable[TopicSpec], existing: Mapping[str, ExistingTopic], brokers: str = "$BROKERS"
) -> Plan:
    """What to create, what is there as declared, and what is there but different.

    Settings of an existing topic that the catalogue does not name are its operator's.
    """
    result = Plan([], [], [])
    for spec in wanted:
        if spec.name not in existing:
            result.create.append(spec)
        elif found := _differences(spec, existing[spec.name], brokers):
            result.different.extend(found)
        else:
            result.same.append(spec)
    return result


def _differences(spec: TopicSpec, found: ExistingTopic, brokers: str) -> list[Difference]:
    differences = []
    if found.partitions != spec.partitions:
        remedy = _partitions_remedy(spec, found.partitions, brokers)
        differences.append(
            Difference(spec.name, "partitions", str(found.partitions), str(spec.partitions), remedy)
        )
    for name, wanted in spec.config.items():
        got = found.config.get(name, "nothing")
        if got != wanted:
            remedy = (
                f"kafka-configs.sh --bootstrap-server {brokers} --alter --entity-type topics "
                f"--entity-name {spec.name} --add-config {name}={wanted}"
            )
            differences.append(Difference(spec.name, name, got, wanted, remedy))
    return differences


def _partitions_remedy(spec: TopicSpec, got: int, brokers: str) -> str:
    if spec.placed_by_key:
        return (
            f"records are placed by it, so it cannot change in place: declare shards: {got}, or "
            "take a new collection name or prefix and send the subscriptions again"
        )
    if got > spec.partitions:
        return f"partitions cannot be taken away: declare {got} for it in the collection file"
    return (
        f"kafka-topics.sh --bootstrap-server {brokers} --alter --topic {spec.name} "
        f"--partitions {spec.partitions}"
    )
