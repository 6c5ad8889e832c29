"""Experiments that run in the process."""

import importlib.util
import subprocess
import sys

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


def test_what_does_not_run_says_so(monkeypatch):
    with pytest.raises(ValueError, match="no experiment nowhere"):
        lab.run("nowhere")
    monkeypatch.setattr(lab, "_command", lambda: None)
    with pytest.raises(RuntimeError, match="fifth lab run"):
        lab.run("multipsi/table1", small=True)
    monkeypatch.setattr(lab, "_command", lambda: "false")
    with pytest.raises(RuntimeError, match="ended with status 1"):
        lab.run("multipsi/table1", small=True)


@pytest.mark.skipif(lab._command() is None, reason="the command fifth is not installed: a wheel of python/wheel has it")
def test_the_command_runs_what_starts_programs():
    assert subprocess.run([lab._command(), "--version"], capture_output=True, text=True).stdout.startswith("fifth ")
    report = lab.report("tr448", small=True)
    assert report.name == "tr448" and {"puzzle3d", "kl1cmp", "triangle"} <= {row["program"] for row in report.table().rows}


def test_an_interrupt_ends_an_experiment(tmp_path):
    """Its threads, and processes of the command."""
    script = tmp_path / "long.py"
    script.write_text(
        "import os, signal, threading, time\n"
        "from fifth import lab\n"
        "threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        "    lab.run('jmachine/fig3')\n"
        "except KeyboardInterrupt:\n"
        "    pass\n"
        "names = lambda: [open(f'/proc/self/task/{t}/comm').read().strip() for t in os.listdir('/proc/self/task')]\n"
        "end = time.monotonic() + 120\n"
        "while 'fifth-lab' in names() and time.monotonic() < end: time.sleep(0.05)\n"
        "print('over' if 'fifth-lab' not in names() else 'runs')\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert done.stdout == "over\n", done.stderr
