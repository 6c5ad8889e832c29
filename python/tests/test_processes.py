"""What a process may do to sessions: fork, end in the middle, open and close many, and be shut down with runs going on."""

import multiprocessing
import os
import resource
import subprocess
import sys

import pytest

import fifth
from conftest import TEXT


def script(code):
    head = f"import fifth, os, sys, threading\nprogram = fifth.Program(text={TEXT!r})\n"
    return subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True, timeout=100)


def test_a_child_of_a_fork_is_told(session):
    assert session.call("same", 1) == 1
    child = os.fork()
    if child == 0:
        code = 1
        try:
            session.call("same", 1)
        except fifth.ForkedError:
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert session.call("same", 2) == 2


def test_a_child_may_drop_what_it_inherits():
    ended = script(
        "s = program.session(workers=2); s.call('fib', 10)\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    del s\n"
        "    sys.exit(7)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), s.call('fib', 10))\n"
    )
    assert (ended.returncode, ended.stdout) == (0, "7 55\n"), ended.stderr


def square(x):
    return fifth.Program(text=":- module main. square(X, Y) :- true | Y := X * X.").square(x)


def test_processes_that_are_spawned_have_sessions_of_their_own():
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(square, [1, 2, 3]) == [1, 4, 9]


@pytest.mark.parametrize(
    "code",
    [
        "s = program.session(); c = s.begin('endless', 1, out=0)",
        "s = program.session(); g = s.stream('upto', 10**9); print(next(g))",
        "s = program.session(); put = s.sender(); c = s.begin('sum', put); put.send_all(range(100))",
        "s = program.session(args=['x'] * 100000); c = s.begin('main', out=0)",
        "s = program.session(); threading.Thread(target=lambda: s.call('endless', 1, out=0), daemon=True).start()",
        "c = program.session().begin('endless', 1, out=0); del c",
    ],
)
def test_an_interpreter_ends_while_calls_go_on(code):
    ended = script(code)
    assert ended.returncode == 0, ended.stderr


def test_a_thousand_sessions_take_no_memory_with_them(program):
    def open_and_close(count):
        for _ in range(count):
            with program.session(workers=1) as session:
                assert session.call("same", "text") == "text"
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    before = open_and_close(200)
    after = open_and_close(800)
    assert after < before + (32 << 20)
    assert len(os.listdir("/proc/self/fd")) < 100
