"""Functions that use what a statement outside functions defines.

Names are resolved by the imports of each file, through re-exports and through statements outside functions that use
them in turn. A use of an attribute of anything but a module is not followed, and neither is a registry that a
call fills.
"""

from __future__ import annotations

import ast
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

__all__ = ["Function", "Usage"]

Function: TypeAlias = tuple[str, str]
"""Path of a file and qualified name of a function outside other functions."""
_Name: TypeAlias = tuple[str, str]
"""Path of a file and a name of its module."""

_MOST: Final = 400
"""Names used by more functions than this are used everywhere: any test is as good as these."""


class Usage:
    """Uses of the names of a set of files.

    Args:
        texts: by path.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._modules: dict[str, str] = {}
        for path in texts:
            parts = path.removesuffix(".py").split("/")
            self._modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
        self._functions: defaultdict[_Name, set[Function]] = defaultdict(set)
        self._derived: defaultdict[_Name, set[_Name]] = defaultdict(set)
        self._bound: dict[str, list[tuple[int, int, set[str]]]] = {}
        self._own: defaultdict[_Name, set[Function]] = defaultdict(set)
        for path, text in texts.items():
            self._read(path, ast.parse(text))

    def functions(self, path: str, line: int) -> list[Function]:
        """Functions that use what the statement outside functions at a line defines; of a function, what uses it there.

        Sorted; empty if nothing is defined, and if there are too many to choose tests by.
        """
        seen: set[_Name] = set()
        for first, last, names in self._bound[path]:
            if first <= line <= last:
                seen |= {(path, name) for name in names}
        queue = deque(seen)
        found: set[Function] = set()
        while queue:
            name = queue.popleft()
            found |= self._functions[name] | self._own[name]
            if len(found) > _MOST:
                return []
            for derived in self._derived[name] - seen:
                seen.add(derived)
                queue.append(derived)
        return sorted(found)

    def _read(self, path: str, tree: ast.Module) -> None:
        imported: dict[str, _Name] = {}
        modules: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    local = alias.asname or alias.name
                    inner = self._modules.get(f"{node.module}.{alias.name}")
                    source = self._modules.get(node.module or "")
                    if inner is not None:
                        modules[local] = inner
                    elif source is not None:
                        imported[local] = (source, alias.name)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    source = self._modules.get(alias.name)
                    if source is not None and alias.asname is not None:
                        modules[alias.asname] = source

        def used(node: ast.AST) -> Iterator[_Name]:
            for each in ast.walk(node):
                if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
                    yield imported.get(each.id, (path, each.id))
                elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
                    source = modules.get(each.value.id)
                    if source is not None:
                        yield source, each.attr

        for local, name in imported.items():
            self._derived[name].add((path, local))
        bound: list[tuple[int, int, set[str]]] = []
        self._bound[path] = bound
        for statement in _statements(tree.body):
            names = set(_names(statement))
            first = min(
                [statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", []))]
            )
            bound.append((first, statement.end_lineno or first, names))
            entered = list(_functions(statement, ""))
            for qualified, function in entered:
                for name in used(function):
                    self._functions[name].add((path, qualified))
            for name in names:
                self._own[path, name] |= {(path, qualified) for qualified, _ in entered}
            for part in _evaluated(statement):
                for source in used(part):
                    self._derived[source] |= {(path, name) for name in names}


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements outside functions, those of a conditional or a loop one by one."""
    for statement in body:
        if isinstance(statement, ast.If | ast.For | ast.Try | ast.With):
            yield from _statements(statement.body)
            yield from _statements(getattr(statement, "orelse", []))
            for handler in getattr(statement, "handlers", []):
                yield from _statements(handler.body)
        else:
            yield statement


def _names(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement binds or fills."""
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (name for target in targets for name in _roots(target))
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            yield from _roots(target)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=target))):  # TABLE.update(...)
            yield from _roots(target)
        case _:
            pass


def _roots(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Subscript(value=value) | ast.Attribute(value=value) | ast.Starred(value=value):
            yield from _roots(value)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            yield from (name for element in elements for name in _roots(element))
        case _:
            pass


def _functions(statement: ast.stmt, prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    if isinstance(statement, ast.FunctionDef):
        yield prefix + statement.name, statement
    elif isinstance(statement, ast.ClassDef):
        for inner in statement.body:
            yield from _functions(inner, f"{prefix}{statement.name}.")


def _evaluated(statement: ast.stmt) -> Iterator[ast.AST]:
    """Parts of a statement that are evaluated when the module is imported."""
    match statement:
        case ast.FunctionDef():
            yield from (*statement.decorator_list, *statement.args.defaults)
            yield from (default for default in statement.args.kw_defaults if default is not None)
        case ast.ClassDef():
            yield from (*statement.decorator_list, *statement.bases)
            for inner in statement.body:
                yield from _evaluated(inner)
        case _:
            yield statement
