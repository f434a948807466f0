"""Expected errors in test inputs, as `mlir-opt --verify-diagnostics` reads them.

// expected-error@+1 {{part of the message}}
// expected-error@below {{...}}        the next line; @above the one before
// expected-error {{...}}              this line
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from et_ir.diagnostics import Diagnostic

__all__ = ["check_expected"]

_EXPECTED = re.compile(
    r"//\s*expected-error(?P<re>-re)?\s*(?:@(?P<where>[+-]\d+|above|below|unknown))?\s*\{\{(?P<text>.*?)\}\}"
)


def check_expected(chunk: str, found: Sequence[Diagnostic], name: str, first_line: int) -> list[Diagnostic]:
    """Match errors against the expectations in a text; returns a diagnostic for each side that has no partner.

    Errors whose place is unknown or in another file match `@unknown` only.
    """
    open_: list[tuple[int, re.Pattern[str], str]] = []
    for index, text in enumerate(chunk.split("\n")):
        for match in _EXPECTED.finditer(text):
            line = first_line + index
            match match["where"]:
                case None:
                    pass
                case "above":
                    line -= 1
                case "below":
                    line += 1
                case "unknown":
                    line = 0
                case offset:
                    line += int(offset)
            pattern = match["text"] if match["re"] else re.escape(match["text"])
            open_.append((line, re.compile(pattern), match["text"]))
    problems: list[Diagnostic] = []
    for diagnostic in found:
        line = diagnostic.line if diagnostic.file == name else 0
        partner = next((e for e in open_ if e[0] == line and e[1].search(diagnostic.message)), None)
        if partner is None:
            problems.append(
                Diagnostic(
                    f"unexpected error: {diagnostic.message}",
                    diagnostic.file,
                    diagnostic.line,
                    diagnostic.column,
                )
            )
        else:
            open_.remove(partner)
    problems.extend(Diagnostic(f"expected error was not produced: {e[2]}", name, e[0]) for e in open_)
    return problems
