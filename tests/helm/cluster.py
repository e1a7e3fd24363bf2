"""A real etcd and kube-apiserver on loopback: no nodes, so nothing runs, but all is checked.

A namespace whose pods are held to the restricted standard, the account that a controller would
make, and a definition for each custom kind that lets any object of it in.
"""

import json
import os
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from podium.stack.run.ports import HOST
from tests.helm.chart import NAMESPACE, HelmFailed, Object

READY_S = 120.0
KINDS_OF_OTHERS = {
    "monitoring.coreos.com/v1": ("PodMonitor", "ServiceMonitor", "PrometheusRule"),
    "keda.sh/v1alpha1": ("ScaledObject",),
    "sparkoperator.k8s.io/v1beta2": ("SparkApplication",),
    "kafka.strimzi.io/v1": ("KafkaTopic", "KafkaUser"),
}


class Refused(Exception):
    """What the server said no to, and why."""


class Cluster:
    def __init__(self, folder: Path, port: int) -> None:
        self.address = f"https://{HOST}:{port}"
        self.kubeconfig = folder / "kubeconfig"
        self._context = ssl.create_default_context(cafile=folder / "ca.crt")
        self._context.load_cert_chain(folder / "admin.crt", folder / "admin.key")
        self.warnings: list[str] = []

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.address + path, data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=60, context=self._context) as reply:
                self.warnings += reply.headers.get_all("Warning", [])
                text = reply.read().decode()
        except urllib.error.HTTPError as error:
            raise Refused(f"{method} {path}: {error.code} {error.read().decode()}") from None
        return json.loads(text) if text.startswith("{") else text

    def create(self, one: Object) -> Object:
        """An object of a core kind, of a namespace unless it is one."""
        group = one["apiVersion"]
        root = f"/api/{group}" if group == "v1" else f"/apis/{group}"
        whole = one["kind"] in ("Namespace", "PriorityClass", "CustomResourceDefinition")
        place = root if whole else f"{root}/namespaces/{NAMESPACE}"
        return self.ask("POST", f"{place}/{plural(one['kind'])}", one)

    def get(self, kind: str, name: str) -> Object:
        return self.ask("GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/{plural(kind)}/{name}")

    def helm(self, program: Path, *arguments: str) -> str:
        command = [program, *arguments, "--namespace", NAMESPACE]
        environment = os.environ | {"KUBECONFIG": str(self.kubeconfig)}
        run = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        if run.returncode != 0:
            raise HelmFailed(run.stderr)
        self.warnings += [line for line in run.stderr.splitlines() if "would violate" in line]
        return run.stdout


def plural(kind: str) -> str:
    name = kind.lower()
    if name.endswith("y"):
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith("s") else f"{name}s"


@contextmanager
def running(
    programs: dict[str, Path], folder: Path, ports: tuple[int, int, int]
) -> Iterator[Cluster]:
    """Both servers, and a namespace to install into; the API server ends before its etcd."""
    client, peer, api = ports
    make_certificates(folder)
    etcd = f"http://{HOST}:{client}"
    peers = f"http://{HOST}:{peer}"
    store = [
        programs["etcd"], "--data-dir=etcd.data", f"--listen-client-urls={etcd}",
        f"--advertise-client-urls={etcd}", f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}", f"--initial-cluster=default={peers}",
        "--unsafe-no-fsync",
    ]  # fmt: skip
    server = [
        programs["kube-apiserver"], f"--etcd-servers={etcd}", f"--bind-address={HOST}",
        f"--secure-port={api}", f"--advertise-address={HOST}", "--endpoint-reconciler-type=none",
        "--service-cluster-ip-range=10.96.0.0/16", "--client-ca-file=ca.crt",
        "--tls-cert-file=server.crt", "--tls-private-key-file=server.key",
        "--service-account-key-file=sa.pub", "--service-account-signing-key-file=sa.key",
        "--service-account-issuer=https://kubernetes.default.svc", "--authorization-mode=RBAC",
    ]  # fmt: skip
    with started("etcd", store, folder), started("kube-apiserver", server, folder) as process:
        cluster = Cluster(folder, api)
        write_kubeconfig(cluster, folder)
        wait_until_ready(cluster, process, folder / "kube-apiserver.log")
        furnish(cluster)
        yield cluster


@contextmanager
def started(name: str, command: list[Any], folder: Path) -> Iterator[subprocess.Popen]:
    with (folder / f"{name}.log").open("w") as log:
        process = subprocess.Popen(
            [str(part) for part in command], cwd=folder, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_until_ready(cluster: Cluster, process: subprocess.Popen, log: Path) -> None:
    until = time.monotonic() + READY_S
    while time.monotonic() < until and process.poll() is None:
        try:
            if cluster.ask("GET", "/readyz") == "ok":
                return
        except (Refused, OSError):
            time.sleep(0.2)
    tail = "\n".join(log.read_text().splitlines()[-10:])
    raise AssertionError(f"the API server was not ready within {READY_S:.0f} s:\n{tail}")


def furnish(cluster: Cluster) -> None:
    enforced = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": NAMESPACE, "labels": enforced},
        }
    )
    cluster.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
    cluster.create(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "high"},
            "value": 1000,
        }
    )
    for group_version, kinds in KINDS_OF_OTHERS.items():
        for kind in kinds:
            cluster.create(definition(group_version, kind))
    until = time.monotonic() + READY_S
    for group_version, kinds in KINDS_OF_OTHERS.items():
        for kind in kinds:
            while not served(cluster, f"/apis/{group_version}/{plural(kind)}"):
                assert time.monotonic() < until, f"{kind} is not served"
                time.sleep(0.2)


def served(cluster: Cluster, path: str) -> bool:
    try:
        cluster.ask("GET", path)
    except Refused:
        return False
    return True


def definition(group_version: str, kind: str) -> Object:
    group, version = group_version.split("/")
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural(kind)}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural(kind), "singular": kind.lower()},
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }


def write_kubeconfig(cluster: Cluster, folder: Path) -> None:
    user = {"client-certificate": "admin.crt", "client-key": "admin.key"}
    server = {"server": cluster.address, "certificate-authority": "ca.crt"}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        "clusters": [{"name": "test", "cluster": server}],
        "users": [{"name": "admin", "user": user}],
    }
    (folder / "kubeconfig").write_text(yaml.safe_dump(config))


def make_certificates(folder: Path) -> None:
    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    key = ("-newkey", "rsa:2048", "-nodes")
    authority = ("-keyout", "ca.key", "-out", "ca.crt", "-days", "2", "-subj", "/CN=test-ca")
    openssl("req", "-x509", *key, *authority)
    for name, subject, extension in (
        (
            "server",
            "/CN=kube-apiserver",
            f"subjectAltName=IP:{HOST}\nextendedKeyUsage=serverAuth\n",
        ),
        ("admin", "/O=system:masters/CN=admin", "extendedKeyUsage=clientAuth\n"),
    ):
        (folder / f"{name}.ext").write_text(extension)
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", subject)
        signing = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2")
        files = ("-in", f"{name}.csr", "-out", f"{name}.crt", "-extfile", f"{name}.ext")
        openssl("x509", "-req", *signing, *files)
    openssl("genrsa", "-out", "sa.key", "2048")
    openssl("rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub")
