from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """What a Kafka topic is to be.  `config` holds only what must not be left to the broker."""

    name: str
    partitions: int
    config: Mapping[str, str] = field(default_factory=dict)
    purpose: str = ""
    # Records are placed by their key's partition and looked for there, so that another number of
    # partitions would lose them.
    placed_by_key: bool = False

    def __post_init__(self) -> None:
        if self.partitions < 1:
            raise ValueError(f"{self.name}: got {self.partitions} partitions, expected 1 or more")
