"""Mutation operators: the faults of a source file, as replacements of expressions.

Constants are changed by one or doubled, comparisons moved to their neighbour or negated, conditions negated, `and` and
`or` swapped, arithmetic operators replaced, and rows of tables dropped. Nothing is changed in annotations, f-strings,
patterns, `raise` statements (they hold messages), messages of assertions, arguments of `dataclass`, lists of names
(`__all__`, `__slots__`), and in what only type checkers or only `python FILE` sees.
"""

from __future__ import annotations

import ast
import copy
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias
from zlib import crc32

__all__ = ["KINDS", "Fault", "Span", "faults"]

KINDS: Final = ("constant", "comparison", "condition", "arithmetic", "row")

Span: TypeAlias = tuple[int, int]
"""First byte and end of an expression in a file."""

_COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_NEGATED: Final = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
_ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Pow: ast.Mult,
}
_LISTS_OF_NAMES: Final = {"__all__", "__slots__", "__match_args__"}
# A table in a string: names, not a phrase.
_WORDS: Final = re.compile(r"(?=.*[_.\n])[\w.:]+(\s+[\w.:]+){2,}", re.DOTALL)
# Equal where the arguments are as they should be.
_KEYWORDS: Final = {"strict", "frozen", "slots", "stacklevel", "maxsize"}


@dataclass(frozen=True)
class Fault:
    """A change of one expression.

    Path, function, kind, texts and ordinal identify it in another revision: the ordinal counts the faults of this kind
    and these texts in the function. `span` is in bytes of UTF-8.
    """

    path: str
    function: str
    kind: str
    ordinal: int
    line: int
    before: str
    after: str
    span: Span
    outside: bool
    """Whether it is evaluated when the module is imported: no function is around it."""

    @property
    def key(self) -> tuple[str, str, str, str, str, int]:
        """What identifies it in other revisions."""
        return self.path, self.function, self.kind, self.before, self.after, self.ordinal


def faults(path: str, text: str) -> list[Fault]:
    """All faults of a file with this path and text, by place; none of a file that is run by its path.

    A file that starts with `if __name__ == "__main__"` cannot import the switch.
    """
    tree = ast.parse(text)
    if any(isinstance(node, ast.If) and _mentions(node.test, "__name__") for node in tree.body):
        return []
    finder = _Finder(path, text)
    finder.visit(tree)
    return finder.found


class _Finder(ast.NodeVisitor):
    def __init__(self, path: str, text: str) -> None:
        self.found: list[Fault] = []
        self._path = path
        self._functions: list[str] = []
        self._depth = 0
        # Tuples that are a row themselves: one with fewer parts is an error of any program.
        self._parts: set[ast.expr] = set()
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._starts = [0]
        for line in text.encode().splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def _add(
        self, node: ast.expr, kind: str, mutated: ast.expr | None, shown: ast.expr | None = None
    ) -> None:
        if mutated is None:
            return
        before, after = ast.unparse(shown or node), ast.unparse(mutated)
        function = ".".join(self._functions)
        counted = function, kind, before, after
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        span = (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[node.end_lineno - 1] + node.end_col_offset,
        )
        ordinal = self._counts[counted]
        self._counts[counted] += 1
        self.found.append(
            Fault(self._path, function, kind, ordinal, node.lineno, before, after, span, not self._depth)
        )

    # Where faults are not looked for.

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Nodes inside have wrong places before Python 3.12."""

    def visit_Raise(self, node: ast.Raise) -> None:
        """Messages."""

    def visit_Assert(self, node: ast.Assert) -> None:
        self._condition(node.test)
        self.visit(node.test)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._value(node.value, [node.target])

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self.visit(target)
        self._value(node.value, node.targets)

    def visit_arg(self, node: ast.arg) -> None:
        """An annotation."""

    def visit_match_case(self, node: ast.match_case) -> None:
        if node.guard is not None:
            self._condition(node.guard)
            self.visit(node.guard)
        for statement in node.body:
            self.visit(statement)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)
        # A tuple of indices, or of types, is not a table.
        for each in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
            self.visit(each)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in _KEYWORDS:
            self.visit(node.value)

    # Where names come from.

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._decorators(node.decorator_list)
        self._functions.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self._functions.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._functions.append(node.name)
        self._decorators(node.decorator_list)
        self.visit(node.args)
        self._depth += 1
        for statement in node.body:
            self.visit(statement)
        self._depth -= 1
        self._functions.pop()

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.args)
        self._depth += 1
        self.visit(node.body)
        self._depth -= 1

    def _decorators(self, decorators: list[ast.expr]) -> None:
        for decorator in decorators:
            if not _mentions(decorator, "dataclass") and not _mentions(decorator, "overload"):
                self.visit(decorator)

    # The faults.

    def visit_Constant(self, node: ast.Constant) -> None:
        self._add(node, "constant", _constant(node.value))
        if isinstance(node.value, str) and not self._depth and _WORDS.fullmatch(node.value.strip()):
            words = node.value.split()
            shown = ast.Constant(" ".join(words))
            del words[_dropped(words)]
            self._add(node, "row", ast.Constant(" ".join(words)), shown)

    def visit_Compare(self, node: ast.Compare) -> None:
        for at, operator in enumerate(node.ops):
            mutated = copy.deepcopy(node)
            mutated.ops[at] = _COMPARISONS[type(operator)]()
            self._add(node, "comparison", mutated)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if _mentions(node.test, "TYPE_CHECKING"):
            return
        self._condition(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._condition(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._condition(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for condition in node.ifs:
            self._condition(condition)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        mutated = copy.deepcopy(node)
        mutated.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._add(node, "condition", mutated)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in _ARITHMETIC and not _is_text(node.left) and not _is_text(node.right):
            is_union = isinstance(node.op, ast.BitOr) and (_is_type(node.left) or _is_type(node.right))
            if not is_union:
                mutated = copy.deepcopy(node)
                mutated.op = _ARITHMETIC[type(node.op)]()
                self._add(node, "arithmetic", mutated)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.target)
        if isinstance(node.op, ast.Add | ast.Sub) and not _is_text(node.value):
            self._add(node.value, "arithmetic", ast.UnaryOp(ast.USub(), copy.deepcopy(node.value)))
        self.visit(node.value)

    def visit_List(self, node: ast.List) -> None:
        self._rows(node)

    def visit_Set(self, node: ast.Set) -> None:
        self._rows(node)

    def visit_Tuple(self, node: ast.Tuple) -> None:
        self._rows(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        if not self._depth and len(node.keys) > 1:
            mutated = copy.deepcopy(node)
            at = _dropped([*map(ast.dump, node.values)])
            del mutated.keys[at], mutated.values[at]
            self._add(node, "row", mutated)
        self._parts |= {each for each in node.values if isinstance(each, ast.Tuple)}
        self.generic_visit(node)

    def _rows(self, node: ast.List | ast.Set | ast.Tuple) -> None:
        self._parts |= {each for each in node.elts if isinstance(each, ast.Tuple)}
        is_read = isinstance(node, ast.Set) or isinstance(node.ctx, ast.Load)
        if not self._depth and node not in self._parts and is_read and len(node.elts) > 1:
            mutated = copy.deepcopy(node)
            del mutated.elts[_dropped([*map(ast.dump, node.elts)])]
            self._add(node, "row", mutated)
        self.generic_visit(node)

    def _condition(self, test: ast.expr) -> None:
        # Negations of these are comparisons; a constant stands for `while True`.
        if isinstance(test, ast.Constant) or (
            isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], _NEGATED)
        ):
            return
        negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        operand = test.operand if isinstance(test, ast.UnaryOp) and negated else test
        self._add(test, "condition", operand if negated else ast.UnaryOp(ast.Not(), operand))

    def _value(self, value: ast.expr, targets: list[ast.expr]) -> None:
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        if names & _LISTS_OF_NAMES:
            return
        # Fewer values than names is an error of any program.
        if isinstance(value, ast.Tuple) and any(isinstance(target, ast.Tuple) for target in targets):
            self.generic_visit(value)
        else:
            self.visit(value)


def _constant(value: object) -> ast.expr | None:
    if isinstance(value, bool):
        return ast.Constant(not value)
    if isinstance(value, int):
        return ast.Constant(value + 1 if value % 2 == 0 else value - 1)
    if isinstance(value, float):
        return ast.Constant(value * 2 if value else 1.0)
    return None


def _dropped(rows: list[str]) -> int:
    """The place of the row to be dropped: chosen by content, the same in any revision."""
    return crc32("\n".join(rows).encode()) % len(rows)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp | ast.Dict | ast.Set) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def _is_type(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr[:1].isupper() and not node.attr.isupper()
    if isinstance(node, ast.Name):
        is_class = node.id[:1].isupper() and not node.id.isupper()
        return is_class or node.id in {"int", "float", "str", "bool", "bytes", "list", "dict", "tuple", "set"}
    return isinstance(node, ast.Subscript | ast.BinOp) and any(map(_is_type, _operands(node)))


def _operands(node: ast.Subscript | ast.BinOp) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    else:
        yield node.value


def _mentions(node: ast.expr, name: str) -> bool:
    return any(
        (isinstance(each, ast.Name) and each.id == name)
        or (isinstance(each, ast.Attribute) and each.attr == name)
        for each in ast.walk(node)
    )
