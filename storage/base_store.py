"""Where bases lie: in Redis, or under a folder of a file system, chosen by the address.

    redis://host:6379/0     `podium:base:<name>` is "<chunks> <bytes>", and `podium:base:<name>:<i>`
                            are the chunks; the first is written last, and until then the others
                            expire, so that a writer that is killed leaves nothing for good
    file:///data/bases      `<folder>/<name>`, written under another name and then renamed;
                            also hdfs:// and whatever else pyarrow has a file system for

A name is written by one job only, with the same bytes every time, so that writing it once more does
no harm.
"""

import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from pyarrow import fs
from redis import Redis, RedisError
from redis.backoff import ExponentialWithJitterBackoff
from redis.retry import Retry

CHUNK_BYTES = 4 * 1024 * 1024
# The client copies what it reads with the GIL held; other threads wait for one piece only.
PIECE_BYTES = 1024 * 1024
PREFIX = "podium:base:"
UNFINISHED_S = 6 * 3600  # far longer than writing a blob takes
# A job can wait; a batch that fails is done again as a whole.
TIMEOUT_S = 30.0
RETRIES = 3

Parts = Sequence[bytes | memoryview]


class NotStored(LookupError):
    """The store does not have all of a blob: it was dropped, evicted or never written."""


class StoreFailed(ConnectionError):
    """The store cannot be reached or refuses; the text has its reason."""


class BaseStore(ABC):
    @staticmethod
    def open(uri: str, timeout_s: float = TIMEOUT_S, retries: int = RETRIES) -> "BaseStore":
        """`uri` may hold a password: no message repeats it.  The limits are for Redis."""
        scheme = urlsplit(uri).scheme
        if scheme in ("redis", "rediss", "unix"):
            return RedisStore(uri, timeout_s, retries)
        try:
            system, folder = fs.FileSystem.from_uri(uri)
        except (ValueError, OSError) as error:
            got = f"got a {scheme} address" if scheme else "got no scheme"
            expected = "expected redis://…, file:///… or another that pyarrow opens"
            raise StoreFailed(f"base store: {got}, {expected} ({error})") from error
        return FileStore(system, folder)

    @abstractmethod
    def put(self, name: str, parts: Parts) -> None:
        """Store a blob given in parts; it is there as a whole or not at all."""

    @abstractmethod
    def get(self, name: str) -> bytes | memoryview:
        """The blob, or `NotStored`."""

    @abstractmethod
    def has(self, name: str) -> bool:
        """Whether the blob is there, without reading it."""

    @abstractmethod
    def drop(self, name: str) -> None:
        """Forget a blob, if it is there."""


class RedisStore(BaseStore):
    def __init__(self, uri: str, timeout_s: float, retries: int) -> None:
        self._redis = Redis.from_url(
            uri,
            socket_timeout=timeout_s,
            socket_connect_timeout=timeout_s,
            retry=Retry(ExponentialWithJitterBackoff(), retries),
        )

    def put(self, name: str, parts: Parts) -> None:
        key, count, size = PREFIX + name, 0, 0
        try:
            # Chunks of a blob that is there as a whole must stay: they only get the same bytes.
            expires_s = None if self._redis.exists(key) else UNFINISHED_S
            for count, chunk in enumerate(chunks(parts), start=1):
                self._redis.set(f"{key}:{count - 1}", chunk, ex=expires_s)
                size += len(chunk)
            with self._redis.pipeline(transaction=True) as finish:
                for i in range(count):
                    finish.persist(f"{key}:{i}")
                finish.set(key, f"{count} {size}")
                finish.execute()
        except RedisError as error:
            raise StoreFailed(f"{name} was not written to Redis: {error}") from error

    def get(self, name: str) -> memoryview:
        key, at = PREFIX + name, 0
        try:
            count, size = self._extent(name)
            data = np.empty(size, np.uint8)
            for i in range(count):
                at += self._read_chunk(f"{key}:{i}", data[at:])
        except RedisError as error:
            raise StoreFailed(f"{name} was not read from Redis: {error}") from error
        if at != size:
            raise NotStored(f"{name}: Redis has {at} of its {size} bytes")
        return data.data

    def _read_chunk(self, key: str, room: np.ndarray) -> int:
        """Read a chunk piece by piece; how many bytes it has, or more than there is room for."""
        at = 0
        while True:
            piece: Any = self._redis.getrange(key, at, at + PIECE_BYTES - 1)
            end = at + len(piece)
            if end > len(room):
                return end
            room[at:end] = np.frombuffer(piece, np.uint8)  # which leaves the GIL alone
            at = end
            if len(piece) < PIECE_BYTES:
                return at

    def has(self, name: str) -> bool:
        key = PREFIX + name
        try:
            count, _ = self._extent(name)
            found = self._redis.exists(key, *(f"{key}:{i}" for i in range(count)))
            return bool(found == count + 1)
        except NotStored:
            return False
        except RedisError as error:
            raise StoreFailed(f"{name} was not looked for in Redis: {error}") from error

    def drop(self, name: str) -> None:
        key = PREFIX + name
        try:
            count, _ = self._extent(name)
            self._redis.delete(key, *(f"{key}:{i}" for i in range(count)))
        except NotStored:
            return
        except RedisError as error:
            raise StoreFailed(f"{name} was not dropped from Redis: {error}") from error

    def _extent(self, name: str) -> tuple[int, int]:
        """How many chunks a blob has, and how many bytes."""
        told = self._redis.get(PREFIX + name)
        if told is None:
            raise NotStored(f"{name} is not in Redis")
        count, size = told.split()
        return int(count), int(size)


class FileStore(BaseStore):
    def __init__(self, system: fs.FileSystem, folder: str) -> None:
        self._system, self._folder = system, folder.rstrip("/")

    def put(self, name: str, parts: Parts) -> None:
        path = f"{self._folder}/{name}"
        parent, _, last = path.rpartition("/")
        unfinished = f"{parent}/.{last}.{uuid.uuid4().hex}"
        try:
            self._system.create_dir(parent, recursive=True)
            with self._system.open_output_stream(unfinished) as out:
                for part in parts:
                    out.write(part)
            self._rename(unfinished, path)
        except OSError as error:
            raise StoreFailed(f"{path} was not written: {error}") from error

    def _rename(self, source: str, target: str) -> None:
        try:
            self._system.move(source, target)
        except OSError:
            # Not every file system renames over a file that is there; it has the same bytes.
            if self._system.get_file_info(target).type == fs.FileType.NotFound:
                raise
            self._system.delete_file(target)
            self._system.move(source, target)

    def get(self, name: str) -> bytes:
        path = f"{self._folder}/{name}"
        try:
            with self._system.open_input_file(path) as file:
                data: bytes = file.read()
        except FileNotFoundError:
            raise NotStored(f"{path} is not there") from None
        except OSError as error:
            raise StoreFailed(f"{path} was not read: {error}") from error
        return data

    def has(self, name: str) -> bool:
        path = f"{self._folder}/{name}"
        try:
            return bool(self._system.get_file_info(path).type == fs.FileType.File)
        except OSError as error:
            raise StoreFailed(f"{path} was not looked for: {error}") from error

    def drop(self, name: str) -> None:
        path = f"{self._folder}/{name}"
        try:
            self._system.delete_file(path)
            self._remove_if_done(path.rpartition("/")[0])
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreFailed(f"{path} was not dropped: {error}") from error

    def _remove_if_done(self, folder: str) -> None:
        """Remove a folder in which nothing is left but what a killed writer had not finished."""
        left = self._system.get_file_info(fs.FileSelector(folder))
        if all(file.base_name.startswith(".") for file in left):
            self._system.delete_dir(folder)


def chunks(parts: Parts, most: int = CHUNK_BYTES) -> Iterator[bytes | memoryview]:
    """The same bytes, `most` at a time: large parts are cut, without a copy, small ones joined."""
    gathered = bytearray()
    for part in parts:
        view = memoryview(part).cast("B")
        if gathered and len(gathered) + len(view) > most:
            yield bytes(gathered)
            gathered.clear()
        if len(view) < most:
            gathered += view
        else:
            yield from (view[at : at + most] for at in range(0, len(view), most))
    if gathered:
        yield bytes(gathered)
