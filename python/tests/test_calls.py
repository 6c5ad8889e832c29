"""Calls: what goes in and out, and what goes wrong."""

import asyncio
import io
import math
import signal
import threading
import time

import pytest

import fifth
from fifth import Atom, Term, Var


def test_attributes_are_predicates_of_main(program):
    assert program.fib(20) == 6765
    assert program.call("main:split", [1, -2, 3, 0], out=2) == ([1, 3], [-2, 0])
    assert program.call("nothing", out=0) is None


@pytest.mark.parametrize(
    "value",
    [
        0, -1, 2**60, -(2**63), 2**63, 2**1000, -(3**500), 0.5, math.inf, "", "text", "Grüße ☃", "a\0b",
        b"\xff\xfe".decode("utf-8", "surrogateescape"), [], [1, [2, []]], (), (1, (2,)), Atom("a b"), Atom(""),
        Term("f", 1, [Atom("x")]), [Var(0), Var(0)], [1.0, 2, "three"],
    ],
)
def test_values_come_back_as_they_went(session, value):
    back = session.call("same", value)
    assert back == value and type(back) is type(value)


def test_bools_and_bytes_become_atoms_and_strings(session):
    assert session.call("same", [True, False]) == [Atom("true"), Atom("false")]
    assert session.call("same", b"abc\xff") == "abc\udcff"
    assert session.call("same", [b"abc\xff"], raw=True) == [b"abc\xff"]
    assert math.isnan(session.call("same", math.nan))


def test_terms_match():
    match Term("point", 1, 2):
        case Term("point", (x, y)):
            assert (x, y) == (1, 2)
        case _:
            pytest.fail("it is a point")
    assert repr(Term("f", Atom("a"), [1])) == "Term('f', Atom('a'), [1])"
    assert hash(Term("f", 1)) == hash(Term("f", 1)) and Term("f", 1) != Term("f", 2) and Atom("a") != "a"


def test_terms_of_any_depth_go_both_ways(session):
    deep = []
    for _ in range(200_000):
        deep = [deep]
    back = session.call("same", deep)
    # Comparing them would recurse.
    for _ in range(200_000):
        (back,) = back
    assert back == []
    term = Atom("end")
    for _ in range(100_000):
        term = Term("f", 1, term)
    back = session.call("same", term)
    while back != Atom("end"):
        inner = back.args[1]
        back = inner


def test_a_structure_of_too_many_arguments_is_an_error(session):
    with pytest.raises(ValueError, match="at most 16777215 arguments, not 16777216"):
        session.call("same", Term("f", *range(1 << 24)))
    assert session.call("same", 1) == 1


def test_what_does_not_go_in_is_a_type_error(session):
    around = []
    around.append(around)
    with pytest.raises(ValueError, match="contains itself"):
        session.call("same", around)
    for value in ({}, {1}, object(), 1j):
        with pytest.raises(TypeError, match="does not go into KL1"):
            session.call("same", [value])
    with pytest.raises(TypeError, match="None"):
        session.call("same", None)
    assert session.call("same", 1) == 1


def test_what_is_wrong_with_a_text_is_data():
    with pytest.raises(fifth.CompileError) as caught:
        fifth.Program(text=":- module main.\np(X) :- true | q(X).\n", name="p.kl1")
    (error,) = [one for one in caught.value.diagnostics if one.severity == "error"]
    assert (error.code, error.file, error.line) == ("undefined-predicate", "p.kl1", 2)
    assert "p.kl1:2" in str(caught.value)
    with pytest.raises(fifth.CompileError, match="nowhere.kl1"):
        fifth.Program("nowhere.kl1")
    with pytest.raises(TypeError):
        fifth.Program()


def test_failures_say_where(session):
    with pytest.raises(fifth.Failure, match="no clause") as caught:
        session.call("only", Atom("two"))
    assert caught.value.kind == "ReductionFailure" and caught.value.goal.startswith("main:only(two")
    assert caught.value.line > 0 and caught.value.file == "text.kl1"
    with pytest.raises(fifth.Failure, match="no predicate main:absent/2"):
        session.call("absent", 1)
    with pytest.raises(fifth.Exit) as asked:
        session.call("leave", 3, out=0)
    assert asked.value.status == 3
    with pytest.raises(fifth.Deadlock) as stuck:
        session.call("stuck")
    assert stuck.value.count == 1 and stuck.value.goals[0].goal.startswith("main:never(")
    assert session.call("fib", 10) == 55


def test_the_heap_limit_ends_a_call_and_no_session(program):
    with program.session(workers=1, heap_limit=16 << 20) as session:
        with pytest.raises(fifth.HeapLimit):
            session.call("upto", 10_000_000)
        assert session.call("upto", 3) == [1, 2, 3]


def test_a_time_limit_ends_a_call(session):
    with pytest.raises(TimeoutError):
        session.call("endless", 1, out=0, timeout=0.05)
    assert session.call("same", 1) == 1


def test_ctrl_c_ends_a_call(session):
    threading.Timer(0.1, lambda: signal.raise_signal(signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        session.call("endless", 1, out=0)
    assert session.call("same", 1) == 1


def test_a_call_leaves_other_threads_the_interpreter(session):
    call = session.begin("endless", 1, out=0)
    ended = []
    waiter = threading.Thread(target=lambda: ended.append(call.wait(None, False)))
    waiter.start()
    # This thread runs: it sees what waits, and ends it.
    assert session.waiting() == []
    # Whether the session has begun to run it or not.
    session.interrupt()
    waiter.join(60)
    assert ended[0]["error"] == "Interrupted"


def test_sessions_run_side_by_side(program):
    sessions = [program.session(workers=1) for _ in range(20)]
    calls = [session.begin("fib", 15) for session in sessions]
    assert [call.wait(None, False) for call in calls] == [[610]] * 20
    for session in sessions:
        session.close()
    with pytest.raises(RuntimeError, match="closed"):
        sessions[0].call("fib", 1)


def test_definitions_add_modules(session):
    assert session.define(":- module more. triple(X, Y) :- true | Y := 3 * X.") == []
    assert session.call("more:triple", 5) == 15
    with pytest.raises(fifth.CompileError):
        session.define(":- module worse. p(X) :- true | q(X).")


def test_run_gives_arguments_and_takes_output(program, capsys, tmp_path):
    file = tmp_path / "p.kl1"
    from conftest import TEXT

    file.write_text(TEXT)
    out = io.StringIO()
    fifth.run(file, args=["eins", "zwei ☃"], stdout=out)
    assert out.getvalue() == "eins\nzwei ☃\n"
    fifth.run(file, args=["here"])
    assert capsys.readouterr().out == "here\n"


def test_an_output_that_fails_fails_the_program(program):
    class Full(io.StringIO):
        def write(self, _):
            raise OSError("it is full")

    with program.session(stdout=Full(), args=["x"]) as session:
        with pytest.raises(fifth.Failure, match="it is full"):
            session.call("main", out=0)


def test_asyncio_waits_without_blocking(session):
    async def work():
        call = asyncio.create_task(session.call_async("fib", 18))
        ticks = 0
        while not call.done():
            ticks += 1
            await asyncio.sleep(0.001)
        assert ticks > 0
        endless = asyncio.create_task(session.call_async("endless", 1, out=0))
        await asyncio.sleep(0.02)
        endless.cancel()
        with pytest.raises(asyncio.CancelledError):
            await endless
        return call.result()

    assert asyncio.run(work()) == 2584


def test_an_import_starts_nothing():
    begin = time.thread_time()
    assert threading.active_count() >= 1 and time.thread_time() >= begin
    import subprocess
    import sys

    code = "import fifth, os; print(len(os.listdir('/proc/self/task')))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "1\n"


def test_an_interrupt_of_a_call_that_waits_for_its_turn_spares_the_others(program):
    with program.session(workers=1) as session:
        runs = session.begin("endless", 0, out=0)
        second, third = session.begin("same", 1), session.begin("same", 2)
        second.interrupt()
        assert runs.wait(0.2, False) is None
        runs.interrupt()
        assert runs.wait(60, False)["error"] == "Interrupted"
        assert second.wait(60, False)["error"] == "Interrupted"
        assert third.wait(60, False) == [2]
