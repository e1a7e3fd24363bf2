"""What the tasks that hold slices of objects ask each other while they paint.

A question and its answer are a few numbers, in MessagePack over TCP.  Who asks has to know the
batch's token, which the driver makes (`multiprocessing.connection` has it proved, and sends it to
nobody).
"""

import logging
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from threading import Thread

import msgspec

from indexes.paint.objects import Key, ObjectIndex

log = logging.getLogger(__name__)

_BUFFER = 1024 * 1024
PATIENCE_S = 120.0


class _FirstK(msgspec.Struct, tag=True, array_like=True):
    x: float
    y: float
    key_x: float
    k: int
    side: str


class _MinY(msgspec.Struct, tag=True, array_like=True):
    low: float
    high: float
    y: float
    key_x: float


_question = msgspec.msgpack.Decoder(_FirstK | _MinY)
_found = msgspec.msgpack.Decoder(list[float])
_least = msgspec.msgpack.Decoder(tuple[float, float] | None)


class SliceServer:
    """Answers for the objects of this task until it is closed."""

    def __init__(self, objects: ObjectIndex, host: str, token: bytes) -> None:
        self._objects = objects
        self._listener = Listener((host, 0), authkey=token)
        self._host = host
        Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"{self._host}:{self._listener.address[1]}"

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                asking = self._listener.accept()
            except AuthenticationError:
                log.warning("somebody asked for objects without knowing the batch's token")
                continue
            except OSError:  # closed
                return
            Thread(target=self._answer, args=(asking,), daemon=True).start()

    def _answer(self, asking: Connection) -> None:
        encode = msgspec.msgpack.encode
        with asking:
            while True:
                try:
                    asked = _question.decode(asking.recv_bytes(_BUFFER))
                    if isinstance(asked, _FirstK):
                        key = asked.y, asked.key_x
                        found = self._objects.first_k(asked.x, key, asked.k, asked.side)
                        asking.send_bytes(encode(found))
                    else:
                        key = asked.y, asked.key_x
                        asking.send_bytes(encode(self._objects.min_y(asked.low, asked.high, key)))
                except (EOFError, OSError):  # who asked is done
                    return


class RemoteSlice:
    """The objects that another task has: `ObjectIndex`'s answers, from there."""

    def __init__(self, address: str, token: bytes, patience_s: float = PATIENCE_S) -> None:
        host, _, port = address.rpartition(":")
        self._address, self._token, self._patience_s = (host, int(port)), token, patience_s
        self._connection: Connection | None = None

    def first_k(self, x: float, y: Key, k: int, side: str) -> list[float]:
        return _found.decode(self._ask(_FirstK(x, *_as_pair(y), k=k, side=side)))

    def min_y(self, low: float, high: float, y: Key) -> tuple[float, float] | None:
        return _least.decode(self._ask(_MinY(low, high, *_as_pair(y))))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _ask(self, question: _FirstK | _MinY) -> bytes:
        if self._connection is None:
            self._connection = Client(self._address, authkey=self._token)
        self._connection.send_bytes(msgspec.msgpack.encode(question))
        if not self._connection.poll(self._patience_s):
            raise TimeoutError(
                f"the task at {self._address} did not answer in {self._patience_s} s"
            )
        return self._connection.recv_bytes(_BUFFER)


def _as_pair(y: Key) -> tuple[float, float]:
    """Servers ask with keys (y, x) only."""
    assert isinstance(y, tuple)
    return y
