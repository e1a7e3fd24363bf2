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
from collections.abc import Sequence
from urllib.parse import urlsplit

from pyarrow import fs
from redis import RedisError

from storage.redis_chunks import Part, WrongLength, cut_between_parts, download, upload
from storage.redis_client import open_redis

CHUNK_BYTES = 4 * 1024 * 1024
PREFIX = "podium:base:"
UNFINISHED_S = 6 * 3600  # far longer than writing a blob takes
# A job can wait; a batch that fails is done again as a whole.
TIMEOUT_S = 30.0
RETRIES = 3

Parts = Sequence[Part]


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
        self._redis = open_redis(uri, timeout_s, retries)

    def put(self, name: str, parts: Parts) -> None:
        key = PREFIX + name
        chunks = enumerate(cut_between_parts(parts, CHUNK_BYTES))
        try:
            # Chunks of a blob that is there as a whole must stay: they only get the same bytes.
            expire_s = None if self._redis.exists(key) else UNFINISHED_S
            named = ((_chunk_key(name, i), chunk) for i, chunk in chunks)
            lengths = upload(self._redis, named, expire_s)
            with self._redis.pipeline(transaction=True) as finish:
                for i in range(len(lengths)):
                    finish.persist(_chunk_key(name, i))
                finish.set(key, f"{len(lengths)} {sum(lengths)}")
                finish.execute()
        except RedisError as error:
            raise StoreFailed(f"{name} was not written to Redis: {error}") from error

    def get(self, name: str) -> memoryview:
        try:
            keys, size = self._extent(name)
            return download(self._redis, keys, size)
        except WrongLength as wrong:
            raise NotStored(f"{name} is not whole in Redis: {wrong}") from wrong
        except RedisError as error:
            raise StoreFailed(f"{name} was not read from Redis: {error}") from error

    def has(self, name: str) -> bool:
        try:
            keys, _ = self._extent(name)
            return self._redis.exists(PREFIX + name, *keys) == 1 + len(keys)
        except NotStored:
            return False
        except RedisError as error:
            raise StoreFailed(f"{name} was not looked for in Redis: {error}") from error

    def drop(self, name: str) -> None:
        try:
            keys, _ = self._extent(name)
            self._redis.delete(PREFIX + name, *keys)
        except NotStored:
            return
        except RedisError as error:
            raise StoreFailed(f"{name} was not dropped from Redis: {error}") from error

    def _extent(self, name: str) -> tuple[list[str], int]:
        """The keys of a blob's chunks, and how many bytes it has."""
        extent = self._redis.get(PREFIX + name)
        if extent is None:
            raise NotStored(f"{name} is not in Redis")
        count, size = map(int, extent.split())
        return [_chunk_key(name, i) for i in range(count)], size


def _chunk_key(name: str, i: int) -> str:
    return f"{PREFIX}{name}:{i}"


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
