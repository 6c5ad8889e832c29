"""Cells of clauses and goals: what the Jupyter kernel and `%%kl1` have in common, without Jupyter.

A cell is clauses, goals and values, each with its full stop, as the REPL of `fifth` reads them; or modules, if it begins
with `:- module`; or a command, which begins with a colon. Clauses replace those of the same predicate from earlier
cells."""

from __future__ import annotations

import atexit
import codecs
import queue
import re
import threading
import weakref
from typing import Callable

from . import _fifth, pictures

__all__ = ["COMMANDS", "Notebook", "is_complete"]

COMMANDS = {
    ":trace p(X).": "runs goals, and shows what each worker did when",
    ":network p(X).": "runs goals, and shows those that wait: half a second after the beginning, or at the end",
    ":list": "shows the clauses",
    ":clear": "forgets everything",
    ":forget p/1": "forgets the clauses of p/1",
    ":load FILE": "adds the modules of a file, or replaces them",
    ":help": "shows this",
}

# What is written and not shown yet, in pieces: then the program waits.
WRITTEN_MAX = 1000
# Seconds after which a query that runs is asked which goals wait.
LOOK_AFTER = 0.5

Show = Callable[[str, str], None]

_MODULE = re.compile(r"(?:\s|%[^\n]*\n)*:-\s*module\s*\(?\s*'?([a-z]\w*)")
_open: weakref.WeakSet[Notebook] = weakref.WeakSet()


def _close_all() -> None:
    for notebook in list(_open):
        notebook.close()


# The engine's thread may want the interpreter's lock until then.
atexit.register(_close_all)


def is_complete(cell: str) -> bool:
    """Whether each entry of a cell has its end."""
    return cell.lstrip().startswith(":") or _fifth.is_complete(cell.encode("utf-8", "surrogateescape")) == "complete"


class Notebook:
    """A REPL to which cells are given. `show` takes a kind and a text: `stdout` and `stderr` (what the program writes),
    `binding`, `note`, `error`, `svg`. It is called in the thread that runs a cell, while that runs."""

    def __init__(self, show: Show, workers: int | None = None, heap_limit: int | None = None) -> None:
        self._show = show
        self._written: queue.Queue[tuple[str, bytes]] = queue.Queue(WRITTEN_MAX)
        self._closed = threading.Event()
        # A character may come in two pieces.
        self._decoders = {kind: codecs.getincrementaldecoder("utf-8")("replace") for kind in ("stdout", "stderr")}
        # The engine does not keep its notebook alive.
        written, closed, weak = self._written, self._closed, weakref.ref(self)

        def emit(kind: str, text: bytes) -> None:
            while not closed.is_set():
                try:
                    return written.put((kind, text), timeout=0.1)
                except queue.Full:
                    pass

        def drain() -> None:
            notebook = weak()
            if notebook is not None:
                notebook._drain()

        self._native = _fifth.Notebook(emit, drain, workers, heap_limit)
        _open.add(self)

    def run(self, cell: str) -> bool:
        """Runs a cell: whether all of it is right. Ctrl-C ends it, and is raised when it has ended."""
        command = cell.strip()
        if command.startswith(":") and not command.startswith(":-"):
            name, _, what = command[1:].partition(" ")
            return self._obey(name, what.strip())
        module = _MODULE.match(cell)
        if module:
            return self._native.load(f"{module[1]}.kl1", _bytes(cell))
        return self._enter(cell)

    def complete(self, before: str) -> tuple[str, list[str]]:
        """The beginning of a name at the end of a text, and the names that begin so."""
        begin = re.search(r"[\w:]*$", before)[0]
        names = self._native.names() + [command.split()[0] for command in COMMANDS]
        return begin, sorted(name for name in set(names) if begin and name.startswith(begin))

    def interrupt(self) -> None:
        """Ends the query that runs."""
        self._native.interrupt()

    def close(self) -> None:
        """Ends the engine."""
        self._closed.set()
        self._native.close()

    def _drain(self) -> None:
        # Pieces of one kind that follow each other are shown at once.
        kind, pieces = "", []
        while True:
            try:
                next_kind, text = self._written.get_nowait()
            except queue.Empty:
                next_kind, text = "", b""
            if next_kind != kind and pieces:
                self._show(kind, "".join(pieces))
                pieces = []
            if not next_kind:
                return
            kind, decoder = next_kind, self._decoders.get(next_kind)
            pieces.append(decoder.decode(text) if decoder else text.decode("utf-8", "replace"))

    def _enter(self, cell: str) -> bool:
        right, status = self._native.enter(_bytes(cell))
        if status is not None:
            self._show("note", f"note: the program asked to exit with status {status}; the notebook goes on\n")
        return right

    def _obey(self, name: str, what: str) -> bool:
        if name == "help":
            width = max(map(len, COMMANDS))
            self._show("note", "".join(f"{command:{width}}  {does}\n" for command, does in COMMANDS.items()))
        elif name == "list":
            self._show("note", self._native.listing().decode("utf-8", "replace"))
        elif name == "clear":
            self._native.clear()
        elif name == "forget" and what:
            if not self._native.forget(what):
                return self._wrong(f"there is no {what}; :list shows what there is")
        elif name == "load" and what:
            return self._native.load_file(what)
        elif name == "trace" and what:
            self._native.trace()
            right = self._enter(_goals(what))
            self._show("svg", pictures.timeline(self._native.trace()))
            return right
        elif name == "network" and what:
            timer = threading.Timer(LOOK_AFTER, self._native.look)
            timer.start()
            try:
                right = self._enter(_goals(what))
            finally:
                timer.cancel()
            self._show("svg", pictures.network(self._native.waiting()))
            return right
        elif f":{name}" in {command.split()[0] for command in COMMANDS}:
            usage = next(command for command in COMMANDS if command.startswith(f":{name} "))
            return self._wrong(f":{name} needs more, as in `{usage}`")
        else:
            return self._wrong(f"there is no command :{name}; :help lists them")
        return True

    def _wrong(self, text: str) -> bool:
        self._show("error", f"error: {text}\n")
        return False


def _goals(text: str) -> str:
    return text if text.startswith("?-") else "?- " + text.rstrip(".") + "."


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
