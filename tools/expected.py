"""Expected errors in test inputs, as `mlir-opt --verify-diagnostics` reads them.

// expected-error@+1 {{part of the message}}
// expected-error@below {{...}}        the next line that has no such comment; @above the one before
// expected-error {{...}}              this line
// expected-error@unknown {{...}}      an error without a place in this file
// expected-error-re {{a {{[0-9]+}}}}  regular expressions in inner braces

There are only errors here: an expected warning, note or remark is never produced.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from et_schema.diagnostics import Diagnostic, Frame, Location

__all__ = ["check_expected"]

_EXPECTED = re.compile(
    r"expected-(?P<severity>error|warning|note|remark)(?P<re>-re)? *"
    r"(?:@(?P<where>[+-]\d+|above|below|unknown))? *\{\{(?P<text>.*)\}\}\s*$"
)
_INNER = re.compile(r"\{\{(.*?)\}\}")


def check_expected(chunk: str, found: Sequence[Diagnostic], name: str, first_line: int) -> list[Diagnostic]:
    """Match errors against the expectations in a text; returns a diagnostic for each side that has no partner.

    Errors whose place is unknown or in another file match `@unknown` only.
    """
    lines = chunk.split("\n")
    matches = [_EXPECTED.search(line) for line in lines]
    open_: list[tuple[int, re.Pattern[str], str]] = []
    for index, match in enumerate(matches):
        if match is None:
            continue
        line = _place(matches, index, match["where"], first_line)
        pattern = _pattern(match["text"]) if match["re"] else re.escape(match["text"])
        open_.append((line, re.compile(pattern), f"{match['severity']}: {match['text']}"))
    problems: list[Diagnostic] = []
    for diagnostic in found:
        line = diagnostic.line if diagnostic.file == name else 0
        partner = next(
            (
                expected
                for expected in open_
                if expected[0] == line
                and expected[2].startswith(f"{diagnostic.severity}: ")
                and expected[1].search(diagnostic.text)
            ),
            None,
        )
        if partner is None:
            problems.append(
                Diagnostic(
                    f"unexpected error: {diagnostic.text}",
                    at=Location(diagnostic.place.frames),
                )
            )
        else:
            open_.remove(partner)
    problems.extend(
        Diagnostic(f"expected {text!r} was not produced", at=Location((Frame(name, line),)))
        for line, _, text in open_
    )
    return problems


def _place(matches: Sequence[re.Match[str] | None], index: int, where: str | None, first_line: int) -> int:
    """The line an expectation speaks of; 0 stands for none."""
    if where == "unknown":
        return 0
    if where in ("above", "below"):
        step = 1 if where == "below" else -1
        index += step
        while 0 <= index < len(matches) and matches[index] is not None:
            index += step
        return first_line + index
    return first_line + index + int(where or 0)


def _pattern(text: str) -> str:
    """A regular expression from text with regular expressions in double braces."""
    parts = _INNER.split(text)
    return "".join(f"(?:{part})" if index % 2 else re.escape(part) for index, part in enumerate(parts))
