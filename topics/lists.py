"""`matches` of kind `range_topk`: each subscriber's list, whole, whenever it changes.

Key: the subscription's id, so that the latest record of a key is its list, and one subscriber's
records are in order.  Null: it has unsubscribed.  Header `podium-as-of`: the subscription's own
record, `shard@offset`.  What the fields mean is in docs/range-topk.md.

    {"subscription": "watch-7", "since": "podium.parking.subscriptions[1]@88", "seq": 418,
     "first": false, "objects": "podium.parking.objects[0]@1041", "k": 5,
     "list": [{"id": "o-12", "x": 31.0, "y": 0.4}],
     "changes": [{"op": "leave", "id": "o-3", "from": 4, "why": "displaced"},
                 {"op": "enter", "id": "o-12", "x": 31.0, "y": 0.4, "to": 0}]}
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Literal, NamedTuple, Protocol

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from topics.messages import place_of

Place = Annotated[str, Meta(pattern=r"^.+\[\d+\]@\d+$", description="topic[partition]@offset")]
Index = Annotated[int, Meta(ge=0)]

OPERATIONS = ("leave", "enter", "move", "update")
REASONS = ("displaced", "removed", "left")


class ListedObject(Struct, frozen=True):
    id: str
    x: float
    y: float


class Leave(Struct, frozen=True, tag_field="op", tag="leave", rename={"old": "from"}):
    id: str
    old: Index  # place in the list before
    why: Literal["displaced", "removed", "left"]


class Enter(Struct, frozen=True, tag_field="op", tag="enter"):
    id: str
    x: float
    y: float
    to: Index  # place in the list as it is


class Move(Struct, frozen=True, tag_field="op", tag="move", rename={"old": "from"}):
    id: str
    x: float
    y: float
    old: Index
    to: Index


class Update(Struct, frozen=True, tag_field="op", tag="update"):
    id: str
    x: float
    y: float
    to: Index


Listed = list[ListedObject]
Changes = list[Leave | Enter | Move | Update]


class ListRecord(Struct, frozen=True):
    subscription: str
    since: Place
    seq: Annotated[int, Meta(ge=1)]
    first: bool
    objects: Place | None
    k: Annotated[int, Meta(ge=1)]
    list: Listed | UnsetType = UNSET
    changes: Changes | UnsetType = UNSET
    approximate: float | UnsetType = UNSET


_decoder = msgspec.json.Decoder(ListRecord)


def decode(value: bytes) -> ListRecord:
    return _decoder.decode(value)


class ObjectStates(Protocol):
    """Rows of object states, as the lists of a zone have them."""

    @property
    def x(self) -> np.ndarray: ...
    @property
    def y(self) -> np.ndarray: ...
    @property
    def handle(self) -> np.ndarray: ...


class ChangedLists(Protocol):
    """What has changed, record by record: see `indexes.paint.lists.Changed`."""

    @property
    def ids(self) -> np.ndarray: ...
    @property
    def seq(self) -> np.ndarray: ...
    @property
    def number(self) -> np.ndarray: ...
    @property
    def list_count(self) -> np.ndarray: ...
    @property
    def change_count(self) -> np.ndarray: ...
    @property
    def entries(self) -> np.ndarray: ...
    @property
    def changes(self) -> np.ndarray: ...


class Subscriber(NamedTuple):
    key: bytes
    k: int


class ListWriter:
    """Writes the records of one zone.

    The text of an object state is made once, for all the lists that it is in.
    """

    def __init__(
        self,
        objects_topic: str,
        subscriptions_topic: str,
        shards: int,
        emit: str = "both",
        epsilon: float | None = None,
    ) -> None:
        self._objects = _text(objects_topic)[:-1] + b"[0]@"
        self._since = _text(subscriptions_topic)[:-1]
        self._shards = shards
        self._with_list, self._with_changes = emit != "changes", emit != "list"
        ending = {} if epsilon is None else {"approximate": epsilon}
        self._ending = b"," + msgspec.json.encode(ending)[1:] if ending else b"}"
        self._states: dict[int, bytes] = {}  # `"id":…,"x":…,"y":…` by row
        self._rewritten = 0

    def forget(self, rewritten: int) -> None:
        """Rows may be of other states: `rewritten` says how often they were given anew."""
        if rewritten != self._rewritten or len(self._states) > 1_000_000:
            self._states.clear()
            self._rewritten = rewritten

    def records(
        self,
        changed: ChangedLists,
        states: ObjectStates,
        object_ids: Sequence[bytes],
        subscriber: Callable[[int], Subscriber],
        whole: bool = False,
    ) -> Iterator[tuple[Subscriber, int, bytes]]:
        """Whose it is, which life, and the record; `whole`, its list whatever is emitted."""
        self._prepare(np.concatenate((changed.entries, changed.changes[:, 1])), states, object_ids)
        known = self._states
        texts = [known[row] for row in changed.entries.tolist()]
        changes = changed.changes.tolist()
        entry = change = 0
        columns = (column.tolist() for column in changed[:5])  # type: ignore[index]
        for life, seq, number, listed, count in zip(*columns, strict=True):
            whose = subscriber(life)
            inside = texts[entry : entry + listed] if whole or self._with_list else None
            told = changes[change : change + count] if self._with_changes else None
            if whole and not self._with_list:
                told = None
            entry, change = entry + listed, change + count
            yield whose, life, self._record(whose, life, seq, number, inside, told, False)

    def first_record(
        self,
        whose: Subscriber,
        life: int,
        number: int,
        rows: np.ndarray,
        states: ObjectStates,
        object_ids: Sequence[bytes],
    ) -> bytes:
        """The list that a life begins with; it is in, whatever else is emitted."""
        self._prepare(rows, states, object_ids)
        inside = [self._states[row] for row in rows.tolist()]
        told: list[list[int]] | None = [] if self._with_changes else None
        return self._record(whose, life, 1, number, inside, told, True)

    def as_of(self, life: int) -> bytes:
        """The value of the header `podium-as-of`."""
        return b"%d@%d" % place_of(life, self._shards)

    def _prepare(self, rows: np.ndarray, states: ObjectStates, object_ids: Sequence[bytes]) -> None:
        new = [row for row in np.unique(rows).tolist() if row not in self._states]
        if not new:
            return
        columns = (states.handle[new].tolist(), states.x[new].tolist(), states.y[new].tolist())
        for row, handle, x, y in zip(new, *columns, strict=True):
            text = msgspec.json.encode(ListedObject(object_ids[handle].decode(), x, y))
            self._states[row] = text[1:-1]

    def _record(
        self,
        whose: Subscriber,
        life: int,
        seq: int,
        number: int,
        inside: Sequence[bytes] | None,
        told: Sequence[Sequence[int]] | None,
        first: bool,
    ) -> bytes:
        objects = b"null" if number < 0 else b'%b%d"' % (self._objects, number)
        parts = [
            b'{"subscription":%b,"since":%b[%d]@%d","seq":%d,"first":%b,"objects":%b,"k":%d'
            % (
                _text(whose.key.decode()),
                self._since,
                *place_of(life, self._shards),
                seq,
                b"true" if first else b"false",
                objects,
                whose.k,
            )
        ]
        if inside is not None:
            parts.append(b',"list":[{%b}]' % b"},{".join(inside) if inside else b',"list":[]')
        if told is not None:
            parts.append(b',"changes":[%b]' % b",".join(map(self._change, told)))
        parts.append(self._ending)
        return b"".join(parts)

    def _change(self, change: Sequence[int]) -> bytes:
        operation, row, old, new, why = change
        text = self._states[row]
        if operation == 0:
            id_text = text[: text.rindex(b',"x":')]
            return b'{"op":"leave",%b,"from":%d,"why":"%b"}' % (id_text, old, _REASONS[why])
        if operation == 2:
            return b'{"op":"move",%b,"from":%d,"to":%d}' % (text, old, new)
        name = b"enter" if operation == 1 else b"update"
        return b'{"op":"%b",%b,"to":%d}' % (name, text, new)


_REASONS = [reason.encode() for reason in REASONS]


def _text(text: str) -> bytes:
    return msgspec.json.encode(text)
