"""Experiments that run in the process."""

import importlib.util

import pytest

from fifth import lab


def test_experiments_are_listed():
    names = {experiment.name for experiment in lab.experiments()}
    assert {"jmachine/fig3", "networks/routing"} <= names
    assert all(experiment.title and experiment.source and experiment.about for experiment in lab.experiments())


def test_an_experiment_gives_rows():
    rows = lab.run("jmachine/fig3", small=True, frame=False)
    assert rows and all(row.keys() == rows[0].keys() for row in rows)
    assert any(isinstance(value, (int, float)) for value in rows[0].values())
    report = lab.report("jmachine/fig3", small=True)
    assert report.table().rows == rows and report.table(report.tables[-1].id) is report.tables[-1]
    with pytest.raises(KeyError, match="has no table nowhere"):
        report.table("nowhere")
    if importlib.util.find_spec("pandas"):
        assert list(lab.run("jmachine/fig3", small=True).columns) == list(rows[0])
    else:
        assert lab.run("jmachine/fig3", small=True) == rows
        with pytest.raises(ImportError):
            lab.run("jmachine/fig3", small=True, frame=True)


def test_what_does_not_run_here_says_so():
    with pytest.raises(ValueError, match="no experiment nowhere"):
        lab.run("nowhere")
    with pytest.raises(RuntimeError, match="fifth lab run"):
        lab.run("multipsi/table1", small=True)
