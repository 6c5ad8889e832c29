"""Cells of a notebook: clauses, goals, commands, pictures, completion, interrupt; the kernel under Jupyter; the magic; and
the notebooks of examples/notebooks."""

import os
import signal
import subprocess
import sys
import threading
import xml.etree.ElementTree as tree
from pathlib import Path

import pytest

from fifth import notebook, pictures

NOTEBOOKS = Path(__file__).resolve().parents[2] / "examples" / "notebooks"


class Cells:
    def __init__(self, **settings):
        self.shown = []
        self.notebook = notebook.Notebook(lambda *told: self.shown.append(told), **settings)

    def run(self, cell):
        """Whether it is right, and what it shows, by kind."""
        self.shown.clear()
        right = self.notebook.run(cell)
        return right, {kind: "".join(text for other, text in self.shown if other == kind) for kind, _ in self.shown}


@pytest.fixture
def cells():
    cells = Cells(workers=1)
    yield cells
    cells.notebook.close()


def test_a_cell_has_clauses_and_goals(cells):
    cell = """
    % Doubles.
    double(X, Y) :- true | Y := 2 * X.
    /* and asks */
    ?- double(21, R).
    double(4, R).
    1 + 2.
    """
    assert cells.run(cell) == (True, {"binding": "R = 42\nR = 8\n3\n"})
    assert cells.run("% nothing\n") == (True, {})
    assert cells.run("") == (True, {})


def test_clauses_replace_those_of_earlier_cells(cells):
    cells.run("p(X) :- true | X = 1.")
    assert cells.run("p(X).")[1]["binding"] == "X = 1\n"
    cells.run("p(X) :- true | X = 2.")
    assert cells.run("p(X).")[1]["binding"] == "X = 2\n"
    # Of one cell they belong together.
    cells.run("q(1, X) :- true | X = one.\nq(2, X) :- true | X = two.")
    assert cells.run("q(1, X), q(2, Y).")[1]["binding"] in ("X = one\nY = two\n", "Y = two\nX = one\n")


def test_a_cell_of_modules_may_be_run_again(cells):
    cell = ":- module shapes.\narea(S, A) :- true | A := S * S.\n"
    assert cells.run(cell)[0]
    assert cells.run("shapes:area(3, A).")[1] == {"binding": "A = 9\n"}
    assert cells.run(cell.replace("S * S", "S * S * 2"))[0]
    assert cells.run("area(3, A).")[1]["binding"] == "A = 18\n"


def test_what_is_wrong_ends_the_cell(cells):
    right, shown = cells.run("?- X := 1.\n?- 1 = 2.\n?- X := 3.")
    assert not right and "X = 1" in shown["binding"] and "X = 3" not in shown["binding"] and shown["error"]
    right, shown = cells.run("p(X :- true | true.")
    assert not right and "[" in shown["error"]
    right, shown = cells.run("?- 1 = 2.")
    assert not right and "unification failure" in shown["error"]
    assert cells.run(":nothing") == (False, {"error": "error: there is no command :nothing; :help lists them\n"})
    assert not cells.run(":trace")[0] and not cells.run(":forget p/7")[0] and not cells.run(":load nowhere.kl1")[0]
    # It goes on.
    assert cells.run("1 + 1.") == (True, {"binding": "2\n"})
    right, shown = cells.run("?- unix:exit(3).")
    assert "status 3" in shown["note"] and cells.run("1 + 1.")[0]


def test_output_is_shown(cells):
    assert cells.run('?- io:outstream([puts("héllo"),nl]).') == (True, {"stdout": "héllo\n"})
    right, shown = cells.run(
        "many(0, S) :- true | S = [].\nmany(N, S) :- N > 0 | S = [puts(\"0123456789\")|R], M := N - 1, many(M, R).\n"
        "?- many(200000, S), io:outstream(S).\n"
    )
    assert right and len(shown["stdout"]) == 2_000_000


def test_commands(cells):
    cells.run("p(1).\np(2) :- true | true.")
    cells.run("q(X) :- true | X = 1.")
    assert "q(X)" in cells.run(":list")[1]["note"]
    assert cells.run(":forget q/1") == (True, {})
    assert "q(X)" not in cells.run(":list")[1]["note"]
    assert cells.run(":clear")[0] and cells.run(":list")[1].get("note", "") == ""
    assert ":trace" in cells.run(":help")[1]["note"]


def test_a_trace_is_a_time_line(cells):
    cells.run("count(0) :- true | true.\ncount(N) :- N > 0 | M := N - 1, count(M).")
    right, shown = cells.run(":trace count(1000000).")
    svg = tree.fromstring(shown["svg"])
    texts = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert right and "worker 0" in texts and any(text.endswith(" ms") for text in texts)
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}rect"))) > 1


def test_a_network_is_a_picture_of_goals_that_wait(cells):
    cells.run("sift(_, [], Y) :- true | Y = [].\nsift(P, [X|L], Y) :- true | Y = [X|M], sift(P, L, M).")
    right, shown = cells.run(":network sift(2, A, B), sift(3, B, C).")
    assert not right
    svg = tree.fromstring(shown["svg"])
    texts = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert sum("sift(" in text for text in texts) == 2
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}line"))) == 1
    # Nothing of an earlier query is left.
    right, shown = cells.run(":network true.")
    assert right and "no goal waits" in shown["svg"]


def test_a_picture_is_bounded_and_escaped():
    goal = {"goal": "p(<&\">)", "waits_for": ["_1"], "outside": [], "file": "a<b.kl1", "line": 1, "holder": None}
    ring = [dict(goal, holder=1), dict(goal, holder=0), dict(goal, holder=7)]
    assert len(list(tree.fromstring(pictures.network(ring)).iter("{http://www.w3.org/2000/svg}line"))) == 2
    svg = tree.fromstring(pictures.network([goal] * 1000))
    texts = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert sum("p(<&" in text for text in texts) == pictures.BOXES_MAX and "and 800 more" in texts
    assert "nothing was run" in pictures.timeline(b'{"traceEvents":[]}')


def test_completion_and_ends(cells):
    cells.run("frobnicate(X) :- true | X = 1.")
    assert cells.notebook.complete("?- frob") == ("frob", ["frobnicate"])
    begin, names = cells.notebook.complete("?- list:app")
    assert begin == "list:app" and all(name.startswith(begin) for name in names)
    assert ":trace" in cells.notebook.complete(":tr")[1]
    assert cells.notebook.complete("")[1] == []
    assert notebook.is_complete("p(X) :- true | true.") and notebook.is_complete(":list") and notebook.is_complete("")
    assert not notebook.is_complete("p(X) :- true |") and not notebook.is_complete("p(1).\nq(")
    assert not notebook.is_complete('p("a.')


LOOP = "loop(N) :- true | M := N + 1, loop(M).\nwait(X) :- integer(X) | true.\n"


def test_interrupts_end_a_query(cells):
    cells.run(LOOP)
    # The query may not have begun when the first one comes.
    done = threading.Event()

    def interrupt():
        while not done.wait(0.05):
            cells.notebook.interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    right, shown = cells.run("?- loop(0).")
    done.set()
    thread.join()
    assert not right and "interrupted" in shown["error"]
    assert cells.run("1 + 1.")[0]


def test_ctrl_c_ends_a_query(cells):
    cells.run(LOOP)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        cells.run("?- loop(0).")
    assert "interrupted" in dict(cells.shown)["error"]
    assert cells.run("1 + 1.")[0]


def test_an_exception_of_the_one_who_shows_is_raised():
    def show(kind, text):
        raise ValueError(kind)

    cells = notebook.Notebook(show, workers=1)
    with pytest.raises(ValueError, match="binding"):
        cells.run("1 + 1.")
    cells.close()


def test_a_process_ends_with_a_query_that_runs():
    code = (
        "import threading, time\nfrom fifth import notebook\n"
        "cells = notebook.Notebook(lambda *told: None, workers=1)\n"
        f"cells.run({LOOP!r})\n"
        "threading.Thread(target=cells.run, args=('?- loop(0).',), daemon=True).start()\ntime.sleep(0.3)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")


# ---- under Jupyter ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory):
    """A place where the kernel is installed, and Jupyter looks."""
    for package in ("ipykernel", "nbclient", "nbformat"):
        pytest.importorskip(package, reason=f"{package} is not installed: pip install ipykernel nbclient nbformat")
    prefix = tmp_path_factory.mktemp("jupyter")
    subprocess.run([sys.executable, "-m", "fifth.kernel", "install", "--prefix", str(prefix)], check=True, timeout=100)
    before = os.environ.get("JUPYTER_PATH")
    os.environ["JUPYTER_PATH"] = str(prefix / "share" / "jupyter")
    yield prefix
    os.environ.pop("JUPYTER_PATH")
    if before is not None:
        os.environ["JUPYTER_PATH"] = before


def execute(cells, kernel, **options):
    import nbformat
    from nbclient import NotebookClient

    page = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(page, kernel_name=kernel, timeout=300, **options).execute()
    return [cell.outputs for cell in page.cells]


def text_of(outputs):
    return "".join(output.get("text", "") for output in outputs)


def test_the_kernel_runs_cells(jupyter):
    outputs = execute(
        [
            "double(X, Y) :- true | Y := 2 * X.\n?- double(21, R).",
            '?- io:outstream([puts("hello"),nl]).',
            ":trace double(1, R).",
            "?- 1 = 2.",
            "double(4, R).",
        ],
        "kl1",
        allow_errors=True,
    )
    assert text_of(outputs[0]) == "R = 42\n" and text_of(outputs[1]) == "hello\n"
    pictures = [output for output in outputs[2] if output.output_type == "display_data"]
    assert len(pictures) == 1 and pictures[0].data["image/svg+xml"].startswith("<svg")
    assert outputs[3][-1].output_type == "error" and text_of(outputs[4]) == "R = 8\n"


def test_the_kernel_is_interrupted_completes_and_goes_on(jupyter):
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="kl1", startup_timeout=100)
    try:
        client.execute_interactive(LOOP, timeout=100)
        assert client.complete("loo", reply=True, timeout=100)["content"]["matches"] == ["loop"]
        client.is_complete("p(X) :-")
        assert client.get_shell_msg(timeout=100)["content"]["status"] == "incomplete"
        client.execute("?- loop(0).")
        while client.get_iopub_msg(timeout=100)["msg_type"] != "execute_input":
            pass
        manager.interrupt_kernel()
        assert client.get_shell_msg(timeout=100)["content"]["status"] in ("abort", "error")
        assert client.execute_interactive("1 + 1.", timeout=100)["content"]["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_the_magic_runs_cells_in_notebooks_of_python(jupyter):
    outputs = execute(
        ["%load_ext fifth.magic", "%%kl1\ndouble(X, Y) :- true | Y := 2 * X.\n?- double(21, R).", "%kl1 :trace double(1, R)."],
        "python3",
    )
    assert text_of(outputs[1]) == "R = 42\n"
    assert any("image/svg+xml" in output.get("data", {}) for output in outputs[2])


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_notebooks_of_the_examples_run(jupyter, path):
    import nbformat
    from nbclient import NotebookClient

    page = nbformat.read(path, as_version=4)
    NotebookClient(page, timeout=300, resources={"metadata": {"path": str(path.parent)}}).execute()
    kept = nbformat.read(path, as_version=4)
    for cell, before in zip(page.cells, kept.cells):
        if cell.cell_type == "code":
            # In which order bindings come depends on the workers.
            kinds = [{output.output_type for output in outputs} for outputs in (cell.outputs, before.outputs)]
            assert kinds[0] == kinds[1], cell.source


def test_there_are_three_notebooks():
    assert len(list(NOTEBOOKS.glob("*.ipynb"))) == 3
