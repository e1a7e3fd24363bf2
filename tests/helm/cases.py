"""Sets of values that between them use every switch of the chart.

The grid crosses collections with what changes their pods; the others each turn one thing.
"""

from itertools import product
from typing import Any

import yaml

from tests.helm.chart import CHART

Values = dict[str, Any]

RANKED = {"name": "ads", "kind": "ranked", "attributes": ["age", "visits"], "shards": 3}
REPLICATED = {"name": "quick", "kind": "ranked", "attributes": ["age"], "layout": "replicated"}
BOOLEAN = {"name": "jobs", "kind": "boolean"}
PLACED = {"name": "coupons", "kind": "spatial_text"}
LISTS = {"name": "parking", "kind": "range_topk", "zones": 3}
PAINTED_BY_SPARK = {"name": "taxis", "kind": "range_topk", "painter": "batch"}
GATEWAYS = {"name": "stocks", "kind": "range_topk", "deliver": "messages"}
# As long as names may be, and the same for most of it.
LONG = {"name": "a" * 60 + "-bc", "kind": "relaxed", "attributes": ["price"]}
LONGER = {"name": "a" * 60 + "-bd", "kind": "relaxed", "attributes": ["price"]}

COLLECTIONS = {
    "none": [],
    "matching": [RANKED, BOOLEAN, REPLICATED, PLACED],
    "lists": [LISTS, PAINTED_BY_SPARK, GATEWAYS],
    "long": [LONG, LONGER],
}

SASL = {
    "brokers": "kafka-0:9093,kafka-1:9094",
    "security": "sasl_ssl",
    "username": "podium",
    "password": {"existingSecret": "podium-kafka"},
    "ca": {"existingSecret": "kafka-ca"},
}
MTLS = {
    "brokers": "kafka:9093",
    "security": "ssl",
    "ca": {"existingSecret": "kafka-ca"},
    "client": {"existingSecret": "podium-client"},
}
WIRES: dict[str, Values] = {
    "plain": {},
    "sasl": {"kafka": SASL, "redis": {"existingSecret": "podium-redis", "port": 6380}},
}

SCALED = ("node", "router", "matcher", "merger", "zones")


def scaled_by(kind: str) -> Values:
    scaling = {"kind": kind, "minReplicas": 2, "maxReplicas": 50, "authenticationRef": "kafka"}
    return {name: {"autoscaling": scaling} for name in SCALED}


EXTRAS: Values = {
    "podAnnotations": {"team": "search"},
    "podLabels": {"team": "search"},
    "imagePullSecrets": [{"name": "pull"}],
    "image": {"digest": "sha256:" + "0" * 64},
    "serviceAccount": {"annotations": {"example.org/role": "podium"}},
    # The chart has variables of these names, too, and one comes twice.
    "extraEnv": [
        {"name": "HOME", "value": "/home"},
        {"name": "PODIUM_CONFIG", "value": "/other.yaml"},
        {"name": "NOTE", "value": "1"},
        {"name": "NOTE", "value": "2"},
    ],
    "extraVolumes": [{"name": "more", "emptyDir": {}}],
    "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
    "extraContainers": [
        {
            "name": "beside",
            "image": "beside:1",
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            },
        }
    ],
    "extraObjects": [
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}-of-text'}",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "of-yaml"}},
    ],
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "podium", "operator": "Exists"}],
    "affinity": {"podAntiAffinity": {}},
    "priorityClassName": "high",
    "router": {"extraEnv": [{"name": "NOTE", "value": "3"}], "podAnnotations": {"team": "routes"}},
}
MONITORED: Values = {
    "monitoring": {
        name: {"enabled": True} for name in ("podMonitor", "serviceMonitor", "rules", "dashboard")
    }
}
PODS: dict[str, Values] = {
    "asis": {},
    "hpa": scaled_by("hpa"),
    "keda": scaled_by("keda"),
    "extras": EXTRAS,
}

SPARK: dict[str, Values] = {
    "driver": {"spark": {"bases": ["ads"]}},
    "driver-uri": {
        "spark": {"bases": ["ads"], "store": {"existingSecret": "podium-bases"}},
        "settings": {"spark": {"checkpoints": "s3a://podium/spark"}},
    },
    "application": {
        "spark": {
            "bases": ["ads"],
            "mode": "application",
            "executors": {"serviceAccount": "spark"},
        },
        "settings": {"spark": {"checkpoints": "s3a://podium/spark"}},
    },
}
OTHERS: dict[str, Values] = {
    "mtls": {"kafka": MTLS},
    "monitored": MONITORED,
    "strimzi": {
        "topics": {
            "job": {"enabled": False},
            "strimzi": {"enabled": True, "cluster": "kafka", "user": "podium"},
        }
    },
    "bare": {
        "serviceAccount": {"create": False},
        "networkPolicy": {"enabled": False},
        "topics": {"job": {"enabled": False}},
        "router": {"podDisruptionBudget": {"enabled": False}},
    },
    "named": {"fullnameOverride": "podium-of-its-own", "nameOverride": "named"},
    "narrow": {
        "networkPolicy": {
            "metricsFrom": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
            "servicesAt": [{"ipBlock": {"cidr": "10.0.0.0/8"}}],
            "extraIngress": [{"ports": [{"port": 7078, "protocol": "TCP"}]}],
            "extraEgress": [{"ports": [{"port": 443, "protocol": "TCP"}]}],
        },
        "redis": {"url": "rediss://redis:7000/1"},
    },
    "overrides": {
        "matcher": {
            "replicas": 2,
            "overrides": {"ads": {"replicas": 3, "resources": {"limits": {"memory": "9Gi"}}}},
        }
    },
}


def values_files() -> dict[str, Values]:
    files = sorted((CHART / "values").glob("*.yaml"))
    return {file.stem: yaml.safe_load(file.read_text()) for file in files}


def all_cases() -> dict[str, Values]:
    """By a name that may be an alias of a chart."""
    cases: dict[str, Values] = {}
    for (these, some), (pods, of_pods), (wires, of_wires) in product(
        COLLECTIONS.items(), PODS.items(), WIRES.items()
    ):
        cases[f"{these}-{pods}-{wires}"] = {"collections": some, **of_pods, **of_wires}
    matching = {"collections": [RANKED, LISTS, PAINTED_BY_SPARK]}
    cases |= {f"spark-{name}": {**matching, **values} for name, values in SPARK.items()}
    cases |= {name: {**matching, **values} for name, values in OTHERS.items()}
    return cases | {f"file-{name}": values for name, values in values_files().items()}
