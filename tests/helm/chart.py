"""The chart as tests see it: many sets of values, rendered in one run of `helm`.

Each set is a chart of its own in an umbrella chart, under an alias, which is also how people embed
charts; so what is rendered here has gone through `global` and the schema as theirs does.
"""

import shutil
import subprocess
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).parents[2] / "helm" / "podium"
RELEASE, NAMESPACE = "live", "fleet"

Values = Mapping[str, Any]
Object = dict[str, Any]

NAMED = "app.kubernetes.io/name"
COMPONENT = "app.kubernetes.io/component"
COLLECTION = "podium/collection"


class HelmFailed(Exception):
    """`helm` said no; the message is what it said."""


def helm(program: Path, *arguments: str) -> str:
    run = subprocess.run(
        [str(program), *arguments], capture_output=True, text=True, check=False, timeout=300
    )
    if run.returncode != 0:
        raise HelmFailed(run.stderr)
    return run.stdout


def render(program: Path, values: Values | Path, folder: Path, *more: str) -> str:
    """What `helm template` prints of the chart by itself."""
    file = values if isinstance(values, Path) else folder / "values.yaml"
    if not isinstance(values, Path):
        file.write_text(yaml.safe_dump(dict(values)))
    command = ("template", RELEASE, str(CHART), "--namespace", NAMESPACE, "--values", str(file))
    return helm(program, *command, *more)


def umbrella(cases: Mapping[str, Values], folder: Path) -> Path:
    """A chart with ours once for each case, by the name of the case."""
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    used = [{"name": "podium", "version": about["version"], "alias": name} for name in cases]
    chart = {"apiVersion": "v2", "name": "umbrella", "version": "1.0.0", "dependencies": used}
    (folder / "charts").mkdir(parents=True)
    shutil.copytree(CHART, folder / "charts" / "podium")
    (folder / "Chart.yaml").write_text(yaml.safe_dump(chart))
    shared = {"global": {"imageRegistry": "unused"}}
    given = {name: {"enabled": True, **values} for name, values in cases.items()}
    (folder / "values.yaml").write_text(yaml.safe_dump({**shared, **given}))
    return folder


def render_all(program: Path, cases: Mapping[str, Values], folder: Path) -> str:
    chart = umbrella(cases, folder)
    return helm(program, "template", RELEASE, str(chart), "--namespace", NAMESPACE)


def objects(rendered: str) -> list[Object]:
    return [one for one in yaml.load_all(rendered, yaml.CSafeLoader) if one]


def by_case(rendered: str) -> dict[str, list[Object]]:
    """Objects of an umbrella, by the alias whose templates they are from."""
    found: dict[str, list[Object]] = defaultdict(list)
    for part in rendered.split("\n---\n"):
        _, _, source = part.partition("# Source: umbrella/charts/")
        found[source.split("/")[0]] += objects(part)
    return found


def of_kind(found: list[Object], *kinds: str) -> list[Object]:
    return [one for one in found if one["kind"] in kinds]


def label(one: Object, name: str) -> str | None:
    return one["metadata"].get("labels", {}).get(name)


def pods(found: list[Object]) -> list[tuple[str, Object]]:
    """Each object that makes pods, by its kind and name, and the pod that it makes."""
    made = []
    for one in found:
        name = f"{one['kind']}/{one['metadata']['name']}"
        if one["kind"] == "Pod":
            made.append((name, one))
        elif one["kind"] in ("Deployment", "StatefulSet", "Job"):
            made.append((name, one["spec"]["template"]))
    return made


def containers(pod: Object) -> list[Object]:
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


def main_container(pod: Object) -> Object:
    return pod["spec"]["containers"][0]


def variables(pod: Object) -> dict[str, Any]:
    return {one["name"]: one.get("value") for one in main_container(pod)["env"]}
