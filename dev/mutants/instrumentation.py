"""Sources with switches: `(AFTER if active(7) else BEFORE)` in the place of an expression.

Lines keep their numbers, so that messages and stack traces stay as they are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Final

from dev.mutants.operators import Fault, Span

__all__ = ["MODULE", "instrument"]

MODULE: Final = "_mutant_switch"
"""The name of the switch's copy in each package."""
_CALL: Final = "_mutant_active"
_OUTSIDE: Final = "_mutant_chosen"


def instrument(
    path: str,
    text: str,
    replacements: Iterable[tuple[int, Fault]],
    probes: Iterable[tuple[int, str]] = (),
) -> str:
    """The text of the file with this path, with expressions behind switches.

    Args:
        path: relative to the checkout; its first folder is the package that has the switch.
        replacements: faults with their numbers. Those outside functions are not recorded: each import would reach them.
        probes: numbers, and the qualified names of functions that record them when they are entered.
    """
    raw = text.encode()
    inserted: list[tuple[Span, str, str]] = []
    for number, fault in replacements:
        call = _OUTSIDE if fault.outside else _CALL
        inserted.append((fault.span, f"({fault.after} if {call}({number}) else (", "))"))
    tree = ast.parse(text)
    lines = _Lines(raw)
    wanted: dict[str, list[int]] = {}
    for number, function in probes:
        wanted.setdefault(function, []).append(number)
    if wanted:
        inserted += _probes(tree, lines, wanted)
    inserted.append(_import(tree, lines, path.count("/")))
    return _spliced(raw, inserted).decode()


class _Lines:
    """Bytes of places."""

    def __init__(self, raw: bytes) -> None:
        self._starts = [0]
        for line in raw.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.stmt | ast.expr) -> Span:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[node.end_lineno - 1] + node.end_col_offset,
        )


def _spliced(raw: bytes, inserted: Sequence[tuple[Span, str, str]]) -> bytes:
    """Put texts before and after spans, which do not overlap unless one contains the other."""
    # At one place, ends come before starts, ends of inner spans before those of outer ones, and starts the other way.
    events: list[tuple[tuple[int, int, int, int], str]] = []
    for order, ((start, end), before, after) in enumerate(inserted):
        size = end - start
        events.append(((start, 2 if size else 1, -size, order), before))
        events.append(((end, 0 if size else 1, size, -order), after))
    pieces: list[bytes] = []
    at = 0
    for (place, *_), text in sorted(events):
        pieces += raw[at:place], text.encode()
        at = place
    return b"".join([*pieces, raw[at:]])


def _import(tree: ast.Module, lines: _Lines, depth: int) -> tuple[Span, str, str]:
    """The import of the switch, on the line of the docstring or of the last import from `__future__`."""
    text = f"from {'.' * depth}{MODULE} import active as {_CALL}, chosen as {_OUTSIDE}"
    last: ast.stmt | None = None
    for at, statement in enumerate(tree.body):
        is_docstring = (
            at == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        )
        if not is_docstring and not (
            isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        ):
            break
        last = statement
    if last is not None:
        end = lines.span(last)[1]
        return (end, end), f"; {text}", ""
    start = lines.span(tree.body[0])[0] if tree.body else 0
    is_simple = bool(tree.body) and isinstance(tree.body[0], ast.Import | ast.ImportFrom | ast.Assign)
    return (start, start), f"{text}; " if is_simple else f"{text}\n", ""


def _probes(tree: ast.Module, lines: _Lines, wanted: dict[str, list[int]]) -> list[tuple[Span, str, str]]:
    found: list[tuple[Span, str, str]] = []

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                numbers = wanted.get(prefix + node.name, [])
                probe = _probe(node.body, lines, numbers) if numbers else None
                if probe is not None:
                    found.append(probe)
            elif isinstance(node, ast.If):
                visit(node.body, prefix)
                visit(node.orelse, prefix)

    visit(tree.body, "")
    return found


def _probe(body: list[ast.stmt], lines: _Lines, numbers: list[int]) -> tuple[Span, str, str] | None:
    """Record that a body is entered, in its first statement."""
    for statement in body:
        match statement:
            case ast.Expr(value=ast.Constant()) | ast.FunctionDef() | ast.ClassDef():
                continue
            case ast.Try():
                return _probe(statement.body, lines, numbers)
            case ast.If(test=entered) | ast.While(test=entered) | ast.For(iter=entered):
                pass
            case ast.Match(subject=entered):
                pass
            case ast.With():
                entered = statement.items[0].context_expr
            case _:
                start = lines.span(statement)[0]
                return (start, start), f"{_recorded(numbers)}; ", ""
        return lines.span(entered), f"({_recorded(numbers)} and False or (", "))"
    return None


def _recorded(numbers: list[int]) -> str:
    return f"({', '.join(f'{_CALL}({number})' for number in numbers)},)"
