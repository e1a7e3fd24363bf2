"""Create the topics that are missing; never change one that exists.

`examine` looks, `plan` compares, `apply` creates.  Applying twice is the same as once, also
when two people apply at the same time.
"""

import time
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
    TopicMetadata,
)

from topics.catalogue import TopicSpec
from topics.kafka.plan import Difference, ExistingTopic, Plan, plan

__all__ = [
    "BrokerUnreachable",
    "CreationFailed",
    "Difference",
    "ExistingTopic",
    "Plan",
    "TopicsDiffer",
    "apply",
    "examine",
    "plan",
]

ANSWER_S = 5.0  # for a first answer; a broker that takes longer is as good as absent
TIMEOUT_S = 30.0  # a busy broker takes seconds to serve what it has created
POLL_S = 0.05
NO_ANSWER = {
    KafkaError._TRANSPORT,
    KafkaError._TIMED_OUT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._RESOLVE,
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
}

NO_LEADER_YET = {
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._NOENT,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._UNKNOWN_TOPIC,
}


class TopicsDiffer(RuntimeError):
    """Topics exist, but not as declared.  Nothing was created or changed.

    Each difference carries the command that would bring the topic to what is declared; the other
    way is to declare what exists.
    """

    def __init__(self, differences: Sequence[Difference]) -> None:
        super().__init__("\n".join(map(str, differences)))
        self.differences = list(differences)


class CreationFailed(RuntimeError):
    """The broker refused to create a topic; the message has its reason."""


class BrokerUnreachable(ConnectionError):
    """No broker answered.  Start one, or correct its address or credentials."""


def examine(
    admin: AdminClient, names: Iterable[str], timeout_s: float = ANSWER_S
) -> dict[str, ExistingTopic]:
    """Those of `names` that exist on the broker."""
    found = _topics(admin, timeout_s)
    partitions = {name: len(found[name].partitions) for name in names if name in found}
    if not partitions:
        return {}
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in partitions]
    answers = admin.describe_configs(resources, request_timeout=timeout_s)
    existing = {}
    for resource, answer in answers.items():
        try:
            entries = _result(answer, timeout_s)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                continue  # deleted since it was listed
            raise
        config = {name: str(entry.value) for name, entry in entries.items()}
        existing[resource.name] = ExistingTopic(partitions[resource.name], config)
    return existing


def apply(
    admin: AdminClient,
    planned: Plan,
    replication: int = 1,
    timeout_s: float = TIMEOUT_S,
    brokers: str = "$BROKERS",
) -> Plan:
    """Create `planned.create` and wait until every partition answers.

    Raises `TopicsDiffer`, with nothing created, if anything differs.  Returns what was created
    here; a topic that somebody else created in the meantime is looked at again.
    """
    if planned.different:
        raise TopicsDiffer(planned.different)
    if not planned.create:
        return planned
    created, raced = _create(admin, planned.create, replication, timeout_s)
    same = _looked_at_again(admin, raced, timeout_s, brokers)
    _await_leaders(admin, created + same, timeout_s)
    return Plan(created, planned.same + same, [])


def _create(
    admin: AdminClient, specs: list[TopicSpec], replication: int, timeout_s: float
) -> tuple[list[TopicSpec], list[TopicSpec]]:
    """The specs that were created, and those that somebody else had just created."""
    new = [
        NewTopic(
            spec.name, spec.partitions, replication_factor=replication, config=dict(spec.config)
        )
        for spec in specs
    ]
    answers = admin.create_topics(new, operation_timeout=timeout_s, request_timeout=timeout_s)
    created, raced, refused = [], [], []
    for spec in specs:
        try:
            _result(answers[spec.name], timeout_s)
            created.append(spec)
        except KafkaException as error:
            cause: KafkaError = error.args[0]
            if cause.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                raced.append(spec)
            else:
                refused.append(f"{spec.name}: {_reason(cause, replication)}")
    if refused:
        raise CreationFailed("\n".join(refused))
    return created, raced


def _looked_at_again(
    admin: AdminClient, raced: list[TopicSpec], timeout_s: float, brokers: str
) -> list[TopicSpec]:
    """The topics that somebody else has just created, if they are as declared."""
    deadline = time.monotonic() + timeout_s
    while True:
        again = plan(raced, examine(admin, [spec.name for spec in raced]), brokers)
        if again.different:
            raise TopicsDiffer(again.different)
        if not again.create:
            return again.same
        if time.monotonic() > deadline:  # known to the controller, not yet to the broker we ask
            names = ", ".join(spec.name for spec in again.create)
            raise CreationFailed(f"{names}: not visible after {timeout_s:g} s; run this again")
        time.sleep(POLL_S)


def _await_leaders(admin: AdminClient, specs: list[TopicSpec], timeout_s: float) -> None:
    """Wait until every partition answers.

    A broker tells of a new leader before that leader serves, so metadata alone would let the first
    client run into "not leader for partition".
    """
    deadline = time.monotonic() + timeout_s
    waiting: Collection[TopicPartition] = [
        TopicPartition(spec.name, number) for spec in specs for number in range(spec.partitions)
    ]
    while reasons := _not_serving(admin, waiting, timeout_s):
        if time.monotonic() > deadline:
            first, reason = next(iter(reasons.items()))
            raise CreationFailed(
                f"created, but {len(reasons)} partitions do not answer after {timeout_s:g} s, "
                f"{first.topic}[{first.partition}] because: {reason}; "
                "look at the brokers' logs, then run this again"
            )
        time.sleep(POLL_S)
        waiting = reasons


def _not_serving(
    admin: AdminClient, partitions: Collection[TopicPartition], timeout_s: float
) -> dict[TopicPartition, str]:
    """The partitions that nobody serves yet, with the broker's words."""
    _topics(admin, timeout_s)  # else the client would go on with what it knew: no leader
    wanted = {partition: OffsetSpec.latest() for partition in partitions}
    reasons = {}
    for partition, answer in admin.list_offsets(wanted, request_timeout=timeout_s).items():
        try:
            _result(answer, timeout_s)
        except KafkaException as error:
            if error.args[0].code() not in NO_LEADER_YET:
                raise
            reasons[partition] = str(error.args[0].str())
    return reasons


def _topics(admin: AdminClient, timeout_s: float) -> dict[str, TopicMetadata]:
    """All topics: a request for one by its name could create it."""
    try:
        return admin.list_topics(timeout=timeout_s).topics
    except KafkaException as error:
        raise _clearer(error, timeout_s) from error


def _result(answer: "Future[Any]", timeout_s: float) -> Any:
    try:
        return answer.result()
    except KafkaException as error:
        if error.args[0].code() in NO_ANSWER:
            raise _clearer(error, timeout_s) from error
        raise


def _clearer(error: KafkaException, timeout_s: float) -> Exception:
    cause: KafkaError = error.args[0]
    if cause.code() in NO_ANSWER:
        return BrokerUnreachable(f"no answer within {timeout_s:g} s ({cause.str()})")
    return error


def _reason(cause: KafkaError, replication: int) -> str:
    if cause.code() == KafkaError.INVALID_REPLICATION_FACTOR:
        return (
            f"kafka.replication is {replication}, more than the brokers that are up; "
            f"start more or lower it ({cause.str()})"
        )
    return str(cause.str())
