"""Experiments of the laboratory: published tables beside what is measured here.

>>> from fifth import lab
>>> lab.run("jmachine/fig3", small=True, frame=False)  # doctest: +SKIP
[{..}, ..]

What runs in this process are experiments over simulated networks. Those that start programs need the command:
`fifth lab run NAME`."""

from __future__ import annotations

from dataclasses import dataclass
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
    """Runs an experiment in this process. `small`: runs of a moment, to see whether everything works; their figures mean
    little. ValueError: there is no such experiment. RuntimeError: it needs the command, or fails."""
    told = _fifth.run_experiment(name, small)
    return Report(**{**told, "tables": [Table(**table) for table in told["tables"]]})


def run(name: str, table: str | None = None, small: bool = False, frame: bool | None = None) -> Any:
    """Runs an experiment in this process, and returns the rows of one of its tables (the first, if none is named): a
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
