"""Functions of Python, called from KL1."""

import subprocess
import sys
import threading
import time

import pytest

import fifth

TEXT = """
:- module main.
ask(F, Args, R) :- true | python:call(F, Args, R).
both(A, B, R) :- true | python:call(meet, [A], X), python:call(meet, [B], Y), R = {X,Y}.
late(R) :- true | python:call(double, [X], R), python:call(double, [4], Y), give(Y, X).
give(normal(Y), X) :- true | X = Y.
many(N, R) :- true | begin(N, L), collect(L, 0, R).
begin(0, L) :- true | L = [].
begin(N, L) :- N > 0 | python:call(double, [N], X), L = [X|L1], N1 := N - 1, begin(N1, L1).
collect([], S, R) :- true | R = S.
collect([normal(X)|L], S, R) :- true | S1 := S + X, collect(L, S1, R).
wrong(R) :- true | python:call(double, a, R).
"""


def raises(text):
    raise ZeroDivisionError(text)


meeting = threading.Barrier(2, timeout=60)


def meet(value):
    meeting.wait()
    return value


FUNCTIONS = {
    "double": lambda x: 2 * x,
    "nothing": lambda: None,
    "thread": lambda: threading.current_thread().name,
    "same": lambda *args: list(args),
    "raises": raises,
    "meet": meet,
    "odd": lambda: object(),
    "slow": lambda: time.sleep(1) or 1,
}


@pytest.fixture(scope="module")
def asks():
    return fifth.Program(text=TEXT, functions=FUNCTIONS)


def normal(value):
    return fifth.Term("normal", value)


def abnormal(kind, text):
    return fifth.Term("abnormal", fifth.Term("exception", kind, text))


def test_a_function_is_called_with_terms(asks):
    assert asks.ask(fifth.Atom("double"), [21]) == normal(42)
    assert asks.ask("double", [1 << 80]) == normal(1 << 81)
    terms = [1, 2.5, "text", fifth.Atom("a"), [1, [2]], (3,), fifth.Term("f", "x")]
    assert asks.ask("same", terms) == normal(terms)
    assert asks.ask("nothing", []) == normal([])


def test_what_it_raises_is_abnormal(asks):
    assert asks.ask("raises", ["why"]) == abnormal("ZeroDivisionError", "why")
    assert asks.ask("double", []).args[0].args[0] == "TypeError"
    assert asks.ask("odd", []).args[0].args[1].startswith("a object does not go into KL1")
    missing = asks.ask("print", ["x"])
    assert missing.args[0].args[0] == "LookupError" and "no function print" in missing.args[0].args[1]


def test_several_run_at_a_time_and_the_program_goes_on(asks):
    assert asks.both(1, 2) == (normal(1), normal(2))
    assert asks.late() == normal(16)
    assert asks.many(2000) == 2000 * 2001


def test_a_call_that_is_wrong_is_a_failure(asks):
    with pytest.raises(fifth.Failure, match="argument 2 must be a list"):
        asks.wrong()
    with pytest.raises(fifth.Failure, match="argument 1 must be a name"):
        asks.ask(1, [])
    with pytest.raises(fifth.Deadlock):
        asks.ask("double", [fifth.Var(0)])
    assert asks.ask("double", [1]) == normal(2)


def test_a_session_may_have_others(asks):
    with asks.session(functions={"double": lambda x: 3 * x}, workers=3) as session:
        assert session.call("ask", "double", [2]) == normal(6)
        assert session.call("ask", "same", []).args[0].args[0] == "LookupError"
    for wrong in ({1: print}, {"a": 1}):
        with pytest.raises(TypeError, match="functions has names"):
            asks.session(functions=wrong)


def test_an_end_does_not_wait_for_functions(asks):
    with asks.session() as session:
        with pytest.raises(TimeoutError):
            session.call("ask", "slow", [], timeout=0.1)
        # What it gives later is nothing to the next call.
        assert session.call("ask", "double", [5]) == normal(10)
    begun = asks.session()
    call = begun.begin("ask", "slow", [])
    begun.close()
    assert isinstance(call.wait(None, False), dict)


def test_sessions_with_functions_come_and_go(asks):
    for _ in range(50):
        with asks.session(workers=1) as session:
            assert session.call("ask", "double", [1]) == normal(2)


def test_the_interpreter_ends_behind_functions_that_run():
    script = (
        "import time, fifth\n"
        "slow = lambda: [time.sleep(0.001) for _ in range(300)] and print('done') or 1\n"
        "text = ':- module main. ask(R) :- true | python:call(slow, [], R).'\n"
        "session = fifth.Program(text=text, functions={'slow': slow}).session()\n"
        "calls = [session.begin('ask')]\n"
        "time.sleep(0.1)\n"
    )
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
        assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr
