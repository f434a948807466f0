"""Errors as a person reads them: place, what is wrong, what to do.

    model.mlir:12:8: error: 'aten.foo': no such op
      %1 = aten.foo %0
           ^
      fix: ...

Every exception that a parser, verifier or pass raises for bad input becomes a list of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute
from xdsl.utils.exceptions import ParseError

from et_ir.verification import InvalidModule

__all__ = ["Diagnostic", "diagnostics_of", "position_of", "render"]


@dataclass(frozen=True)
class Diagnostic:
    """One message about one place. `line` and `column` count from 1; 0 means unknown."""

    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    fix: str = ""
    severity: str = "error"


QUOTED = 200
"""Maximum number of quoted characters of a line."""


def position_of(location: Attribute | None) -> tuple[str, int, int]:
    """File, line and column of a location: of the innermost frame where there are several; `("", 0, 0)` for none."""
    match location:
        case FileLineColLoc():
            return location.filename.data, location.line.data, location.column.data
        case NameLoc():
            return position_of(location.location)
        case CallSiteLoc():
            return position_of(location.callee)
        case FusedLoc():
            for inner in cast("Iterable[Attribute]", location.locations):
                found = position_of(inner)
                if found[0]:
                    return found
        case _:
            pass
    return "", 0, 0


def diagnostics_of(error: BaseException, file: str = "", line_offset: int = 0) -> list[Diagnostic]:
    """Diagnostics of an exception.

    `file` and `line_offset` place parse errors: the name of the text, and the lines before the parsed chunk in it.
    """
    if isinstance(error, ParseError):
        span = error.span
        content = str(span.input.content)
        start = span.start
        line = content.count("\n", 0, start) + 1
        column = start - (content.rfind("\n", 0, start) + 1) + 1
        return [Diagnostic(error.msg, file, line + line_offset, column)]
    if isinstance(error, InvalidModule):
        return [
            Diagnostic(f"'{p.op.name}': {p.message}", *position_of(p.op.location)) for p in error.problems
        ]
    reasons = getattr(error, "reasons", None)
    if reasons is not None:
        return [
            Diagnostic(f"'{r.subject}': {r.message}", *position_of(r.location), fix=r.fix)
            for r in cast("Iterable[Any]", reasons)
        ]
    findings = getattr(error, "findings", None)
    if findings is not None:
        return [
            Diagnostic(_finding_message(f), *position_of(f.location), fix=f.fix or "")
            for f in cast("Iterable[Any]", findings)
        ]
    text = str(error).strip() or type(error).__name__
    return [Diagnostic(text, file)]


def _finding_message(finding: Any) -> str:
    return f"'{finding.op_name}': {finding.message}" if finding.op_name else str(finding.message)


def render(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str] | None = None) -> str:
    """The text of diagnostics; `sources` gives the text of files whose lines may be quoted."""
    lines: list[str] = []
    for d in diagnostics:
        place = ":".join([d.file, *(str(number) for number in (d.line, d.column) if number)])
        lines.append(f"{place}: {d.severity}: {d.message}" if place else f"{d.severity}: {d.message}")
        source = (sources or {}).get(d.file)
        if source is not None and d.line:
            quoted = source.split("\n")
            if d.line <= len(quoted):
                lines.extend(f"  {part}" for part in _quote(quoted[d.line - 1], max(d.column - 1, 0)))
        if d.fix:
            lines.append(f"  fix: {d.fix}")
    return "\n".join(lines)


def _quote(line: str, column: int) -> tuple[str, str]:
    """A line, or the part of a long one around a column that counts from 0, and a caret below that column."""
    line = line.expandtabs(1).rstrip("\r")
    start = max(0, min(column - QUOTED // 2, len(line) - QUOTED))
    return line[start : start + QUOTED], " " * (column - start) + "^"
