"""Fifth: KL1 programs, called from Python.

>>> import fifth
>>> program = fifth.Program(text=":- module main. double(X, Y) :- true | Y := 2 * X.")
>>> program.double(21)
42

What goes in and out: integers of any size, floats, strings (`str`; bytes that are no UTF-8 become surrogate escapes),
lists, vectors (`tuple`), atoms (`Atom`; `True` and `False` go in as `true` and `false`), structures (`Term`), and
variables without a value (`Var`). An array of KL1 is a `SharedArray`, whose memory NumPy sees without a copy.
"""

from __future__ import annotations

import asyncio
import atexit
import codecs
import copyreg
import os
import sys
from dataclasses import dataclass, field
from typing import Any, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence

from . import _fifth
from ._fifth import Atom, ForkedError, SharedArray, Term, Var, shared_array

__all__ = [
    "Atom", "CompileError", "Deadlock", "Diagnostic", "Exit", "Failure", "ForkedError", "Goal", "HeapLimit",
    "Interrupted", "Program", "Sender", "Session", "SharedArray", "Stream", "Term", "Var", "run", "shared_array",
]


@dataclass(frozen=True)
class Diagnostic:
    """What is wrong with a text (`severity` is `error`), or seems to be (`warning`). Lines and columns count from 1."""

    severity: str
    code: str
    message: str
    file: str
    line: int
    column: int
    notes: Sequence[str]
    help: str | None

    @classmethod
    def _of(cls, told: dict[str, Any]) -> Diagnostic:
        at = told["at"]
        named = {name: told[name] for name in ("severity", "code", "message", "notes", "help")}
        return cls(file=at["file"], line=at["line"], column=at["column"], **named)


@dataclass(frozen=True)
class Goal:
    """A goal that waits: its text, the variables it waits for, what gives those values from outside, and where its
    predicate stands. `holder` is the index of a goal of the same list that holds such a variable, if one does."""

    goal: str
    waits_for: Sequence[str] = ()
    outside: Sequence[str] = ()
    file: str = ""
    line: int = 0
    holder: int | None = None


class Failure(Exception):
    """A call that did not end well. Its text is what the command shows.

    `kind` names the error (`ReductionFailure`, `UnificationFailure`, `ArgumentType`, `Range`, `ZeroDivision`, ..);
    `goal`, `file` and `line` say where, as far as that is known."""

    def __init__(self, text: str, told: dict[str, Any]) -> None:
        super().__init__(text.rstrip())
        self.kind: str = told.get("error", told["kind"])
        self.goal: str = told.get("goal", "")
        self.file: str = told.get("file", "")
        self.line: int = told.get("line", 0)


class Deadlock(Failure):
    """Goals wait that nothing can resume: `goals` are those to look at first, `count` is how many there are."""

    def __init__(self, text: str, told: dict[str, Any]) -> None:
        super().__init__(text, told)
        self.goals: list[Goal] = [Goal(**goal) for goal in told["goals"]]
        self.count: int = told["count"]


class HeapLimit(Failure):
    """The heap limit of the session is reached."""


class Interrupted(Failure):
    """Somebody ended the call: `Session.interrupt`, or the session was closed."""


class Exit(Failure):
    """The program asked to exit with `status`, which ended the call and nothing else."""

    def __init__(self, text: str, told: dict[str, Any]) -> None:
        super().__init__(text, told)
        self.status: int = told["status"]


class CompileError(Exception):
    """A text is no program. `diagnostics` says why; the exception's text is what the command shows."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(told["text"])
        self.diagnostics: list[Diagnostic] = [Diagnostic._of(one) for one in told["diagnostics"]]


def _failure(told: dict[str, Any]) -> Failure:
    kinds: dict[str, Callable[..., Failure]] = {
        "deadlock": Deadlock, "exit": Exit, "HeapLimit": HeapLimit, "Interrupted": Interrupted,
    }
    kind = kinds.get(told.get("error", told["kind"]), Failure)
    return kind(told["text"], told)


def _results(answer: list[Any] | dict[str, Any]) -> list[Any]:
    if isinstance(answer, dict):
        raise _failure(answer)
    return answer


def _named(name: str) -> tuple[str, str]:
    module, colon, predicate = name.rpartition(":")
    return (module, predicate) if colon else ("main", predicate)


def _callables(functions: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    for name, function in functions.items():
        if not isinstance(name, str) or not callable(function):
            raise TypeError(f"functions has names and what can be called: not {name!r}: {function!r}")
    return dict(functions)


_descriptors: dict[tuple[int, int], int] = {}


def _attached(descriptor: Any, *of: int) -> SharedArray:
    number = descriptor.detach()
    try:
        return _fifth.attach_array(number, *of)
    finally:
        os.close(number)


def _reduced(array: SharedArray) -> tuple[Any, ...]:
    """A shared array for another process: a descriptor of its memory, which goes with `multiprocessing`."""
    from multiprocessing.reduction import DupFd

    number, *of = array._share()
    found = os.fstat(number)
    # A process that is being started needs it later.
    kept = _descriptors.setdefault((found.st_dev, found.st_ino), number)
    if kept != number:
        os.close(number)
    return _attached, (DupFd(kept), *of)


copyreg.pickle(SharedArray, _reduced)


# Sessions end before the interpreter does: their threads may want its lock until then.
atexit.register(_fifth.close_all)


class Program:
    """A program: KL1 files, or a text, compiled. Any number of sessions may run it, in any threads.

    `p.name(A, B)` calls `main:name(A, B, R)` in a session of the program's own and returns R."""

    def __init__(
        self,
        *paths: str | os.PathLike[str],
        text: str | None = None,
        name: str = "text.kl1",
        libraries: Iterable[str | os.PathLike[str]] = (),
        functions: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        """Raises `CompileError` where the text is wrong, or a file cannot be read. `text` goes by `name` in messages.

        `libraries`: shared libraries with foreign predicates (docs/c.md); `OSError` where one cannot be loaded.
        `functions`: what `python:call` calls in its sessions, by name; nothing else of Python can be called."""
        if not paths and text is None:
            raise TypeError("a program needs files, or a text")
        more = None if text is None else (name, text.encode("utf-8", "surrogateescape"))
        compiled = _fifth.Program.compile(list(paths), more, list(libraries))
        if isinstance(compiled, dict):
            raise CompileError(compiled)
        self._program = compiled
        self._session: Session | None = None
        self._functions = _callables(functions or {})

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """Warnings."""
        return [Diagnostic._of(one) for one in self._program.diagnostics()]

    def session(self, **settings: Any) -> Session:
        """A session of it: see `Session`."""
        return Session(self, **settings)

    def call(self, name: str, *args: Any, out: int = 1, timeout: float | None = None, raw: bool = False) -> Any:
        """Calls a predicate in a session of the program's own: see `Session.call`."""
        if self._session is None or self._session.closed:
            self._session = self.session()
        return self._session.call(name, *args, out=out, timeout=timeout, raw=raw)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **options: self.call(name, *args, **options)


class Session:
    """A program on a node of its own, which stays: a thread for the engine, and `workers` of them that reduce.

    Calls run one after the other. `workers`: as many as there are processors by default. `heap_limit`: bytes of data
    and goals. `stdout`, `stderr`: files for text, by default those of `sys` at the time of writing. `args`: what
    `unix:argv` answers. `functions`: what `python:call` calls, by name; those of the program by default. A function runs
    in a thread of a pool, never in one that reduces. A session is closed by `close`, by `with`, or when nobody has it."""

    def __init__(
        self,
        program: Program,
        *,
        workers: int | None = None,
        heap_limit: int | None = None,
        stdout: Any = None,
        stderr: Any = None,
        args: Iterable[str | bytes] = (),
        functions: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        called = program._functions if functions is None else _callables(functions)
        takes = (_writer(stdout, "stdout"), _writer(stderr, "stderr"))
        arguments = [arg if isinstance(arg, bytes) else os.fsencode(arg) for arg in args]
        self.closed = False
        self._session = _fifth.Session(program._program, workers, heap_limit, takes, arguments, called)

    def _begin(self, name: str, args: Sequence[Any]) -> Any:
        given = [arg._given() if isinstance(arg, Sender) else arg for arg in args]
        if any(arg is None for arg in args):
            raise TypeError("None does not go into KL1")
        return given, _named(name)

    def begin(self, name: str, *args: Any, out: int = 1) -> Any:
        """Begins a call, of which `wait(seconds, raw)` of what it returns tells the end: for `call` and its like."""
        given, (module, predicate) = self._begin(name, args)
        return self._session.call(module, predicate, (*given, *[None] * out))

    def call(self, name: str, *args: Any, out: int = 1, timeout: float | None = None, raw: bool = False) -> Any:
        """Calls `module:predicate` (or a predicate of module main) with these arguments, and `out` variables behind
        them. Returns their values: one by itself, several as a tuple, `None` if there is none.

        Raises `Failure` (or what is derived from it), and `TimeoutError` after `timeout` seconds: then the call is
        ended. Ctrl-C ends it, too. `raw`: strings are returned as bytes."""
        call = self.begin(name, *args, out=out)
        answer = call.wait(timeout, raw)
        if answer is None:
            call.interrupt()
            call.wait(None, raw)
            raise TimeoutError(f"{name} took more than {timeout} s")
        values = _results(answer)
        return None if out == 0 else values[0] if out == 1 else tuple(values)

    async def call_async(self, name: str, *args: Any, out: int = 1, raw: bool = False) -> Any:
        """The same for asyncio; when it is cancelled, the call is ended."""
        call = self.begin(name, *args, out=out)
        waiting = asyncio.get_running_loop().run_in_executor(None, call.wait, None, raw)
        try:
            values = _results(await asyncio.shield(waiting))
        except asyncio.CancelledError:
            call.interrupt()
            await waiting
            raise
        return None if out == 0 else values[0] if out == 1 else tuple(values)

    def sender(self) -> Sender:
        """A list that Python makes: an argument of one call."""
        return Sender(*self._session.sender())

    def stream(self, name: str, *args: Any, raw: bool = False) -> Stream:
        """Calls a predicate whose last argument becomes a list, and returns its items as they are complete: an iterator,
        of asyncio, too. The call goes on meanwhile; what it does wrong is raised behind the last item."""
        given, (module, predicate) = self._begin(name, args)
        drain, receiver = self._session.receiver()
        return Stream(self._session.call(module, predicate, (*given, drain)), receiver, raw)

    def define(self, text: str, name: str = "defined.kl1") -> list[Diagnostic]:
        """Adds the modules of a text, which later calls find. Returns warnings; raises `CompileError`."""
        answer = self._session.define(name, text)
        if isinstance(answer, dict):
            raise CompileError(answer)
        return [Diagnostic._of(one) for one in answer]

    def interrupt(self) -> None:
        """Ends the call that runs, or else the one that was begun and runs next: it raises `Interrupted` where it is
        waited for. Does nothing if all calls have ended."""
        self._session.interrupt()

    def waiting(self) -> list[Goal]:
        """The goals that wait in the call that runs."""
        return [Goal(**goal) for goal in self._session.waiting()]

    def close(self) -> None:
        """Ends it, and the call that runs. Later uses raise `RuntimeError`."""
        self.closed = True
        self._session.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class Sender:
    """A list that Python makes, item by item: the argument of one call. It ends when it is closed, or when nobody has
    it any more; only then can a program that waits for an item be in a deadlock."""

    def __init__(self, sender: Any, source: Any) -> None:
        self._sender = sender
        self._source = source

    def _given(self) -> Any:
        return self._source

    def send(self, item: Any) -> None:
        """Adds an item. It waits while 1,024 of them lie unread in a call that runs. Raises `BrokenPipeError` when the
        session has ended."""
        self.send_all((item,))

    def send_all(self, items: Iterable[Any]) -> None:
        """Adds the items of an iterable."""
        if not self._sender.send_all(items):
            raise BrokenPipeError("the list, or its session, has ended")

    def close(self) -> None:
        """Ends the list."""
        self._sender.close()

    def __enter__(self) -> Sender:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class Stream(Iterator[Any], AsyncIterator[Any]):
    """The items of a list that a call makes. `close` (or leaving `with`) ends the call."""

    def __init__(self, call: Any, receiver: Any, raw: bool) -> None:
        self._call = call
        self._receiver = receiver
        self._raw = raw
        self._items: list[Any] = []
        self._ended = False

    def _fetch(self) -> bool:
        """Whether there are more items; what the call did wrong is raised at its end."""
        if self._ended:
            return False
        items = self._receiver.receive(self._raw)
        if items is None:
            self._ended = True
            _results(self._call.wait(None, self._raw))
            return False
        items.reverse()
        self._items = items
        return True

    def __next__(self) -> Any:
        if not self._items and not self._fetch():
            raise StopIteration
        return self._items.pop()

    async def __anext__(self) -> Any:
        if not self._items and not await asyncio.get_running_loop().run_in_executor(None, self._fetch):
            raise StopAsyncIteration
        return self._items.pop()

    def close(self) -> None:
        """Ends the call, if it has not ended."""
        self._items = []
        if not self._ended:
            self._ended = True
            self._receiver.close()
            self._call.interrupt()
            self._call.wait(None, self._raw)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _writer(file: Any, name: str) -> Callable[[bytes], None]:
    """Writes bytes to a text file; without one to `sys.stdout` (or `sys.stderr`) of the moment."""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def write(data: bytes) -> None:
        to = file if file is not None else getattr(sys, name)
        # A program without a console, pythonw for one, has none.
        if to is not None:
            to.write(decode(data))

    return write


def run(
    *paths: str | os.PathLike[str],
    text: str | None = None,
    args: Iterable[str | bytes] = (),
    workers: int | None = None,
    heap_limit: int | None = None,
    stdout: Any = None,
    stderr: Any = None,
    timeout: float | None = None,
) -> None:
    """Runs a program's `main:main`, as `fifth run` does. Raises `CompileError`, `Failure`, or `TimeoutError`; a program
    that asks to exit with another status than 0 raises `Exit`."""
    program = Program(*paths, text=text)
    with program.session(workers=workers, heap_limit=heap_limit, stdout=stdout, stderr=stderr, args=args) as session:
        try:
            session.call("main:main", out=0, timeout=timeout)
        except Exit as asked:
            if asked.status != 0:
                raise
