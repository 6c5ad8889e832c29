"""Pictures of runs, as SVG: what each worker did when, and which goals wait for which."""

from __future__ import annotations

import json
from html import escape
from typing import Any, Sequence

WIDTH = 760
ROW = 26
BOXES_MAX = 200
LETTERS_MAX = 44
RECTANGLES_MAX = 4000


def _svg(width: float, height: float, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" font-family="sans-serif" font-size="12">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>"])


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(text)}</text>'


def _colour(name: str) -> str:
    colours = ["#4878a8", "#c07840", "#589858", "#a85858", "#8868a8", "#908040", "#508c98"]
    return colours[sum(name.encode()) % len(colours)]


def timeline(trace: bytes) -> str:
    """A trace in the trace event format as a picture: a row for each worker, time from left to right."""
    events: list[dict[str, Any]] = json.loads(trace)["traceEvents"]
    lasting = [event for event in events if event["ph"] == "X"]
    workers = sorted({event["tid"] for event in events if event["ph"] == "M" and event["name"] == "thread_name"})
    if not lasting:
        return _svg(WIDTH, ROW, [_text(8, 17, "nothing was run")])
    begin = min(event["ts"] for event in lasting)
    end = max(event["ts"] + event["dur"] for event in lasting)
    scale = (WIDTH - 90) / max(end - begin, 1e-3)
    parts = [_text(8, ROW * row + 17, f"worker {worker}") for row, worker in enumerate(workers)]
    # The longest ones: others would not be seen.
    shown = sorted(lasting, key=lambda event: -event["dur"])[:RECTANGLES_MAX]
    for event in sorted(shown, key=lambda event: event["ts"]):
        x, width = 80 + (event["ts"] - begin) * scale, max(event["dur"] * scale, 0.5)
        y = ROW * workers.index(event["tid"]) + 4
        title = f'{event["name"]}, {event["dur"]:.1f} µs'
        parts.append(
            f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 8}" fill="{_colour(event["name"])}">'
            f"<title>{escape(title)}</title></rect>"
        )
    below = ROW * len(workers) + 16
    names = sorted({event["name"] for event in lasting})
    parts.append(_text(80, below, "0"))
    parts.append(_text(WIDTH - 10, below, f"{(end - begin) / 1000:.3f} ms", 'text-anchor="end"'))
    x = 80.0
    for name in names[:8]:
        parts.append(f'<rect x="{x:.0f}" y="{below + 8}" width="10" height="10" fill="{_colour(name)}"/>')
        parts.append(_text(x + 14, below + 17, name))
        x += 30 + 7 * len(name)
    return _svg(max(WIDTH, x), below + 26, parts)


def _depths(goals: Sequence[dict[str, Any]]) -> list[int]:
    """How far each goal is from one that no goal holds up; goals in a ring are as far as the ring is long at most."""
    depths = []
    for goal in goals:
        depth, seen = 0, set()
        holder = goal["holder"]
        while holder is not None and holder not in seen and holder < len(goals):
            seen.add(holder)
            depth += 1
            holder = goals[holder]["holder"]
        depths.append(depth)
    return depths


def network(goals: Sequence[dict[str, Any]], left_out: int = 0) -> str:
    """Goals that wait, as boxes. An arrow leads from the goal that holds a variable to the one that waits for it."""
    if not goals:
        return _svg(WIDTH, ROW, [_text(8, 17, "no goal waits")])
    left_out += max(len(goals) - BOXES_MAX, 0)
    goals = goals[:BOXES_MAX]
    cut = lambda text: text if len(text) <= LETTERS_MAX else text[: LETTERS_MAX - 2] + ".."
    texts = [cut(goal["goal"]) for goal in goals]
    waits = [cut("waits for " + ", ".join(goal["outside"] or goal["waits_for"])) for goal in goals]
    width = 7.2 * max(map(len, texts + waits)) + 16
    columns: dict[int, int] = {}
    places = []
    for depth in _depths(goals):
        row = columns.get(depth, 0)
        columns[depth] = row + 1
        places.append((12 + depth * (width + 50), 12 + row * 56))
    head = '<marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    parts = [f'<defs>{head}<path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>']
    for (x, y), goal, text, wait in zip(places, goals, texts, waits):
        title = f'{goal["goal"]}\n{goal["file"]}:{goal["line"]}'
        parts.append(
            f'<g><title>{escape(title)}</title><rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="40" rx="5" '
            f'fill="#eef3f8" stroke="{_colour(goal["goal"].split("(")[0])}"/>'
            + _text(x + 8, y + 16, text) + _text(x + 8, y + 33, wait, 'fill="#666" font-size="11"') + "</g>"
        )
        holder = goal["holder"]
        if holder is not None and holder < len(places):
            hx, hy = places[holder]
            # Of a ring one arrow leads back.
            ends = (hx + width, x) if hx < x else (hx, x + width) if hx > x else (hx + width / 2, x + width / 2)
            parts.append(
                f'<line x1="{ends[0]:.0f}" y1="{hy + 20}" x2="{ends[1]:.0f}" y2="{y + 20}" stroke="#555" marker-end="url(#a)"/>'
            )
    height = 12 + 56 * max(columns.values())
    if left_out:
        parts.append(_text(12, height + 8, f"and {left_out} more"))
        height += 20
    return _svg(max(columns) * (width + 50) + width + 24, height, parts)
