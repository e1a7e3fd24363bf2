"""What ends a job, said so that its operator can mend it."""

from copy import copy
from typing import Self


class JobError(Exception):
    """The job cannot go on; `remedy` is what to do."""

    exit_code = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy

    def of(self, collection: str) -> Self:
        """The same, of one of the job's collections."""
        said = copy(self)
        said.args = (f"collection {collection}: {self}",)
        return said


class UsageError(JobError):
    """The job was asked for something that it cannot do."""

    exit_code = 2


class ForeignCheckpoint(JobError):
    """The checkpoint belongs to another collection, topic or layout.

    Going on from it would mix two streams of offsets.  Give the job a checkpoint of its own, or
    remove the old one: the job then starts from the beginning of the topic.
    """


class OffsetsLost(JobError):
    """The topic no longer has records that the job has not read.

    Retention or somebody has removed them.  What is left can still be indexed: remove the
    checkpoint and start the job again.
    """
