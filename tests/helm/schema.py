"""values.schema.json of the chart: `python -m tests.helm.schema` writes it anew.

What `settings` and `collections` may say is taken from the typed settings and collection files, so
that a misspelt key is refused by `helm install` in the same way as by a worker.
"""

import json
from pathlib import Path
from typing import Any

from configs.collection import NAME, Collection
from configs.kinds import KINDS
from configs.settings import Settings

CHART = Path(__file__).parents[2] / "helm" / "podium"
FILE = CHART / "values.schema.json"

# What the chart itself knows is not said in `settings` too.
SAID_BY_THE_CHART = {"prefix", "kafka", "redis", "http", "collections"}
SAID_BY_SECTION = {"matcher": {"instance_id"}, "spark": {"bases"}}

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
AT_LEAST_ONE: Schema = {"type": "integer", "minimum": 1}
PORT: Schema = {"type": "integer", "minimum": 1, "maximum": 65535}
ANY_OBJECT: Schema = {"type": "object"}  # of Kubernetes, which checks it itself
OBJECTS: Schema = {"type": "array", "items": {"type": "object"}}
TEXT_BY_NAME: Schema = {"type": "object", "additionalProperties": TEXT}
DIGEST: Schema = {"type": "string", "pattern": "^(sha256:[0-9a-f]+)?$"}
VARIABLES: Schema = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["name"],
        "additionalProperties": False,
        "properties": {"name": TEXT, "value": TEXT, "valueFrom": ANY_OBJECT},
    },
}


def one_of(*choices: str) -> Schema:
    return {"enum": list(choices)}


def keys(**properties: Schema) -> Schema:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def secret(**names: Schema) -> Schema:
    return keys(existingSecret=TEXT, **names)


def ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


POD_OPTIONS: dict[str, Schema] = {
    "resources": ANY_OBJECT,
    "terminationGracePeriodSeconds": {"type": "integer", "minimum": 30},
    "podAnnotations": TEXT_BY_NAME,
    "extraEnv": VARIABLES,
}
BUDGET = keys(enabled=FLAG, maxUnavailable={"type": ["integer", "string"]})
AUTOSCALING = keys(
    kind=one_of("none", "hpa", "keda"),
    minReplicas=AT_LEAST_ONE,
    maxReplicas=AT_LEAST_ONE,
    cpuPercent=AT_LEAST_ONE,
    lag=AT_LEAST_ONE,
    authenticationRef=TEXT,
)


def component(**more: Schema) -> Schema:
    options = {**POD_OPTIONS, **more}
    overrides = {"type": "object", "additionalProperties": keys(**options)}
    return keys(**options, overrides=overrides)


WORKER = component(replicas=COUNT, autoscaling=AUTOSCALING, podDisruptionBudget=BUDGET)
PAINTER = component(replicas=COUNT, podDisruptionBudget=BUDGET)
SPARK_OPTIONS = {
    "executors": keys(
        instances=AT_LEAST_ONE,
        cores=AT_LEAST_ONE,
        memory=TEXT,
        driverMemory=TEXT,
        serviceAccount=TEXT,
    ),
    "checkpoints": keys(size=TEXT, storageClass=TEXT),
}
MONITOR = keys(enabled=FLAG, interval=TEXT, labels=TEXT_BY_NAME)


def chart_values() -> Schema:
    """What `helm` checks values against; draft 7, which both majors read."""
    of_spark = component(**SPARK_OPTIONS)
    of_spark["properties"] |= {
        "bases": {"type": "array", "items": TEXT, "uniqueItems": True},
        "mode": one_of("deployment", "application"),
        "image": keys(repository=TEXT, tag=TEXT, digest=DIGEST),
        "store": secret(key=TEXT),
    }
    values = keys(
        # An umbrella chart hands these to every chart in it.
        **{"global": ANY_OBJECT, "enabled": FLAG},
        nameOverride=TEXT,
        fullnameOverride=TEXT,
        image=keys(
            repository={"type": "string", "minLength": 1},
            tag=TEXT,
            digest=DIGEST,
            pullPolicy=one_of("Always", "IfNotPresent", "Never"),
        ),
        imagePullSecrets={"type": "array", "items": keys(name=TEXT)},
        prefix=Settings.model_json_schema()["properties"]["prefix"],
        kafka=keys(
            brokers={"type": "string", "minLength": 1},
            security=one_of("plaintext", "ssl", "sasl_plaintext", "sasl_ssl"),
            saslMechanism=one_of("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
            username=TEXT,
            password=secret(key=TEXT),
            ca=secret(key=TEXT),
            client=secret(cert=TEXT, key=TEXT),
            replication=AT_LEAST_ONE,
            mostUnpackedMib={"type": "integer", "minimum": 64, "maximum": 2047},
        ),
        redis=keys(
            url=TEXT,
            existingSecret=TEXT,
            key=TEXT,
            port=PORT,
            timeoutSeconds={"type": "number", "exclusiveMinimum": 0},
        ),
        settings=ref("settings"),
        collections={"type": "array", "items": ref("collection")},
        serviceAccount=keys(create=FLAG, name=TEXT, annotations=TEXT_BY_NAME),
        podAnnotations=TEXT_BY_NAME,
        podLabels=TEXT_BY_NAME,
        extraEnv=VARIABLES,
        extraVolumes=OBJECTS,
        extraVolumeMounts=OBJECTS,
        extraContainers=OBJECTS,
        extraObjects={"type": "array", "items": {"type": ["object", "string"]}},
        nodeSelector=TEXT_BY_NAME,
        tolerations=OBJECTS,
        affinity=ANY_OBJECT,
        priorityClassName=TEXT,
        topologySpread=OBJECTS,
        podSecurityContext=ANY_OBJECT,
        securityContext=ANY_OBJECT,
        http=keys(port=PORT),
        networkPolicy=keys(
            enabled=FLAG,
            metricsFrom=OBJECTS,
            servicesAt=OBJECTS,
            extraIngress=OBJECTS,
            extraEgress=OBJECTS,
        ),
        topics=keys(
            job=keys(
                enabled=FLAG,
                backoffLimit=COUNT,
                activeDeadlineSeconds=AT_LEAST_ONE,
                resources=ANY_OBJECT,
            ),
            strimzi=keys(enabled=FLAG, apiVersion=TEXT, cluster=TEXT, namespace=TEXT, user=TEXT),
        ),
        monitoring=keys(
            podMonitor=MONITOR,
            serviceMonitor=MONITOR,
            rules=keys(enabled=FLAG, labels=TEXT_BY_NAME, runbookUrl=TEXT),
            dashboard=keys(enabled=FLAG, labels=TEXT_BY_NAME, annotations=TEXT_BY_NAME),
        ),
        **dict.fromkeys(("node", "router", "matcher", "merger", "zones"), ref("worker")),
        painter=PAINTER,
        spark=of_spark,
    )
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the chart podium",
        **values,
        "$defs": {"worker": WORKER, **definitions()},
    }


def definitions() -> dict[str, Schema]:
    settings = Settings.model_json_schema()
    collection = Collection.model_json_schema()
    defs = settings.pop("$defs") | collection.pop("$defs", {})
    for section, names in SAID_BY_SECTION.items():
        for name in names:
            del defs[section.capitalize()]["properties"][name]
    for name in SAID_BY_THE_CHART:
        del settings["properties"][name]
    fields = collection["properties"]
    fields["name"] |= {"pattern": f"^{NAME.pattern}$"}
    fields["kind"] |= {"enum": list(KINDS)}
    defs |= {"settings": settings, "collection": collection}
    used = reachable(defs, ["settings", "collection"])
    return {name: plain(defs[name]) for name in sorted(used)}


def reachable(defs: dict[str, Schema], names: list[str]) -> set[str]:
    found: set[str] = set()
    while names:
        name = names.pop()
        if name not in found:
            found.add(name)
            text = json.dumps(defs[name])
            names += [other for other in defs if f'"#/$defs/{other}"' in text]
    return found


def plain(schema: Any) -> Any:
    """Without titles, defaults and docstrings, which are told elsewhere."""
    if isinstance(schema, list):
        return [plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    told = ("title", "default", "description")
    return {
        name: {field: plain(value) for field, value in value.items()}
        if name == "properties"
        else plain(value)
        for name, value in schema.items()
        if name not in told
    }


def written() -> str:
    return json.dumps(chart_values(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(written(), encoding="utf-8")
