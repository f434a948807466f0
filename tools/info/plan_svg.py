"""A memory plan as a drawing in SVG: instructions from left to right, offsets from the bottom up.

Each tensor is a rectangle in the color of the operator that writes it, a concatenation in place in the colors of its
parts. A curve shows the bytes in use, a dashed line their peak. Names, sizes and source lines show under the pointer.
Colors are hexadecimal, which every renderer knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from colorsys import hls_to_rgb
from typing import Any, Final

from et_tools.info.plan import certainty, heading
from et_tools.info.tensors import describe
from et_tools.streams import fit
from et_tools.vm_files import show_bytes
from et_vm.devtools.xml_text import xml_text

__all__ = ["svg"]

WIDTH: Final = 1200
HEIGHT: Final = 480
MARGIN: Final = 16
LEFT: Final = 92
"""Left of a panel: the labels of its bytes."""
LINE: Final = 20
CHARACTER: Final = 7.2
"""The width of a character, about: viewers choose the font."""
TICKS: Final = 10
"""The most labels of instructions."""
SAMPLES: Final = 600
"""The most points of the curve."""
LONGEST: Final = 48
"""Characters of a name in the legend."""
PLAIN: Final = "#c8c8c8"
"""Color of tensors that nothing writes."""


def svg(arenas: Sequence[dict[str, Any]]) -> str:
    """The drawing of all arenas, one below the other, with a legend; arenas of no bytes are left out."""
    drawn = [arena for arena in arenas if arena["nbytes"]]
    ops = sorted(
        {
            tensor["op"]
            for arena in drawn
            for tensor in arena["tensors"]
            if "first" in tensor and "op" in tensor
        }
    )
    colors = {op: _color(at) for at, op in enumerate(ops)}
    panel = HEIGHT + 5 * LINE + MARGIN
    legend, legend_height = _legend(colors, MARGIN + len(drawn) * panel)
    height = MARGIN + len(drawn) * panel + legend_height + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for at, arena in enumerate(drawn):
        parts += _Panel(arena, MARGIN + at * panel, colors).draw()
    return "\n".join([*parts, *legend, "</svg>"]) + "\n"


def _color(index: int) -> str:
    """Hues by the golden angle: neighbors in the list are far apart."""
    red, green, blue = hls_to_rgb(index * 137.508 % 360 / 360, 0.62 + index % 3 * 0.08, 0.6)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


def _legend(colors: Mapping[str, str], top: int) -> tuple[list[str], int]:
    """The entries, as many on a line as there is space for, and the height of all."""
    parts: list[str] = []
    x, y = float(MARGIN), top
    for op, color in colors.items():
        name = fit(op, LONGEST)
        width = 18 + CHARACTER * len(name) + 20
        if x > MARGIN and x + width > WIDTH - MARGIN:
            x, y = float(MARGIN), y + LINE
        parts.append(f'<rect x="{x:.1f}" y="{y}" width="12" height="12" fill="{color}"/>')
        parts.append(f'<text x="{x + 18:.1f}" y="{y + 11}">{xml_text(name)}</text>')
        x += width
    return parts, y + LINE - top


class _Panel:
    """The drawing of an arena below `top`."""

    def __init__(self, arena: dict[str, Any], top: int, colors: Mapping[str, str]) -> None:
        self._arena = arena
        self._top = top
        self._colors = colors
        self._times = arena["instructions"] + 2
        self._wide = WIDTH - LEFT - MARGIN
        self._bottom = top + 2 * LINE + HEIGHT
        self._tensors = [tensor for tensor in arena["tensors"] if "first" in tensor and tensor["nbytes"]]

    def draw(self) -> Iterator[str]:
        arena = self._arena
        yield f'<text x="{LEFT}" y="{self._top + 14}" font-weight="bold">{xml_text(heading(arena))}</text>'
        yield f'<text x="{LEFT}" y="{self._top + 14 + LINE}">{xml_text(certainty(arena))}</text>'
        yield (
            f'<rect x="{LEFT}" y="{self._bottom - HEIGHT}" width="{self._wide}" height="{HEIGHT}" '
            f'fill="#f4f4f4" stroke="#888888"/>'
        )
        for tensor in self._tensors:
            yield from self._block(tensor)
        yield from self._axes()
        yield from self._usage()
        for tensor in self._tensors:
            yield from self._label(tensor)
        yield from self._peak()

    # -- coordinates

    def _x(self, time: float) -> float:
        """The left end of an instruction's column; the caller's own, -1, is the first."""
        return LEFT + (time + 1) * self._wide / self._times

    def _y(self, offset: float) -> float:
        return self._bottom - offset * HEIGHT / self._arena["nbytes"]

    # -- tensors

    def _block(self, tensor: dict[str, Any]) -> Iterator[str]:
        """A tensor; of one that nothing writes as such, a concatenation in place, its parts."""
        x, right = self._x(tensor["first"]), self._x(tensor["last"] + 1)
        low, high = tensor["offset"], tensor["offset"] + tensor["nbytes"]
        held = [] if "op" in tensor else self._parts(tensor)
        fill = self._colors.get(tensor.get("op", ""), "none" if held else PLAIN)
        title = f"<title>{xml_text(_hover(tensor, self._arena['instructions']))}</title>"
        for part in held:
            top = min(part["offset"] + part["nbytes"], high)
            bottom = max(part["offset"], low)
            yield _rectangle(x, self._y(top), right, self._y(bottom), self._colors[part["op"]], title)
        yield _rectangle(x, self._y(high), right, self._y(low), fill, title)

    def _label(self, tensor: dict[str, Any]) -> Iterator[str]:
        """Its name, if there is space for it in the rectangle."""
        x, right = self._x(tensor["first"]), self._x(tensor["last"] + 1)
        low, high = self._y(tensor["offset"]), self._y(tensor["offset"] + tensor["nbytes"])
        letters = int((right - x - 6) / CHARACTER)
        if ("op" in tensor or "name" in tensor) and letters >= 4 and low - high >= 15:
            yield (
                f'<text x="{(x + right) / 2:.2f}" y="{(low + high) / 2 + 4.5:.2f}" '
                f'text-anchor="middle" pointer-events="none">{xml_text(fit(_name(tensor), letters))}</text>'
            )

    def _parts(self, whole: dict[str, Any]) -> list[dict[str, Any]]:
        """The tensors that were written into the memory of another, a view or a concatenation in place of them."""
        end = whole["offset"] + whole["nbytes"]
        return [
            part
            for part in self._tensors
            if "op" in part
            and part["offset"] < end
            and part["offset"] + part["nbytes"] > whole["offset"]
            and part["first"] <= whole["last"]
            and part["last"] >= whole["first"] - 1
        ]

    # -- scales

    def _axes(self) -> Iterator[str]:
        """Labels of bytes on the left, and of instructions below."""
        nbytes, instructions = self._arena["nbytes"], self._arena["instructions"]
        for quarter in range(5):
            y = self._y(nbytes * quarter / 4)
            yield f'<line x1="{LEFT - 5}" y1="{y:.2f}" x2="{LEFT}" y2="{y:.2f}" stroke="#888888"/>'
            yield (
                f'<text x="{LEFT - 8}" y="{y + 4.5:.2f}" fill="#666666" text-anchor="end">'
                f"{show_bytes(nbytes * quarter // 4)}</text>"
            )
        step = _step(instructions, TICKS)
        for time in range(0, instructions, step):
            x = self._x(time + 0.5)
            yield f'<line x1="{x:.2f}" y1="{self._bottom}" x2="{x:.2f}" y2="{self._bottom + 4}" stroke="#888888"/>'
            yield (
                f'<text x="{x:.2f}" y="{self._bottom + 16}" fill="#666666" text-anchor="middle">{time}</text>'
            )
        yield (
            f'<text x="{LEFT + self._wide / 2:.2f}" y="{self._bottom + 16 + LINE}" fill="#666666" '
            f'text-anchor="middle">instruction (first column: inputs, last: outputs)</text>'
        )

    def _usage(self) -> Iterator[str]:
        """The curve of the bytes in use, the most of each sample."""
        step = max(1, self._times // SAMPLES)
        points: list[str] = []
        for start in range(-1, self._times - 1, step):
            end = min(start + step, self._times - 1)
            y = self._y(max(self._arena["usage"][start + 1 : end + 1]))
            points += [f"{self._x(start):.2f},{y:.2f}", f"{self._x(end):.2f},{y:.2f}"]
        yield (
            f'<polyline points="{" ".join(points)}" fill="none" stroke="#202020" stroke-width="1.5" '
            f'pointer-events="none"/>'
        )

    def _peak(self) -> Iterator[str]:
        """A line at the peak of live bytes, the bound of the arena's size."""
        y = self._y(self._arena["bound"])
        label = f"peak of live bytes: {self._arena['bound']:,} at {self._arena['needed_by']}"
        width = CHARACTER * len(label) + 8
        # Above the line, or below where that would be outside of the panel.
        top = y - LINE if y - LINE > self._bottom - HEIGHT else y + 2
        yield (
            f'<line x1="{LEFT}" y1="{y:.2f}" x2="{WIDTH - MARGIN}" y2="{y:.2f}" stroke="#cc0000" '
            f'stroke-dasharray="6 4"/>'
        )
        yield (
            f'<rect x="{WIDTH - MARGIN - width:.2f}" y="{top:.2f}" width="{width:.2f}" height="{LINE - 2}" '
            f'fill="#ffffff" fill-opacity="0.85"/>'
        )
        yield (
            f'<text x="{WIDTH - MARGIN - 4}" y="{top + 13:.2f}" fill="#cc0000" text-anchor="end">'
            f"{xml_text(label)}</text>"
        )


def _rectangle(left: float, top: float, right: float, bottom: float, fill: str, inside: str) -> str:
    return (
        f'<rect x="{left:.2f}" y="{top:.2f}" width="{right - left:.2f}" height="{bottom - top:.2f}" '
        f'fill="{fill}" stroke="#ffffff" stroke-width="0.5">{inside}</rect>'
    )


def _step(count: int, most: int) -> int:
    """The distance of at most `most` labels for `count` things: 1, 2 or 5 times a power of ten."""
    step = 1
    while True:
        for factor in (1, 2, 5):
            if count <= factor * step * most:
                return factor * step
        step *= 10


def _name(tensor: dict[str, Any]) -> str:
    """The name of a parameter or buffer, else the operator without namespace and overload."""
    if "name" in tensor:
        return tensor["name"]
    return tensor.get("op", "").rpartition("::")[2].partition(".")[0] or f"%{tensor['register']}"


def _hover(tensor: dict[str, Any], instructions: int) -> str:
    first, last = tensor["first"], tensor["last"]
    start = "the start" if first < 0 else f"instruction {first}"
    end = "the end" if last >= instructions else f"instruction {last}"
    said = [
        f"%{tensor['register']} {describe(tensor)}" if "dtype" in tensor else tensor["name"],
        f"{tensor['nbytes']:,} bytes at {tensor['offset']:,}",
        f"{tensor['op']}, needed from {start} to {end}"
        if "op" in tensor
        else f"needed from {start} to {end}",
    ]
    if "source" in tensor:
        said.append(tensor["source"])
    return "\n".join(said)
