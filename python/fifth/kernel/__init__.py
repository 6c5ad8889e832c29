"""A Jupyter kernel for KL1: `python -m fifth.kernel install` makes it known to Jupyter. It needs ipykernel.

See `fifth.notebook` for what a cell may hold."""

from __future__ import annotations

from typing import Any

from ipykernel.kernelbase import Kernel as _Base

from .. import notebook

__all__ = ["Kernel"]

STREAMS = {"stdout": "stdout", "binding": "stdout", "note": "stdout", "stderr": "stderr", "error": "stderr"}


class Kernel(_Base):
    """Gives cells to a `fifth.notebook.Notebook`, and what that shows to the frontend."""

    implementation = "fifth"
    implementation_version = "0.1"
    language = "kl1"
    language_info = {"name": "kl1", "mimetype": "text/x-kl1", "file_extension": ".kl1", "codemirror_mode": "prolog"}
    banner = "Fifth: KL1. A cell has clauses and goals; `:help` lists commands."

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._silent = False
        self._notebook = notebook.Notebook(self._show)

    def _show(self, kind: str, text: str) -> None:
        if self._silent or not text:
            return
        if kind == "svg":
            content = {"data": {"image/svg+xml": text, "text/plain": "a picture"}, "metadata": {}}
            self.send_response(self.iopub_socket, "display_data", content)
        else:
            self.send_response(self.iopub_socket, "stream", {"name": STREAMS[kind], "text": text})

    async def do_execute(
        self, code: str, silent: bool, store_history: bool = True, user_expressions: Any = None,
        allow_stdin: bool = False, **_: Any,
    ) -> dict[str, Any]:
        self._silent = silent
        try:
            right = self._notebook.run(code)
        except KeyboardInterrupt:
            return {"status": "abort", "execution_count": self.execution_count}
        if right:
            return {"status": "ok", "execution_count": self.execution_count, "payload": [], "user_expressions": {}}
        told = {"ename": "Error", "evalue": "see above", "traceback": []}
        if not silent:
            self.send_response(self.iopub_socket, "error", told)
        return {"status": "error", "execution_count": self.execution_count, **told}

    def do_complete(self, code: str, cursor_pos: int) -> dict[str, Any]:
        begin, names = self._notebook.complete(code[:cursor_pos])
        return {
            "matches": names, "cursor_start": cursor_pos - len(begin), "cursor_end": cursor_pos, "metadata": {},
            "status": "ok",
        }

    def do_is_complete(self, code: str) -> dict[str, Any]:
        return {"status": "complete"} if notebook.is_complete(code) else {"status": "incomplete", "indent": ""}

    def do_shutdown(self, restart: bool) -> dict[str, Any]:
        self._notebook.close()
        return {"status": "ok", "restart": restart}
