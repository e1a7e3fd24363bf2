import sys
from pathlib import Path

from tests.helm import go_tools
from tests.helm.chart import CHART, render

if __name__ == "__main__":
    here = Path(__file__).parent
    helm = go_tools.ensure(("helm4",), lambda line: print(line, file=sys.stderr))["helm4"]
    for file in sorted((CHART / "values").glob("*.yaml")):
        (here / file.name).write_text(render(helm, file, here))
