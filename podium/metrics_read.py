"""What a process says at `/metrics`, sample by sample."""

import http.client

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample


def read_metrics(address: str, timeout_s: float, start: str = "podium_") -> list[Sample]:
    """Of the families whose names start so; `OSError` or `HTTPException` if nobody answers."""
    connection = http.client.HTTPConnection(address, timeout=timeout_s)
    try:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    finally:
        connection.close()
    return [
        sample
        for family in text_string_to_metric_families(text)
        if family.name.startswith(start)
        for sample in family.samples
    ]
