"""`%%kl1` in notebooks of Python: `%load_ext fifth.magic`, and a cell that begins with `%%kl1` has clauses and goals."""

from __future__ import annotations

import sys
from typing import Any

from . import notebook


def load_ipython_extension(shell: Any) -> None:
    """Defines the magic. All its cells share a notebook of their own."""
    from IPython.display import SVG, display

    def show(kind: str, text: str) -> None:
        if kind == "svg":
            display(SVG(data=text))
        else:
            (sys.stderr if kind in ("stderr", "error") else sys.stdout).write(text)

    cells = notebook.Notebook(show)

    def kl1(line: str, cell: str | None = None) -> None:
        cells.run(line if cell is None else cell)

    shell.register_magic_function(kl1, "line_cell")
