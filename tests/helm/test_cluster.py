"""A real API server takes what the chart renders: `make test-chart`."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from podium.stack.run import ports
from tests.helm.cases import COLLECTIONS, EXTRAS, LISTS, RANKED, SASL, scaled_by, values_files
from tests.helm.chart import CHART, HelmFailed, Object, objects, of_kind, pods, render
from tests.helm.cluster import Cluster, Refused, running
from tests.helm.conftest import program

pytestmark = pytest.mark.cluster

MATCHING = COLLECTIONS["matching"]
VALUES = {
    **values_files(),
    "extras": {"collections": [*MATCHING, LISTS], "kafka": SASL, **EXTRAS},
    "scaled": {"collections": MATCHING, **scaled_by("keda")},
    "monitored": {
        "collections": MATCHING,
        "monitoring": {name: {"enabled": True} for name in ("podMonitor", "rules", "dashboard")},
        "topics": {
            "job": {"enabled": False},
            "strimzi": {"enabled": True, "cluster": "kafka", "user": "podium"},
        },
    },
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    programs = {name: program(name) for name in ("etcd", "kube-apiserver")}
    folder = tmp_path_factory.mktemp("cluster")
    client, peer, api = ports.choose(3)
    with running(programs, folder, (client, peer, api)) as up:
        yield up


@pytest.fixture(params=["helm4", "helm3"])
def helm(request) -> Path:
    return program(request.param)


def written(folder: Path, values: dict) -> str:
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    return str(file)


def bare_pod(number: int, template: Object) -> Object:
    """The pod that a controller would make, which admission would then see."""
    about = template["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"bare-{number}", "labels": about.get("labels", {})},
        "spec": template["spec"],
    }


@pytest.mark.parametrize("name", sorted(VALUES))
def test_install_upgrade_and_rollback(cluster, helm, tmp_path, name):
    values = VALUES[name]
    changed = {**values, "prefix": "other", "router": {**values.get("router", {}), "replicas": 3}}
    before = written(tmp_path, values)
    cluster.helm(helm, "install", "live", str(CHART), "--no-hooks", "--values", before)
    try:
        after = written(tmp_path, changed)
        cluster.helm(helm, "upgrade", "live", str(CHART), "--no-hooks", "--values", after)
        cluster.helm(helm, "rollback", "live", "1", "--no-hooks")
        told = json.loads(cluster.helm(helm, "history", "live", "--output", "json"))
        assert [one["status"] for one in told][-1] == "deployed"
        assert len(told) == 3
        written(tmp_path, values)
        for one in of_kind(objects(render(helm, values, tmp_path)), "Deployment", "StatefulSet"):
            now = cluster.get(one["kind"], one["metadata"]["name"])
            # What nobody asks for is one; a scaler would say how many.
            assert now["spec"]["replicas"] == one["spec"].get("replicas", 1)
    finally:
        cluster.helm(helm, "uninstall", "live", "--no-hooks")
    assert [line for line in cluster.warnings if "PodSecurity" in line] == []


@pytest.mark.parametrize("name", sorted(VALUES))
def test_every_pod_is_admitted_to_a_restricted_namespace(cluster, tmp_path, name):
    """A Deployment that breaks the standard is let in with a warning; its pods are not."""
    helm = program("helm4")
    found = objects(render(helm, VALUES[name], tmp_path))
    accounts = of_kind(found, "ServiceAccount")
    for account in accounts:
        cluster.create(account)
    try:
        for number, (_, template) in enumerate(pods(found)):
            pod = cluster.create(bare_pod(number, template))
            here = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods"
            cluster.ask("DELETE", f"{here}/{pod['metadata']['name']}?gracePeriodSeconds=0")
    finally:
        for account in accounts:
            here = "/api/v1/namespaces/fleet/serviceaccounts"
            cluster.ask("DELETE", f"{here}/{account['metadata']['name']}")


def test_hooks_are_taken_too(cluster, tmp_path):
    hooks = [
        one
        for one in objects(render(program("helm4"), VALUES["production"], tmp_path))
        if "helm.sh/hook" in one["metadata"].get("annotations", {})
    ]
    assert {one["kind"] for one in hooks} > {"Job", "Pod", "ConfigMap"}
    for one in sorted(hooks, key=lambda one: one["kind"] in ("Job", "Pod")):
        if one["kind"] == "Pod":  # it needs what is not a hook; admitted above
            continue
        cluster.create(one)


class TestWhatTheServerWouldFind:
    """That the tests above can fail."""

    def test_a_plain_pod_is_not_admitted(self, cluster):
        pod = bare_pod(0, {"metadata": {}, "spec": {"containers": [{"name": "a", "image": "a"}]}})
        with pytest.raises(Refused, match="violates PodSecurity"):
            cluster.create(pod)

    def test_another_owner_of_replicas_is_a_conflict_unless_it_scales(self, cluster, tmp_path):
        """With a scaler the chart leaves `replicas` out; without one Helm 4 says who has it."""
        helm = program("helm4")
        for values, conflicts in (
            ({"collections": [RANKED]}, True),
            ({"collections": [RANKED], **scaled_by("hpa")}, False),
        ):
            file = written(tmp_path, values)
            cluster.helm(helm, "install", "owned", str(CHART), "--no-hooks", "--values", file)
            try:
                scale = "/apis/apps/v1/namespaces/fleet/deployments/owned-podium-ads-router/scale"
                now = cluster.ask("GET", scale)
                cluster.ask("PUT", f"{scale}?fieldManager=scaler", {**now, "spec": {"replicas": 7}})
                changed = {**values, "router": {**values.get("router", {}), "replicas": 5}}
                command = ("upgrade", "owned", str(CHART), "--no-hooks", "--values")
                if conflicts:
                    with pytest.raises(HelmFailed, match="conflict"):
                        cluster.helm(helm, *command, written(tmp_path, changed))
                else:
                    cluster.helm(helm, *command, written(tmp_path, changed))
                    assert (
                        cluster.get("Deployment", "owned-podium-ads-router")["spec"]["replicas"]
                        == 7
                    )
            finally:
                cluster.helm(helm, "uninstall", "owned", "--no-hooks")
