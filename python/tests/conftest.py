"""What the tests share: a program with a predicate for each thing that Python does with one."""

import signal

import pytest

import fifth

# A shell that starts the tests in the background has them ignore Ctrl-C, which some of them send.
signal.signal(signal.SIGINT, signal.default_int_handler)

TEXT = """
:- module main.
main :- true | unix:argv(A), unix:unix([stdout(normal(S))]), main:show(A, S).
show([], S) :- true | S = [].
show([A|R], S) :- true | S = [fwrite(A), nl|S1], show(R, S1).
fib(N, R) :- N < 2 | R = N.
otherwise.
fib(N, R) :- true | A := N - 1, B := N - 2, fib(A, X), fib(B, Y), R := X + Y.
same(X, Y) :- true | Y = X.
split(L, A, B) :- true | split1(L, A, B).
split1([], A, B) :- true | A = [], B = [].
split1([X|L], A, B) :- X > 0 | A = [X|A1], split1(L, A1, B).
split1([X|L], A, B) :- X =< 0 | B = [X|B1], split1(L, A, B1).
squares([], R) :- true | R = [].
squares([X|L], R) :- true | Y := X * X, R = [Y|R1], squares(L, R1).
upto(N, R) :- true | upto(1, N, R).
upto(I, N, R) :- I > N | R = [].
upto(I, N, R) :- I =< N | R = [I|R1], I1 := I + 1, upto(I1, N, R1).
total([], S, R) :- true | R = S.
total([X|L], S, R) :- true | S1 := S + X, total(L, S1, R).
sum(L, R) :- true | total(L, 0, R).
only(one, R) :- true | R = 1.
endless(X) :- true | endless(X).
never(X, Y, R) :- integer(X), integer(Y) | R := X + Y.
stuck(R) :- true | never(_, 1, R).
leave(N) :- true | unix:exit(N).
nothing.
"""


@pytest.fixture(scope="session")
def program():
    return fifth.Program(text=TEXT)


@pytest.fixture
def session(program):
    with program.session(workers=2) as session:
        yield session
