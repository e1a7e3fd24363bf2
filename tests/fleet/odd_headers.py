"""Writes one record with a header whose name is not UTF-8, which most clients refuse to do.

AIOKAFKA_NO_EXTENSIONS=1 python -m tests.fleet.odd_headers BROKERS TOPIC PARTITION KEY VALUE
"""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from aiokafka import AIOKafkaProducer


class Odd(str):
    """aiokafka asks a name for its bytes."""

    def encode(self, *_: object) -> bytes:  # type: ignore[override]
        return b"\xff\xfe"


async def write(brokers: str, topic: str, partition: str, key: str, value: str) -> None:
    async with AIOKafkaProducer(bootstrap_servers=brokers) as producer:
        headers = [(Odd("x"), b"v")]
        place = {"partition": int(partition), "headers": headers}
        record = await producer.send_and_wait(topic, value.encode(), key.encode(), **place)
        print(record.offset)


def send_oddly(brokers: str, topic: str, partition: int, key: str, value: str) -> int:
    """The offset of the record; in a process of its own, without aiokafka's compiled parts."""
    arguments = [brokers, topic, str(partition), key, value]
    done = subprocess.run(
        [sys.executable, "-m", __name__, *arguments],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "AIOKAFKA_NO_EXTENSIONS": "1"},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return int(done.stdout)


if __name__ == "__main__":
    asyncio.run(write(*sys.argv[1:]))
