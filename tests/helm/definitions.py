"""Custom kinds as those define them who own them, from their modules in Go's registry.

Strimzi is none: it is written in Java, and its definitions are in no registry.
"""

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from podium.stack.setup import tools
from tests.helm.chart import Object

# By apiVersion: the module that defines the kinds, and the file of each.
OWNERS = {
    "monitoring.coreos.com/v1": (
        "github.com/prometheus-operator/prometheus-operator@v0.85.0",
        "example/prometheus-operator-crd/monitoring.coreos.com_{plural}.yaml",
    ),
    "keda.sh/v1alpha1": (
        "github.com/kedacore/keda/v2@v2.17.2",
        "config/crd/bases/keda.sh_{plural}.yaml",
    ),
    "sparkoperator.k8s.io/v1beta2": (
        "github.com/kubeflow/spark-operator/v2@v2.3.0",
        "config/crd/bases/sparkoperator.k8s.io_{plural}.yaml",
    ),
}


def problems(one: Object) -> list[str]:
    """What its owner would refuse or throw away."""
    schema = schema_of(one["apiVersion"], one["kind"])
    found = jsonschema.Draft202012Validator(schema).iter_errors(one)
    return [f"{'.'.join(map(str, each.absolute_path))}: {each.message}" for each in found]


@cache
def schema_of(api_version: str, kind: str) -> Any:
    module, pattern = OWNERS[api_version]
    file = folder_of(module) / pattern.format(plural=f"{kind.lower()}s")
    definition = yaml.load(file.read_text(), yaml.CSafeLoader)
    version = api_version.split("/")[1]
    (schema,) = (
        one["schema"]["openAPIV3Schema"]
        for one in definition["spec"]["versions"]
        if one["name"] == version
    )
    schema["properties"]["metadata"] = {"type": "object"}
    return strict(schema)


@cache
def folder_of(module: str) -> Path:
    """Fetched once into Go's cache of modules, and checked against its checksum database."""
    command = [tools.require("go"), "mod", "download", "-json", module]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    told = json.loads(run.stdout or "{}")
    assert "Dir" in told, f"`go mod download {module}` failed: {told.get('Error', run.stderr)}"
    return Path(told["Dir"])


def strict(schema: Any) -> Any:
    """A server drops fields that a definition does not name; here they are refused."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: strict(value) for name, value in schema.items()}
    if schema.get("x-kubernetes-int-or-string"):
        made.pop("type", None)
        made.pop("anyOf", None)
    closed = "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields")
    if closed and schema.get("type") == "object" and "additionalProperties" not in schema:
        made["additionalProperties"] = False
    return made
