"""What Kubernetes, and people who look after clusters, think of what the chart renders."""

import functools
import json
import subprocess
from collections.abc import Iterator

import kubernetes_validate
import pytest
import yaml
from kubernetes_validate import utils

from tests.helm.chart import Object, containers, pods
from tests.helm.conftest import program
from tests.helm.definitions import OWNERS, problems

MINORS = ("1.31", "1.34", "1.37")
CUSTOM = ("monitoring.coreos.com", "keda.sh", "sparkoperator.k8s.io", "kafka.strimzi.io")

# Cases that between them have every kind of object in every form; the grid repeats them.
TELLING = (
    "matching-extras-sasl", "lists-hpa-sasl", "matching-keda-plain", "long-asis-plain", "mtls",
    "spark-driver", "spark-driver-uri", "spark-application", "narrow", "bare", "file-production",
    "file-tls",
)  # fmt: skip

# What kube-score wants and we do not: a CPU limit makes latency worse and saves nothing; an image
# is named by its digest or a tag that is not moved; spreading is by constraints, not anti-affinity.
NOT_WANTED = (
    "container-image-pull-policy", "deployment-has-host-podantiaffinity",
    "statefulset-has-host-podantiaffinity",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _schemas_are_read_once(monkeypatch):
    monkeypatch.setattr(utils, "schema_contents", _schema_contents)


_schema_contents = functools.cache(utils.schema_contents)


def telling(cases: dict[str, list[Object]]) -> Iterator[tuple[str, Object]]:
    for case in TELLING:
        for one in cases[case]:
            yield f"{case}: {one['kind']}/{one['metadata']['name']}", one


@pytest.mark.parametrize("minor", MINORS)
def test_every_object_is_what_that_kubernetes_expects(cases, minor):
    seen = set()
    for name, one in telling(cases):
        if one["apiVersion"].startswith(CUSTOM):
            continue
        shape = json.dumps({**one, "metadata": {**one["metadata"], "name": ""}}, sort_keys=True)
        if shape in seen:
            continue
        seen.add(shape)
        try:
            kubernetes_validate.validate(one, minor, strict=True)
        except kubernetes_validate.ValidationError as error:
            pytest.fail(f"{name}: {'.'.join(map(str, error.path))}: {error.message}")
    assert len(seen) > 50


def test_a_misspelt_field_is_found(cases):
    broken = json.loads(json.dumps(next(one for _, one in telling(cases) if one["kind"] == "Job")))
    broken["spec"]["template"]["spec"]["containers"][0]["imagee"] = "x"
    with pytest.raises(kubernetes_validate.ValidationError, match="imagee"):
        kubernetes_validate.validate(broken, MINORS[-1], strict=True)


def test_every_custom_object_is_what_its_owner_expects(cases):
    seen = set()
    for case in ("monitored", "matching-keda-sasl", "lists-keda-plain", "spark-application"):
        for one in cases[case]:
            if one["apiVersion"] in OWNERS:
                assert problems(one) == [], (case, one["kind"])
                seen.add(one["kind"])
    assert seen == {
        "PodMonitor", "ServiceMonitor", "PrometheusRule", "ScaledObject", "SparkApplication"
    }  # fmt: skip


def test_a_misspelt_field_of_a_custom_object_is_found(cases):
    (one,) = (one for one in cases["monitored"] if one["kind"] == "PodMonitor")
    broken = json.loads(json.dumps(one))
    broken["spec"]["podMetricsEndpoints"][0]["portt"] = "http"
    assert any("portt" in problem for problem in problems(broken))


def test_kube_score_has_nothing_to_say(cases, tmp_path):
    score = program("kube-score")
    file = tmp_path / "objects.yaml"
    known = [
        one
        for case in ("matching-asis-sasl", "lists-asis-plain", "spark-driver")
        for one in cases[case]
        if not one["apiVersion"].startswith(CUSTOM)
    ]
    file.write_text(yaml.safe_dump_all({json.dumps(one): one for one in known}.values()))
    ignored = [flag for check in NOT_WANTED for flag in ("--ignore-test", check)]
    run = subprocess.run(
        [str(score), "score", *ignored, "--ignore-container-cpu-limit", "-o", "json", str(file)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = json.loads(run.stdout)
    assert {"Deployment", "StatefulSet", "Job", "Pod"} <= {
        entry["type_meta"]["kind"] for entry in said
    }
    found = [
        f"{entry['object_name']}: {check['check']['id']}: {comment['summary']}"
        for entry in said
        for check in entry["checks"]
        if check["grade"] < 10 and not check["skipped"]
        for comment in check["comments"] or [{"summary": ""}]
    ]
    assert found == []


ALLOWED_VOLUMES = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim",
    "projected", "secret",
}  # fmt: skip


def breaches(pod: Object) -> list[str]:
    """Where a pod does not meet the restricted Pod Security Standard."""
    spec, found = pod["spec"], []
    of_pod = spec.get("securityContext", {})
    found += [name for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    for volume in spec.get("volumes", []):
        found += [f"volume {kind}" for kind in volume if kind not in ALLOWED_VOLUMES | {"name"}]
    for container in containers(pod):
        context = container.get("securityContext", {})
        effective = {**of_pod, **context}
        wrong = {
            "privileged": context.get("privileged", False),
            "allowPrivilegeEscalation": context.get("allowPrivilegeEscalation", True),
            "runAsNonRoot": not effective.get("runAsNonRoot", False),
            "runAsUser": effective.get("runAsUser") == 0,
            "seccompProfile": effective.get("seccompProfile", {}).get("type") != "RuntimeDefault",
            "capabilities": context.get("capabilities", {}) != {"drop": ["ALL"]},
            "hostPort": any("hostPort" in port for port in container.get("ports", [])),
        }
        found += [f"{container['name']}: {what}" for what, is_so in wrong.items() if is_so]
    return found


def test_every_pod_meets_the_restricted_standard(cases):
    checked = 0
    for case, found in cases.items():
        for name, pod in pods(found):
            assert breaches(pod) == [], (case, name)
            checked += 1
    assert checked > 100


@pytest.mark.parametrize(
    ("change", "breach"),
    [
        ({"hostNetwork": True}, "hostNetwork"),
        ({"securityContext": {}}, "runAsNonRoot"),
        ({"volumes": [{"name": "a", "hostPath": {"path": "/"}}]}, "volume hostPath"),
    ],
)
def test_a_breach_of_the_standard_is_found(cases, change, breach):
    _, pod = pods(cases["matching-asis-plain"])[0]
    broken = {**pod, "spec": {**pod["spec"], **change}}
    assert any(breach in one for one in breaches(broken))


def test_containers_leave_no_room_open(cases):
    """Read-only roots, and requests and limits of what may run out."""
    for case, found in cases.items():
        for name, pod in pods(found):
            for container in containers(pod):
                if container["name"] == "beside":
                    continue
                assert container["securityContext"]["readOnlyRootFilesystem"], (case, name)
                assert container["resources"]["requests"].keys() == {
                    "cpu", "memory", "ephemeral-storage"
                }, (case, name)  # fmt: skip
                assert {"memory", "ephemeral-storage"} <= container["resources"]["limits"].keys()
