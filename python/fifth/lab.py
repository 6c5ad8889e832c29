"""Experiments of the laboratory: published tables beside what is measured here.

>>> from fifth import lab
>>> lab.run("jmachine/fig3", small=True, frame=False)  # doctest: +SKIP
[{..}, ..]

Experiments over simulated networks run in this process. Those that start programs are run by the command `fifth`, which
the package's wheel installs."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _fifth

__all__ = ["Experiment", "Report", "Table", "experiments", "report", "run"]


@dataclass(frozen=True)
class Experiment:
    """A published table or figure."""

    name: str
    title: str
    source: str
    about: str


@dataclass(frozen=True)
class Table:
    """A table: a dictionary for each row, by the heads of its columns. What is not there is None."""

    id: str
    title: str
    note: str
    rows: list[dict[str, Any]]


@dataclass(frozen=True)
class Report:
    """What an experiment gave."""

    name: str
    title: str
    source: str
    about: str
    notes: list[str]
    tables: list[Table]

    def table(self, id: str | None = None) -> Table:
        """The table of this id; without one, the first."""
        for table in self.tables:
            if id in (None, table.id):
                return table
        known = ", ".join(table.id for table in self.tables)
        raise KeyError(f"{self.name} has no table {id}; it has {known or 'none'}")


def experiments() -> list[Experiment]:
    """All experiments."""
    return [Experiment(*told) for told in _fifth.experiments()]


def report(name: str, small: bool = False) -> Report:
    """Runs an experiment: in this process, or by the command if it starts programs. `small`: runs of a moment, to see
    whether everything works; their figures mean little. ValueError: there is no such experiment. RuntimeError: it fails,
    or needs the command, and that is not there."""
    told = _fifth.run_experiment(name, small)
    if told is None:
        told = _by_command(name, small)
    return Report(**{**told, "tables": [Table(**table) for table in told["tables"]]})


def _command() -> str | None:
    """The command that was installed with this package, or else one that can be found."""
    for scheme in (None, "posix_user"):
        folder = sysconfig.get_path("scripts") if scheme is None else sysconfig.get_path("scripts", scheme)
        found = Path(folder, "fifth")
        if found.is_file():
            return str(found)
    return shutil.which("fifth")


def _by_command(name: str, small: bool) -> dict[str, Any]:
    command = _command()
    if command is None:
        raise RuntimeError(f"{name} runs programs in processes of their own: that needs the command, fifth lab run {name}")
    with tempfile.TemporaryDirectory() as folder:
        options = ["--scale", "small", "--runs", "1"] if small else []
        arguments = [command, "lab", "run", name, "--out", folder, *options]
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            _, said = process.communicate()
        except BaseException:
            process.terminate()
            process.wait()
            raise
        file = Path(folder, name, "report.json")
        if process.returncode != 0 or not file.is_file():
            raise RuntimeError(f"{name}: {said.strip() or f'the command ended with status {process.returncode}'}")
        return _fifth.read_report(file.read_text())


def run(name: str, table: str | None = None, small: bool = False, frame: bool | None = None) -> Any:
    """Runs an experiment (see `report`), and returns the rows of one of its tables (the first, if none is named): a
    DataFrame where pandas is there, else a list of dictionaries. `frame` asks for one or the other."""
    rows = report(name, small).table(table).rows
    if frame is False:
        return rows
    try:
        import pandas
    except ImportError:
        if frame:
            raise
        return rows
    return pandas.DataFrame(rows)
