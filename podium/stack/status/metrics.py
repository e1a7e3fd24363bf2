"""What a process of ours serves at /metrics."""

import http.client
import urllib.request

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

ANSWER_S = 3.0


def samples_at(address: str, beginning: str) -> list[Sample] | None:
    """Every sample of the metrics whose names begin so; None if nobody answers there."""
    try:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=ANSWER_S) as reply:
            text = reply.read().decode()
    except (OSError, http.client.HTTPException):
        return None
    return [
        sample
        for family in text_string_to_metric_families(text)
        if family.name.startswith(beginning)
        for sample in family.samples
    ]
