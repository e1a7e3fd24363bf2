"""Addresses as people write them: checked, and shown without their passwords."""

import re
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Secret

from configs.section import expected

BROKERS_FORM = "host:port[,host:port…]"
REDIS_FORM = "redis://[[user]:password@]host[:port][/database]"
STORE_FORM = f"{REDIS_FORM}, or a folder such as file:///data/bases or hdfs://host:port/bases"
HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")

# Up to the last @, since a password may hold anything: the scheme, the user, and the rest.
CREDENTIALS = re.compile(r"^([a-z][a-z0-9+.-]*://)?(?:([^:/@]*):)?.*@", re.IGNORECASE | re.DOTALL)


def checked_brokers(value: Any) -> str:
    """`value` without blanks around its commas; anything but `BROKERS_FORM` is refused."""
    brokers = [part.strip() for part in value.split(",")] if isinstance(value, str) else []
    if not brokers or not all(map(_is_host_and_port, brokers)):
        raise expected(BROKERS_FORM)
    return ",".join(brokers)


def _is_host_and_port(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(HOST.fullmatch(host)) and port.isdecimal() and 0 < int(port) < 65536


def without_password(url: str) -> str:
    """
    >>> without_password("redis://:hunter2@localhost:6379/0")
    'redis://:***@localhost:6379/0'
    >>> without_password("redis://app:hunter2@localhost/0?password=hunter2&db=1")
    'redis://app:***@localhost/0?password=***&db=1'
    """
    hidden = CREDENTIALS.sub(r"\1\2:***@", url)
    return re.sub(r"(password=)[^&]*", r"\1***", hidden)


def _checked_redis_url(value: Any) -> Any:
    if isinstance(value, Secret):
        return value
    if not isinstance(value, str):
        raise expected(REDIS_FORM)
    try:
        url = urlsplit(value)
        usable = url.scheme in ("redis", "rediss") and bool(url.hostname) and url.port != 0
    except ValueError:  # a port that is no number
        usable = False
    if not usable and not (value.startswith("unix://") and len(value) > len("unix://")):
        got = without_password(value)
        raise expected(f"got {got!r}, expected {REDIS_FORM}", secret=True)
    return value


def _checked_store_url(value: Any) -> Any:
    """Redis, or a folder of a file system by its URI."""
    if isinstance(value, Secret):
        return value
    if not isinstance(value, str):
        raise expected(STORE_FORM)
    scheme, separator, place = value.partition("://")
    if scheme in ("redis", "rediss", "unix"):
        return _checked_redis_url(value)
    if not separator or not re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme) or not place.strip("/"):
        raise expected(f"got {without_password(value)!r}, expected {STORE_FORM}", secret=True)
    return value


class SecretUrl(Secret[str]):
    """`str()` and `repr()` leave the password out; `get_secret_value()` has it."""

    def _display(self) -> str:
        return without_password(self.get_secret_value())


Brokers = Annotated[str, BeforeValidator(checked_brokers)]
RedisUrl = Annotated[SecretUrl, BeforeValidator(_checked_redis_url)]
StoreUrl = Annotated[SecretUrl, BeforeValidator(_checked_store_url)]
