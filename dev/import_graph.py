"""Imports between the project's files, read from their syntax trees.

`imports` lists what one file imports. `dependencies` makes a graph of all files, tests included, which has also what no
import statement says: modules that a table or a record names for `import_module`, entry points, commands, passes and
backends that a test names (lit tests in their RUN lines), and folders and files that it reads.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Final, cast

__all__ = ["Edge", "Import", "dependencies", "file_of", "imports", "initializer", "modules"]

INSTALLED_AS: Final = {"et_tools": "tools"}
"""Packages with their folders, where these have another name."""
WORD: Final = re.compile(r"[A-Za-z_][\w.]*")
NAME: Final = re.compile(r"[\w.-]+")
COMMAND: Final = re.compile(r"et-[a-z]+")
RUN: Final = re.compile(r"RUN:(.*)")
SHELL_TESTS: Final = (".mlir", ".test")
"""Endings of lit tests, which are nodes by their paths."""
PLACE: Final = re.compile(r"\w[\w./ -]{0,100}")


@dataclass(frozen=True)
class Import:
    """A module that a file imports: by its dotted name, when the file is loaded or later, or for type checkers only."""

    module: str
    is_deferred: bool = False
    is_for_types: bool = False


@dataclass(frozen=True)
class Edge:
    """A module that another depends on, the distance that this counts for, and the reason."""

    module: str
    distance: int
    reason: str


def modules(root: Path, packages: Iterable[str]) -> dict[str, Path]:
    """The files below some folders, by the dotted names of their paths."""
    found: dict[str, Path] = {}
    for package in packages:
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def initializer(module: str) -> str:
    """The node of a package's own file, which runs when something below the package is imported."""
    return f"{module}.__init__"


@dataclass(frozen=True)
class _Found:
    """Import statements and strings of a file, documentation left out."""

    statements: list[tuple[ast.Import | ast.ImportFrom, bool, bool]]
    """Each with whether it is in a function, and whether it is for type checkers."""
    texts: list[str]
    entries: list[tuple[str, str]]
    """Pairs of strings in tables."""
    records: list[list[str]]
    """Strings that a call has as keyword arguments."""


def _read(path: Path) -> _Found:
    found = _Found([], [], [], [])
    rest: list[tuple[ast.AST, bool, bool]] = [(ast.parse(path.read_bytes()), False, False)]
    while rest:
        node, is_deferred, is_for_types = rest.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.statements.append((node, is_deferred, is_for_types))
            continue
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                found.texts.append(node.value)
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            rest += [(child, is_deferred, True) for child in node.body]
            rest += [(child, is_deferred, is_for_types) for child in node.orelse]
            continue
        if isinstance(node, ast.BinOp) and isinstance(
            node.op, ast.Div
        ):  # root / "docs" / "vm.md" is one path
            parts: list[str] = []
            first: ast.expr = node
            while isinstance(first, ast.BinOp) and isinstance(first.right, ast.Constant):
                parts.insert(0, str(first.right.value))
                first = first.left
            if parts:
                found.texts.append("/".join(parts))
                rest.append((first, is_deferred, is_for_types))
                continue
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(value, ast.Constant):
                    found.entries.append((str(key.value), str(value.value)))
        if isinstance(node, ast.Call):
            values = [word.value.value for word in node.keywords if isinstance(word.value, ast.Constant)]
            found.records.append([value for value in values if isinstance(value, str)])
        is_deferred |= isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for each in node._fields:
            value: object = getattr(node, each, None)
            for child in cast("list[object]", value) if isinstance(value, list) else (value,):
                is_name = isinstance(child, ast.Name | ast.expr_context)
                is_documentation = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
                if isinstance(child, ast.AST) and not is_name and not is_documentation:
                    rest.append((child, is_deferred, is_for_types))
    return found


def imports(name: str, files: Mapping[str, Path]) -> Iterator[Import]:
    """Imports anywhere in a file: in functions and for type checkers too.

    `from a import b` needs the module `a.b` if there is one, and else what is in `a`.
    """
    yield from _imports(name, files, _read(files[name]))


def _imports(name: str, files: Mapping[str, Path], found: _Found) -> Iterator[Import]:
    package = name.split(".") if files[name].name == "__init__.py" else name.split(".")[:-1]
    for node, is_deferred, is_for_types in found.statements:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, is_deferred, is_for_types)
            continue
        base = package[: len(package) + 1 - node.level] if node.level else []
        base = [*base, *([node.module] if node.module else [])]
        for alias in node.names:
            inner = ".".join([*base, alias.name])
            known = inner if _installed(inner) in files else ".".join(base)
            yield Import(known, is_deferred, is_for_types)


def _installed(module: str) -> str:
    first, dot, rest = module.partition(".")
    return INSTALLED_AS.get(first, first) + dot + rest


def file_of(module: str, files: Mapping[str, Path]) -> str | None:
    """The file that has a module or, as a name in it, what an import names; None for what is not among the files."""
    parts = _installed(module).split(".")
    while parts and ".".join(parts) not in files:
        parts.pop()
    return ".".join(parts) or None


def dependencies(root: Path, packages: Iterable[str], tests: str = "test") -> dict[str, list[Edge]]:
    """What each file depends on, by dotted names of paths from the root. A package's own file is `initializer` of it.

    An import counts 1, a module that a string names and fixtures 2, and a file of the tests that another uses 0. A file
    that a test reads is its path from the root, a folder the same with a slash; a lit test is its path, too. Without a
    folder of `tests`, these are left out.
    """
    files = modules(root, (*packages, tests) if tests else packages)
    found = {name: _read(path) for name, path in files.items()}
    by_stem: defaultdict[str, list[str]] = defaultdict(list)
    for name in files:
        if name.startswith(f"{tests}."):
            by_stem[name.rpartition(".")[2]].append(name)
    reader = _Reader(root, files, found, tests, by_stem)
    reader.find_plugins()
    graph = {node: edges for name in files for node, edges in reader.edges(name)}
    for path in sorted((root / tests / "lit").rglob("*")) if tests else ():
        if path.suffix in SHELL_TESTS and "Inputs" not in path.parts:
            lines = " ".join(RUN.findall(path.read_text(encoding="utf-8")))
            graph[str(path.relative_to(root))] = list(dict.fromkeys(reader.called(lines)))
    return graph


@dataclass
class _Reader:
    root: Path
    files: dict[str, Path]
    found: dict[str, _Found]
    tests: str
    by_stem: Mapping[str, list[str]]
    """The files of the tests."""
    plugins: dict[str, set[str]] = field(default_factory=dict)
    """Modules by the names that tables and records give them: backends, passes, verbs of commands."""
    groups: dict[str, list[str]] = field(default_factory=dict)
    """Modules of entry points by group."""

    def find_plugins(self) -> None:
        """Fill `plugins` with the entries `"name": "module:attribute"` of all tables, records (calls whose keyword
        arguments are names and places), and entry points, which have the places of the records in their files.
        """
        for name, found in self.found.items():
            if self._is_test(name):
                continue
            for key, value in found.entries:
                self._add_plugin(name, key, [value])
            for record in found.records:
                for key in record:
                    self._add_plugin(name, key, record)
        project = self.root / "pyproject.toml"
        settings = tomllib.loads(project.read_text(encoding="utf-8")) if project.exists() else {}
        for group, points in settings.get("project", {}).get("entry-points", {}).items():
            for name, place in points.items():
                module = self._file_of("", place.partition(":")[0])
                if module is not None:
                    self.groups.setdefault(group, []).append(module)
                    places = [text for record in self.found[module].records for text in record]
                    self._add_plugin(module, name, [place, *places])

    def _add_plugin(self, name: str, key: str, places: Iterable[str]) -> None:
        if NAME.fullmatch(key):
            for place in places:
                module, colon, _ = place.partition(":")
                edges = self._module(name, module, True) if colon else ()
                self.plugins.setdefault(key, set()).update(edge.module for edge in edges)

    def edges(self, name: str) -> Iterator[tuple[str, list[Edge]]]:
        """The nodes of a file with their edges; a package has one for its own file and one for what it loads later."""
        at_load: dict[Edge, None] = {}
        later: dict[Edge, None] = {}
        for found in _imports(name, self.files, self.found[name]):
            target = None if found.is_for_types else self._file_of(name, found.module)
            if target:
                edges = later if found.is_deferred else at_load
                edges |= dict.fromkeys(self._imported(name, target, "imports"))
        later |= dict.fromkeys(self._named(name))
        own = [] if name == self.tests else [*accumulate(name.split("."), "{}.{}".format)][:-1]
        at_load |= {Edge(initializer(each), 1, "is in"): None for each in own if self._is_package(each)}
        if self._is_test(name):
            later |= dict.fromkeys(self._settings(name))
        if self._is_package(name):
            yield initializer(name), list(at_load)
            yield name, [Edge(initializer(name), 0, "is"), *later]
        else:
            yield name, [*at_load, *later]

    def _is_test(self, name: str) -> bool:
        return name.partition(".")[0] == self.tests

    def _is_package(self, name: str) -> bool:
        return name in self.files and self.files[name].name == "__init__.py"

    def _settings(self, name: str) -> Iterator[Edge]:
        """Every `conftest.py` beside or above a test."""
        for folder in accumulate(name.split(".")[:-1], "{}.{}".format):
            if f"{folder}.conftest" in self.files and f"{folder}.conftest" != name:
                yield Edge(f"{folder}.conftest", 2, "has the fixtures of")

    def _file_of(self, name: str, module: str) -> str | None:
        """The file that an import means; of tests, which add their folders to the path, the nearest of that name."""
        found = file_of(module, self.files)
        if found is not None or not self._is_test(name):
            return found
        for folder in reversed([*accumulate(name.split(".")[:-1], "{}.{}".format)]):
            for words in (module, module.partition(".")[0]):
                if f"{folder}.{words}" in self.files:
                    return f"{folder}.{words}"
        near = self.by_stem.get(module.partition(".")[0], [])
        return near[0] if len(near) == 1 else None

    def _imported(self, name: str, target: str, reason: str) -> Iterator[Edge]:
        is_support = self._is_test(name) and self._is_test(target)
        yield Edge(target, 0 if is_support else 1, reason)
        for package in [*accumulate(target.split("."), "{}.{}".format)][:-1]:
            if self._is_package(package):
                yield Edge(initializer(package), 1, reason)

    def _named(self, name: str) -> Iterator[Edge]:
        """Modules, commands, files and folders that the strings of a file name."""
        read = self.found[name]
        is_loader = any(
            alias.name == "import_module" for statement, *_ in read.statements for alias in statement.names
        )
        for text in read.texts:
            yield from (Edge(each, 0, "has the entry points") for each in self.groups.get(text, ()))
            if is_loader or "." in text:
                for word in WORD.findall(text):
                    yield from self._module(name, word, is_loader)
            if self._is_test(name):
                if f"{text}.__main__" in self.files:
                    yield Edge(f"{text}.__main__", 1, "runs")
                yield from self.called(text)
                yield from self._place(name, text)

    def called(self, text: str) -> Iterator[Edge]:
        """Passes, backends and commands that a text names."""
        for word in NAME.findall(text):
            yield from (Edge(each, 1, f"names '{word}',") for each in sorted(self.plugins.get(word, ())))
        for word in COMMAND.findall(text):
            command = f"tools.{word.replace('-', '_')}"
            if command in self.files:
                yield Edge(command, 1, "runs")

    def _module(self, name: str, word: str, is_loader: bool) -> Iterator[Edge]:
        if word.endswith(".") and word.count(".") > 1:  # f"et_vm.kernels.portable.{family}"
            yield from (Edge(each, 2, "names") for each in self.files if each.startswith(_installed(word)))
        word = word.strip(".")
        target = self._file_of("", word) if "." in word else None
        if target and "." in target:
            yield Edge(target, 2, "names")
        if is_loader and not self._is_test(name):
            for package in accumulate(name.split("."), "{}.{}".format):
                if f"{package}.{word}" in self.files and f"{package}.{word}" != name:
                    yield Edge(f"{package}.{word}", 2, "names")

    def _place(self, name: str, text: str) -> Iterator[Edge]:
        """A file or a folder, from the root, from the tests, or from where the file is; a path may go on as data says.

        The name of a package's folder says little, as most mean the package, and that of a folder of tests nothing.
        """
        if not PLACE.fullmatch(text):
            return
        first = text.partition("/")[0]
        for base in (self.root, self.root / self.tests, self.files[name].parent):
            place = base / text
            if first not in _listing(base) or not place.exists():
                continue
            path = str(place.relative_to(self.root)).rstrip("/")
            if not place.is_dir():
                yield Edge(path, 1, "reads")
            elif any(found.suffix not in {"", ".py"} for found in place.iterdir()):
                yield Edge(f"{path}/", 3 if "__init__.py" in _listing(place) else 1, "reads")
            return


@lru_cache(maxsize=1024)
def _listing(folder: Path) -> frozenset[str]:
    return frozenset(path.name for path in folder.iterdir())
