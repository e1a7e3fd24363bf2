"""The headers of a record, read so that none of them can do harm."""

from operator import methodcaller

from confluent_kafka import Message

from topics.codecs.json_record import BadRecord
from topics.dead_letters import Header

# A call whose outcome Python looks at.  With a name that is not text the client returns a list with
# holes, and an error beside it which a plain call of the method leaves for somebody else to find.
_headers = methodcaller("headers")


def headers_of(message: Message) -> list[Header]:
    """The headers of a record, or `BadRecord` if a name among them is not text.

    To be asked once of a record: what the client keeps after such a name is not to be touched.
    """
    try:
        return _headers(message) or []
    except (SystemError, UnicodeDecodeError):  # the client's own ways to say it
        raise BadRecord("headers", "got a name that is not UTF-8, expected text") from None
