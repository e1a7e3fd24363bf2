"""What the image is made of, and that its steps make it, in a folder instead of an image."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.helm.chart import CHART
from tests.image.dockerfile import ROOT, sent_to_the_builder, stages

FILE = ROOT / "Dockerfile"
STAGES = stages(FILE.read_text())
IN_THE_IMAGE = "/opt/podium"
PIN = re.compile(r"^([\w.-]+)==([^\s\\;]+)", re.MULTILINE)


def pins(name: str) -> dict[str, str]:
    return dict(PIN.findall((ROOT / name).read_text()))


def tracked() -> list[str]:
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    return subprocess.run(
        listed, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()


def test_hadolint_has_nothing_to_say():
    hadolint = Path(sys.executable).with_name("hadolint")
    run = subprocess.run([hadolint, FILE], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "")


def test_the_last_stage_is_that_of_the_roles():
    assert list(STAGES)[-1] == "podium"
    assert STAGES["podium"].base == STAGES["spark"].base == "roles"


@pytest.mark.parametrize("name", ["podium", "spark"])
def test_an_image_runs_as_a_number_that_is_not_root(name):
    user, group = STAGES[name].all("USER")[-1].split(":")
    assert int(user) > 10_000
    assert int(group) > 10_000
    context = yaml.safe_load((CHART / "values.yaml").read_text())["podSecurityContext"]
    assert (context["runAsUser"], context["runAsGroup"]) == (int(user), int(group))
    assert f"--uid {user}" in " ".join(STAGES["roles"].all("RUN"))


def test_podium_is_what_an_image_runs():
    assert STAGES["roles"].all("ENTRYPOINT") == ['["podium"]']
    assert STAGES["podium"].all("ENTRYPOINT") == []


def test_java_is_in_the_image_of_spark_alone():
    assert "openjdk" in " ".join(STAGES["spark"].all("RUN"))
    for name in ("roles", "podium"):
        assert "apt-get" not in " ".join(STAGES[name].all("RUN"))
    assert "pyspark" not in pins("image/podium.lock")


def test_nothing_that_builds_is_in_a_final_stage():
    steps = " ".join(STAGES["roles"].all("RUN") + STAGES["spark"].all("RUN"))
    assert "pip uninstall" in steps
    assert not re.search(r"\b(gcc|maven|build-essential|pip install)\b", steps)
    assert "--without-pip" in " ".join(STAGES["build"].all("RUN"))


def test_kernels_are_compiled_for_what_they_run_on():
    """numba takes a kernel from its cache only if processor and folder are those of the build."""
    built, run = STAGES["build"].variables(), STAGES["roles"].variables()
    for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_CACHE_DIR"):
        assert built[name] == run[name], name
    pod = (CHART / "templates" / "_pod.tpl").read_text()
    assert f"cp, -a, {run['NUMBA_CACHE_DIR']}/., /var/cache/podium/" in pod


def test_labels_say_what_it_is():
    labels = " ".join(STAGES["roles"].all("LABEL"))
    for name in ("title", "licenses", "version", "revision"):
        assert f"org.opencontainers.image.{name}=" in labels
    (project,) = re.findall(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.M)
    assert STAGES["roles"].variables()["VERSION"] == project
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert about["appVersion"] == project


def test_only_what_the_image_is_made_of_is_sent_to_the_builder():
    sent = sent_to_the_builder((ROOT / ".dockerignore").read_text(), tracked())
    assert {file.split("/")[0] for file in sent} == {
        "image", "podium", "workers", "spark_streaming", "topics", "storage", "indexes", "configs",
        "requirements.lock",
    }  # fmt: skip
    copied = [text.split() for name in ("build",) for text in STAGES[name].all("COPY")]
    for *sources, _ in copied:
        assert all(source == "." or source in sent for source in sources)


@pytest.mark.parametrize("name", ["podium", "spark"])
def test_locks_of_the_image_have_the_versions_that_were_tested(name):
    tested, own = pins("requirements.lock"), pins(f"image/{name}.lock")
    assert own.items() <= tested.items()
    assert {"faust-streaming", "numba", "confluent-kafka"} <= own.keys()
    assert not {"pytest", "hypothesis", "ruff"} & own.keys()


@pytest.mark.parametrize("name", ["podium", "spark"])
def test_the_list_of_parts_has_every_package_of_the_lock(tmp_path, name):
    out = tmp_path / "sbom.json"
    program = Path(sys.executable).with_name("cyclonedx-py")
    options = ["--pyproject", ROOT / "pyproject.toml", "-o", out, ROOT / "image" / f"{name}.lock"]
    subprocess.run([program, "requirements", *options], capture_output=True, check=True)
    listed = json.loads(out.read_text())
    assert listed["bomFormat"] == "CycloneDX"
    parts = {part["name"]: part["version"] for part in listed["components"]}
    assert parts.items() >= pins(f"image/{name}.lock").items()


class TestStepsInAFolder:
    """`RUN` after `RUN` of the stage that everything comes from; minutes, as kernels compile."""

    @pytest.fixture(scope="class")
    def made(self, tmp_path_factory) -> Path:
        folder = tmp_path_factory.mktemp("image")
        source, root, home = folder / "src", folder / "podium", folder / "home"
        for file in sent_to_the_builder((ROOT / ".dockerignore").read_text(), tracked()):
            (source / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, source / file)
        home.mkdir()
        for step in STAGES["build"].all("RUN"):
            step = step.replace(IN_THE_IMAGE, str(root))
            subprocess.run(
                ["sh", "-ec", step], cwd=source, env=self.environment(root, home), check=True
            )
        return folder

    def environment(self, root: Path, home: Path, **more: str) -> dict[str, str]:
        declared = {
            name: value.replace(IN_THE_IMAGE, str(root))
            for name, value in STAGES["build"].variables().items()
        }
        pythons = home / "bin"
        if not pythons.exists():
            pythons.mkdir()
            (pythons / "python").symlink_to(sys._base_executable)  # type: ignore[attr-defined]
        path = f"{pythons}:{os.environ['PATH']}"
        network = {name: os.environ[name] for name in os.environ if "PROXY" in name.upper()}
        return {**network, **declared, "PATH": path, "HOME": str(home), **more}

    def run(self, made: Path, *command: str, **more: str) -> subprocess.CompletedProcess:
        environment = self.environment(made / "podium", made / "home", **more)
        return subprocess.run(
            [made / "podium" / "bin" / command[0], *command[1:]],
            cwd=made / "home", env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    @pytest.mark.long
    @pytest.mark.timeout(3600)
    def test_the_command_runs_and_nothing_builds(self, made):
        shown = self.run(made, "podium", "worker", "--help")
        assert shown.returncode == 0, shown.stderr
        assert "matcher" in shown.stdout
        for tool in ("pip", "setuptools", "pyspark"):
            assert self.run(made, "python", "-c", f"import {tool}").returncode == 1

    @pytest.mark.long
    @pytest.mark.timeout(3600)
    def test_kernels_are_taken_from_a_copy_of_the_cache(self, made):
        """As the chart does it, since numba takes no cache that it may not write to."""
        copy = made / "copy"
        shutil.copytree(made / "podium" / "kernels", copy)
        before = {file: file.stat().st_mtime_ns for file in copy.rglob("*.nb[ci]")}
        assert len(before) > 100
        warm = "from workers.warm_up import warm_up_kinds; warm_up_kinds(['ranked'])"
        done = self.run(made, "python", "-c", warm, NUMBA_CACHE_DIR=str(copy))
        assert done.returncode == 0, done.stderr
        assert {file: file.stat().st_mtime_ns for file in copy.rglob("*.nb[ci]")} == before
