"""What who reads `events` tells its successor, as metadata of the offset that it commits.

    <epoch>             of a router: the events below are in frames of epochs up to this one
    <epoch> answered    of a node: they are answered, and it knows of frames up to this epoch

Both commit in one group, so that a collection goes from one layout to the other where it is.
"""

from typing import NamedTuple

_ANSWERED = "answered"


class EventsProgress(NamedTuple):
    epoch: int
    is_answered: bool = False

    def encode(self) -> str:
        """
        >>> EventsProgress(1763, is_answered=True).encode()
        '1763 answered'
        """
        return f"{self.epoch} {_ANSWERED}" if self.is_answered else str(self.epoch)

    @classmethod
    def decode(cls, text: str) -> "EventsProgress":
        """Other tools may have committed something else: epoch 0 then.

        >>> EventsProgress.decode("1763")
        EventsProgress(epoch=1763, is_answered=False)
        """
        epoch, _, answered = text.partition(" ")
        return cls(int(epoch) if epoch.isdecimal() else 0, answered == _ANSWERED)
