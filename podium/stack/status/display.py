"""How the commands of the stack show things on a terminal."""

import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from podium.stack.run import ports
from podium.stack.run.folder import Record, StackFolder
from podium.stack.status.jobs import JobRow
from podium.stack.status.report import Report, Row
from podium.stack.status.zones import ZoneRow
from podium.terminal import note, printable, say

COLOURS = {"ready": "green", "starting": "yellow", "dead": "red"}
DEGRADED = "yellow"
LEFT = ("process", "state")


class Progress:
    """Called with a line at each step: one moving line on a terminal, plain lines elsewhere.

    To be ended before a result is written, since the moving line takes stdout over.
    """

    def __init__(self, moving: bool | None = None) -> None:
        self._status = None
        if sys.stderr.isatty() if moving is None else moving:
            self._status = Console(stderr=True, highlight=False).status("starting")
            self._status.start()

    def __call__(self, line: str) -> None:
        if self._status is None:
            note(line)
        else:
            self._status.update(line)

    def end(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def addresses(folder: StackFolder, record: Record) -> dict[str, Any]:
    """Where a started stack is to be found."""
    return {
        "folder": str(folder.path),
        "supervisor_pid": record.supervisor_pid,
        "brokers": f"{ports.HOST}:{record.ports['kafka']}",
        "redis_url": f"redis://{ports.HOST}:{record.ports['redis']}/0",
        "config": str(folder.settings_path),
        "logs": str(folder.path / "logs"),
        "workers": [process.name for process in record.processes if process.kind == "worker"],
    }


def show_addresses(told: dict[str, Any], default_folder: Path) -> None:
    usual = told["folder"] == str(default_folder.absolute())
    folder = "" if usual else f" --folder {told['folder']}"
    say(f"Kafka     {told['brokers']}")
    say(f"Redis     {told['redis_url']}")
    say(f"workers   {', '.join(told['workers']) or 'none'}")
    say(f"logs      {told['logs']}")
    say(f"settings  {told['config']}")
    say(f"next      podium status{folder} · podium doctor{folder} · podium down{folder}")


def show_report(report: Report) -> None:
    say(f"stack in {report.folder}: {report.state} (supervisor pid {report.supervisor_pid})")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("process", "pid", "port", "state", "uptime", "restarts", "memory"):
        table.add_column(heading, justify="left" if heading in LEFT else "right")
    for row in report.processes:
        table.add_row(*_cells(row))
    Console(highlight=False).print(table)
    for group, lag in report.lag.items():
        say(f"lag of {group}: {'nothing committed yet' if lag is None else f'{lag:,}'}")
    for base in report.bases:
        say(
            f"base of {base.collection}, shard {base.shard}: {base.subscriptions:,} subscriptions,"
            f" {base.behind:,} records behind, {duration(base.age_s)} old"
        )
    for zone in report.zones:
        say(_zone(zone))
    for layout in report.layouts:
        if layout.fits:
            say(layout.line)
    for job in report.jobs:
        say(_job(job))
    for collection, command in report.without_job.items():
        say(f"no Spark job runs for {collection}; start one: {command}")
    for row in report.processes:
        if row.state == "dead":
            note(f"podium: {row.name} is dead; read {row.log}")
        for part, reason in row.degraded.items():
            note(f"podium: {row.name} does without {part}: {printable(reason)}")


def _zone(row: ZoneRow) -> str:
    objects = "no objects yet" if row.objects is None else f"objects up to {row.objects:,}"
    lost = ", waits for its lists" if row.lost else ""
    since = f" for {duration(row.behind_s)}" if row.behind else ""
    told = f"{objects}, {row.behind:,} records behind{since}, said {duration(row.age_s)} ago"
    return f"zone {row.zone} of {row.collection}: {told}{lost}"


def _job(row: JobRow) -> str:
    who = f"pid {row.pid}, {row.address}" if row.pid else row.address
    name = f"job {row.job} of {row.collection}" if row.job else "job"
    if not row.answers:
        return f"{name} ({who}): does not answer"
    if row.batch_s is None:
        told = ["no batch yet"]
    else:
        told = [f"{row.rows_per_second or 0:,.0f} rows/s", f"last batch {row.batch_s:.1f} s"]
    if row.offsets_behind is not None:
        told.append(f"{row.offsets_behind:,} offsets behind")
    if row.base_age_s is not None:
        told.append(f"last base {duration(row.base_age_s)} old")
    return f"{name} ({who}): {', '.join(told)}"


def _cells(row: Row) -> list[str]:
    return [
        row.name,
        str(row.pid),
        "-" if row.port is None else str(row.port),
        _state(row),
        "-" if row.uptime_s is None else duration(row.uptime_s),
        str(row.restarts),
        "-" if row.memory_bytes is None else f"{row.memory_bytes / 1024**2:,.0f} MiB",
    ]


def _state(row: Row) -> str:
    if row.degraded:
        return f"[{DEGRADED}]{row.state}, degraded"
    return f"[{COLOURS[row.state]}]{row.state}"


def duration(seconds: float) -> str:
    """The two largest units: `9s`, `1m 15s`, `2h 03m`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes:02d}m"
    return f"{minutes}m {rest:02d}s" if minutes else f"{rest}s"
