"""Flame graphs of profiles, drawn in SVG: width is time, each row a level of modules.

The drawing has no scripts and refers to nothing, so that any viewer shows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from zlib import crc32

from et_vm.devtools.profiling import stacks
from et_vm.devtools.xml_text import xml_text

if TYPE_CHECKING:
    from et_vm.devtools.profiling import Profile

__all__ = ["flamegraph_svg"]

WIDTH: Final = 1200
MARGIN: Final = 10
ROW: Final = 20
HEAD: Final = 34
CHARACTER: Final = 6.6
"""The width of a character, about: viewers choose the font."""
NARROWEST: Final = 0.2
"""Boxes narrower than this would not be seen; their time is in the boxes below."""


@dataclass
class _Frame:
    """A module, operator or event with what is in it, in the order of execution."""

    name: str
    own: int = 0
    parts: dict[str, _Frame] = field(default_factory=dict[str, "_Frame"])
    total: int = 0


def flamegraph_svg(profile: Profile, root: str) -> str:
    """The medians of a profile by module, operator and event of a backend; the bottom row is `root`.

    Under the pointer are the name, the time and its share. Modules that are many times in the sequence of
    instructions are one box.
    """
    top = _tree(stacks(profile, root), root)
    depth = _depth(top)
    height = HEAD + depth * ROW + MARGIN
    title = f"{root}: {_time(top.total)} in instructions, median of {len(profile.runs)}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
        f'font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{MARGIN}" y="22" font-size="15">{xml_text(title)}</text>',
        *_drawn(top, HEAD + (depth - 1) * ROW),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _tree(found: dict[tuple[str, ...], int], root: str) -> _Frame:
    top = _Frame(root)
    for path, time in found.items():
        frame = top
        frame.total += time
        for name in path[1:]:
            frame = frame.parts.setdefault(name, _Frame(name))
            frame.total += time
        frame.own += time
    return top


def _depth(top: _Frame) -> int:
    level, depth = [top], 0
    while level:
        depth += 1
        level = [part for frame in level for part in frame.parts.values()]
    return depth


def _drawn(top: _Frame, bottom: int) -> Iterator[str]:
    """The boxes, each above the one that it is a part of."""
    scale = (WIDTH - 2 * MARGIN) / max(top.total, 1)
    waiting = [(top, float(MARGIN), bottom)]
    while waiting:
        frame, x, y = waiting.pop()
        width = frame.total * scale
        if width < NARROWEST:
            continue
        share = frame.total / max(top.total, 1)
        hover = f"{frame.name}\n{_time(frame.total)}, {share:.1%}"
        if frame.parts and frame.own:
            hover += f"\n{_time(frame.own)} of it outside of what is above"
        yield (
            f'<g><title>{xml_text(hover)}</title><rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{ROW - 1}" '
            + (f'rx="2" fill="{_color(frame)}" stroke="#ffffff" stroke-width="0.5"/>')
        )
        letters = int((width - 8) / CHARACTER)
        if letters >= 3:
            name = frame.name if len(frame.name) <= letters else f"{frame.name[: letters - 1]}…"
            yield f'<text x="{x + 4:.2f}" y="{y + 14}">{xml_text(name)}</text>'
        yield "</g>"
        left = x
        for part in frame.parts.values():
            waiting.append((part, left, y - ROW))
            left += part.total * scale


def _color(frame: _Frame) -> str:
    """Modules are gray, operators and events have a warm color of their name."""
    if frame.parts and not frame.own:
        return "#d9dde4"
    number = crc32(frame.name.encode("utf-8", "surrogatepass"))
    return f"#{235 + number % 20:02x}{130 + number // 20 % 90:02x}{70 + number // 1800 % 50:02x}"


def _time(ns: float) -> str:
    return f"{ns / 1e6:.3g} ms" if ns >= 1e6 else f"{ns / 1e3:.3g} µs"
