"""A memory plan as a drawing in SVG: instructions from left to right, offsets from the bottom up, a rectangle for each
tensor in the color of the operator that writes it. Its name, size and source line show under the pointer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final
from xml.sax.saxutils import escape

from et_tools.info.plan import certainty
from et_tools.info.tensors import describe

__all__ = ["svg"]

WIDTH: Final = 1200
HEIGHT: Final = 480
MARGIN: Final = 16
LINE: Final = 20
SWATCH: Final = 240
"""The width of an entry of the legend."""
NO_TEXT: Final = re.compile("[^\\t\\n\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
"""Characters that XML 1.0 cannot represent."""


def svg(arenas: list[dict[str, Any]]) -> str:
    """The drawing of all arenas, one below the other, with a legend; arenas of no bytes are left out."""
    drawn = [arena for arena in arenas if arena["nbytes"]]
    ops = sorted(
        {tensor.get("op", "") for arena in drawn for tensor in arena["tensors"] if "first" in tensor}
    )
    # Hues by the golden angle: neighbors in the list are far apart.
    colours = {op: f"hsl({at * 137.508 % 360:.0f} 60% {62 + at % 3 * 8}%)" for at, op in enumerate(ops)}
    panel = HEIGHT + 3 * LINE + MARGIN
    per_line = (WIDTH - 2 * MARGIN) // SWATCH
    height = panel * len(drawn) + LINE * (2 + len(ops) // per_line) + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="sans-serif" font-size="13">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for at, arena in enumerate(drawn):
        parts += _panel(arena, MARGIN + at * panel, colours)
    top = MARGIN + len(drawn) * panel
    for at, op in enumerate(ops):
        x, y = MARGIN + at % per_line * SWATCH, top + at // per_line * LINE
        parts.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{colours[op]}"/>')
        parts.append(f'<text x="{x + 18}" y="{y + 11}">{_text(op or "nothing")}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(arena: dict[str, Any], top: int, colours: dict[str, str]) -> Iterator[str]:
    times, nbytes = arena["instructions"] + 2, arena["nbytes"]
    wide, bottom = WIDTH - 2 * MARGIN, top + 2 * LINE + HEIGHT
    title = f"{arena['method']}, arena {arena['arena']}: {nbytes:,} bytes"
    yield f'<text x="{MARGIN}" y="{top + 14}" font-weight="bold">{_text(title)}</text>'
    yield f'<text x="{MARGIN}" y="{top + 14 + LINE}">{_text(certainty(arena))}</text>'
    yield (
        f'<rect x="{MARGIN}" y="{bottom - HEIGHT}" width="{wide}" height="{HEIGHT}" fill="#f4f4f4" stroke="#888"/>'
    )
    for tensor in arena["tensors"]:
        if "first" not in tensor or not tensor["nbytes"]:
            continue
        x = MARGIN + (tensor["first"] + 1) * wide / times
        width = (tensor["last"] - tensor["first"] + 1) * wide / times
        height = tensor["nbytes"] * HEIGHT / nbytes
        y = bottom - tensor["offset"] * HEIGHT / nbytes - height
        yield (
            f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" '
            f'fill="{colours[tensor.get("op", "")]}" stroke="white" stroke-width="0.5">'
            f"<title>{_text(_hover(tensor, arena['instructions']))}</title></rect>"
        )
    if not arena["optimal"]:
        y = bottom - arena["bound"] * HEIGHT / nbytes
        yield (
            f'<line x1="{MARGIN}" y1="{y:.2f}" x2="{WIDTH - MARGIN}" y2="{y:.2f}" stroke="#c00" '
            f'stroke-dasharray="6 4"><title>lower bound: {arena["bound"]:,} bytes</title></line>'
        )
    yield f'<text x="{MARGIN}" y="{bottom + 14}" fill="#666">start</text>'
    yield f'<text x="{WIDTH - MARGIN}" y="{bottom + 14}" fill="#666" text-anchor="end">end</text>'


def _hover(tensor: dict[str, Any], instructions: int) -> str:
    first, last = tensor["first"], tensor["last"]
    start = "the start" if first < 0 else f"instruction {first}"
    end = "the end" if last >= instructions else f"instruction {last}"
    said = [
        f"%{tensor['register']} {describe(tensor)}",
        f"{tensor['nbytes']:,} bytes at {tensor['offset']:,}",
        f"{tensor['op']}, needed from {start} to {end}"
        if "op" in tensor
        else f"needed from {start} to {end}",
    ]
    if "source" in tensor:
        said.append(tensor["source"])
    return "\n".join(said)


def _text(text: str) -> str:
    return escape(NO_TEXT.sub("\ufffd", text))
