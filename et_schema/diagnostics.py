"""Diagnostics: what is wrong with a program or a file, where, and what to do about it.

Everything that compiler, runtime and commands say of a user's input is of this class: findings of passes, verifiers and
the frontend, problems of files, and why a backend leaves an op out. `render` and `Diagnostic.json` are its two outputs.

    model.mlir:12:8: error: 'aten.foo': no such op
      %1 = aten.foo %0
           ^
      fix: ...
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Final, Literal

from et_schema.wording import LONGEST_FIX, abbreviated

__all__ = ["Diagnostic", "Frame", "Location", "Report", "Severity", "did_you_mean", "near_names", "render"]

Severity = Literal["error", "warning", "note", "remark"]

QUOTED = 200
"""Maximum length of a quoted line in characters."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a Python traceback, or of a text: `name` is the function, `context` the text of the line. Both may be
    empty, `lineno` and `column` count from 1 and are 0 where they are unknown.
    """

    filename: str
    lineno: int
    name: str = ""
    context: str = ""
    column: int = 0


@dataclass(frozen=True)
class Location:
    """The place of a diagnostic, in source text, in a module or in a file, as far as it is known."""

    frames: tuple[Frame, ...] = ()
    """Outermost first, as in a traceback."""
    module: str = ""
    """The path of a `torch.nn.Module`: `blocks.0.fc`."""
    path: str = ""
    """A path of tables, `execution_plan[0].values[12].val.sizes`, an operator's name or a method, `@forward`."""
    offset: int | None = None
    """A byte of the file."""

    @property
    def frame(self) -> Frame:
        """The innermost frame; one without a file where there is none."""
        return self.frames[-1] if self.frames else Frame("", 0)

    @property
    def source(self) -> str:
        """The source line as messages name it: `model.py:12 in fc`.

        The place after `in` is the module path, or the function's name where there is none. Without a frame it is the
        module path alone, and `unknown location` without either.
        """
        if not self.frames:
            return abbreviated(self.module) or "unknown location"
        frame = self.frame
        place = self.module or frame.name
        return abbreviated(f"{frame.filename}:{frame.lineno}" + (f" in {place}" if place else ""))

    @property
    def entry(self) -> str:
        """The place in a file: `execution_plan[0].chains, byte 0x1c0`."""
        offset = "" if self.offset is None else f"byte 0x{self.offset:x}"
        return ", ".join(filter(None, (self.path, offset)))

    def json(self) -> list[dict[str, Any]]:
        """The frames as JSON has them."""
        return [
            {"file": f.filename, "line": f.lineno, "function": f.name, "code": f.context} for f in self.frames
        ]


@dataclass(frozen=True)
class Diagnostic:
    """One message about one place.

    `message` starts with the label of the rule where there is one, as in `[edge_c2] argument 'other' is a number`.
    """

    message: str
    """The problem, as a sentence without a full stop."""
    detail: str = ""
    """The details of this place, where `message` is the same for all alike, so that they can be counted."""
    subject: str = ""
    """The op, operator, input or parameter that it is about."""
    fix: str = ""
    """A suggested fix; empty only where nothing is to be said."""
    at: Location | None = None
    """The place; `None` where a thing has none, such as an input."""
    code: IntEnum | None = None
    """The runtime's error code."""
    severity: Severity = "error"
    """`error`, `warning`, `note` or `remark`."""
    notes: tuple[Diagnostic, ...] = ()
    """Additional notes, such as the reasons of each of several."""

    @property
    def place(self) -> Location:
        """The place, one of which nothing is known where there is none."""
        return self.at or Location()

    @property
    def file(self) -> str:
        """The source file, empty where it is unknown."""
        return self.place.frame.filename

    @property
    def line(self) -> int:
        """The line in the source file, from 1; 0 where it is unknown."""
        return self.place.frame.lineno

    @property
    def text(self) -> str:
        """The message without source line, fix and notes, as long as messages are."""
        code = "" if self.code is None else f"{self.code.name} (0x{self.code:02x})"
        # Names of ops are quoted, phrases such as `input "x" of method forward` are not.
        subject = self.subject if " " in self.subject else self.subject and f"'{self.subject}'"
        text = ": ".join(filter(None, (code, subject, self.message, self.detail)))
        return abbreviated(f"{text} at {self.place.entry}" if self.place.entry else text)

    def __str__(self) -> str:
        place = "" if self.at is None or self.at.entry else f"{self.at.source}: "
        return place + self.text + "".join(f"\n    {line}" for line in self.additions())

    def in_file(self, file: str) -> Diagnostic:
        """This diagnostic, said of `file` as a whole where its own source file is not known."""
        if self.file:
            return self
        return replace(self, at=replace(self.place, frames=(Frame(file, 0),)))

    def json(self) -> dict[str, Any]:
        """The diagnostic as JSON has it; only `message`, `where`, `offset` and `hint` are there when they are empty."""
        at = self.place
        code = {} if self.code is None else {"name": self.code.name, "code": int(self.code)}
        facts = {
            "subject": abbreviated(self.subject),
            "detail": abbreviated(self.detail),
            "module": abbreviated(at.module),
            "source": at.json(),
            "notes": [note.json() for note in self.notes],
        }
        return {
            **code,
            "message": abbreviated(self.message),
            "where": abbreviated(at.path) or None,
            "offset": at.offset,
            "hint": abbreviated(self.fix, LONGEST_FIX) or None,
            **{key: value for key, value in facts.items() if value},
        }

    def additions(self) -> list[str]:
        """The lines below the message: notes, then the fix."""
        return [f"note: {note.text}" for note in self.notes] + (
            [f"fix: {abbreviated(self.fix, LONGEST_FIX)}"] if self.fix else []
        )


class Report(Exception):
    """An error that lists everything that is wrong at once, each with its place and what to do about it.

    `title` is one line that says which contract is broken or what could not be done, without the count.
    """

    exit_code = 3

    def __init__(self, title: str, diagnostics: Iterable[Diagnostic]):
        self.title = title
        self.diagnostics = tuple(diagnostics)
        count = len(self.diagnostics)
        head = f"{title} ({count} place{'' if count == 1 else 's'})"
        super().__init__("\n".join([head, *(f"  {diagnostic}" for diagnostic in self.diagnostics)]))

    @classmethod
    def raise_if(cls, title: str, diagnostics: Iterable[Diagnostic]) -> None:
        """Raise a report if there is anything to report."""
        found = tuple(diagnostics)
        if found:
            raise cls(title, found)


_COLORS: Final = {"error": "1;31", "warning": "1;35", "note": "1;36", "remark": "1;34", "fix": "1;32"}
"""SGR parameters by label, those of clang."""


def render(
    diagnostics: Iterable[Diagnostic], sources: Mapping[str, str] | None = None, *, color: bool = False
) -> str:
    """The text of diagnostics; `sources` gives the text of files whose lines may be quoted, and with `color` places,
    labels and carets are in the colours of a terminal.
    """
    paint = _painted if color else _plain
    lines: list[str] = []
    for d in diagnostics:
        frame = d.place.frame
        numbers = (str(number) for number in (frame.lineno, frame.column) if number)
        place = abbreviated(":".join([frame.filename, *numbers]))
        start = paint(f"{place}:", "1") + " " if place else ""
        lines.append(f"{start}{paint(f'{d.severity}:', _COLORS[d.severity])} {d.text}")
        source = (sources or {}).get(frame.filename)
        if source is not None and frame.lineno:
            quoted = source.split("\n")
            if frame.lineno <= len(quoted):
                line, caret = _quote(quoted[frame.lineno - 1], max(frame.column - 1, 0))
                lines += [f"  {line}", f"  {paint(caret, _COLORS['fix'])}"]
        for line in d.additions():
            label, colon, text = line.partition(":")
            lines.append(f"  {paint(label + colon, _COLORS[label])}{text}")
    return "\n".join(lines)


def _plain(text: str, _: str) -> str:
    return text


def _painted(text: str, parameters: str) -> str:
    """`text` in a colour, as an SGR sequence of ECMA-48."""
    return f"\x1b[{parameters}m{text}\x1b[m"


def _quote(line: str, column: int) -> tuple[str, str]:
    """A line, or the part of a long one around a column that counts from 0, and a caret below that column."""
    line = line.expandtabs(1).rstrip("\r")
    start = max(0, min(column - QUOTED // 2, len(line) - QUOTED))
    return line[start : start + QUOTED], " " * (column - start) + "^"


def near_names(name: str, known: Iterable[str], *, count: int = 1, cutoff: float = 0.65) -> list[str]:
    """Names that are similar to `name`: those that it is the beginning of, up to a dot, as of the overloads of an
    operator; those of the same words; then those of similar spelling, of which `cutoff` is the least similarity.
    """
    # Imported after a mistake only: starting is part of the time that a run takes.
    from difflib import get_close_matches

    # Callers of the Python API may give anything for a name.
    name = str(name)
    words = _words(name)
    names = {one: one.lower() for one in known}
    found = [one for one in names if one.startswith(f"{name}.")]
    found += [one for one in names if _words(one) == words]
    close = get_close_matches(name.lower(), names.values(), n=count, cutoff=cutoff)
    found += [one for each in close for one, lower in names.items() if lower == each]
    return list(dict.fromkeys(found))[:count]


def _words(name: str) -> list[str]:
    """The words of a name in order, in the singular."""
    return sorted(word.removesuffix("s") for word in re.findall(r"[^\W_]+", name.lower()))


def same_numbers(name: str, known: Iterable[str]) -> list[str]:
    """Those of some names with the numbers of `name`, if it has any: another number is no misspelling."""
    numbers = re.findall(r"\d+", str(name))
    return [one for one in known if not numbers or re.findall(r"\d+", one) == numbers]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A suggestion to append to a message about an unknown name: ", did you mean 'forward'?", or nothing."""
    close = near_names(name, known)
    return f", did you mean '{close[0]}'?" if close else ""
