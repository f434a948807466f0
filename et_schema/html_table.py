"""Tables in HTML, for the display of objects in notebooks."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["html_table"]


def html_table(heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """A table of texts, which are escaped."""
    # Imported here because starting is part of the time that a run takes.
    from html import escape

    lines = [[f"<th>{escape(head)}</th>" for head in heads]]
    lines += [[f"<td>{escape(cell)}</td>" for cell in row] for row in rows]
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in lines)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}{body}</table>"
