"""Results as Markdown, with plots as SVG; the same figures always give the same bytes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

__all__ = ["STYLE", "Plot", "Section", "Table", "write"]

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "podium",  # element ids would be random otherwise
    "svg.fonttype": "none",  # text stays text
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "sans-serif"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
}
_MARKERS = "os^vDPX*"


@dataclass(frozen=True)
class Table:
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    prose: int = -1  # a column of words; all but the first column and this one are figures


@dataclass(frozen=True)
class Plot:
    name: str
    x_label: str
    y_label: str
    x: Sequence[float]
    lines: Mapping[str, Sequence[float]]
    log_x: bool = False
    log_y: bool = True


@dataclass(frozen=True)
class Section:
    """One experiment's results; `words` say what was run and what to see in it."""

    name: str
    title: str
    words: str
    tables: Sequence[Table]
    plots: Sequence[Plot] = field(default=())


def write(section: Section, machine: dict[str, str], out: Path) -> Path:
    """Write `<name>.md` and its plots; return the Markdown's path."""
    out.mkdir(parents=True, exist_ok=True)
    parts = [f"# {section.title}", section.words]
    for table in section.tables:
        parts += [part for part in (table.caption, _markdown(table)) if part]
    for plot in section.plots:
        _draw(plot, out / f"{plot.name}.svg")
        parts.append(f"![{plot.y_label} by {plot.x_label}]({plot.name}.svg)")
    parts.append("\n".join(f"- {key}: {value}" for key, value in machine.items()))
    path = out / f"{section.name}.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def _markdown(table: Table) -> str:
    columns = range(len(table.header))
    rule = ["---" if i in (0, table.prose) else "---:" for i in columns]
    lines = (table.header, rule, *table.rows)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _draw(plot: Plot, path: Path) -> None:
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 4.2), layout="constrained")
        axes = figure.subplots()
        for marker, (label, values) in zip(_MARKERS * 2, plot.lines.items(), strict=False):
            axes.plot(plot.x, values, label=label, marker=marker, markersize=4, linewidth=1.4)
        plain = FuncFormatter(lambda value, _: f"{value:,.6g}")
        if plot.log_x:
            axes.set_xscale("log")
        axes.set_xticks(plot.x, minor=False)
        axes.minorticks_off()
        axes.xaxis.set_major_formatter(plain)
        if plot.log_y:
            axes.set_yscale("log")
            axes.yaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(plain)
        axes.set_xlabel(plot.x_label)
        axes.set_ylabel(plot.y_label)
        figure.legend(loc="outside right upper", fontsize=8, frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
