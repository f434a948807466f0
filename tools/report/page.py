"""Pages in HTML, with styles, scripts and data inside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from et_ops.data_files import text_of

__all__ = ["embedded", "page"]

SCRIPTS = (
    *(
        "page.js",
        "details.js",
        "graph.js",
        "memory.js",
        "sections.js",
        "levels.js",
        "times.js",
        "compiler.js",
    ),
    "start.js",
)
"""In the order that they run in."""


def page(facts: dict[str, Any]) -> str:
    """The report of `facts`, in ASCII where they are concerned: names may be anything."""
    folder = Path(__file__).parent
    parts = {
        "style": text_of(folder / "page.css"),
        "data": embedded(facts),
        "script": "\n".join(text_of(folder / name) for name in SCRIPTS),
    }
    template = text_of(folder / "page.html")
    made: list[str] = []
    for piece in template.split("@@"):
        # Between the pairs of marks are the names of the parts.
        made.append(parts[piece] if len(made) % 2 else piece)
    return "".join(made)


def embedded(facts: object) -> str:
    """JSON that can stand inside of an element `script`: nothing in it is read as markup."""
    text = json.dumps(facts, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
