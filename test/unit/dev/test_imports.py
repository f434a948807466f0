"""Imports between the project's files, read from their syntax trees: no file depends on itself."""

import textwrap
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from dev.import_graph import imports, modules

ROOT = Path(__file__).parents[3]
PACKAGES = ("et_ops", "et_schema", "et_ir", "et_vm", "et_backends", "tools", "dev")


def cycles(root: Path, packages: tuple[str, ...]) -> list[str]:
    """Cycles of imports that together have all files which depend on themselves."""
    files = modules(root, packages)
    return list(
        _cycles({name: {each.module for each in imports(name, files)} & files.keys() for name in files})
    )


def _cycles(graph: Mapping[str, set[str]]) -> Iterator[str]:
    while True:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            files: list[str] = error.args[1][::-1]
            yield " -> ".join(files)
            graph[files[0]].discard(files[1])
        else:
            return


def test_no_file_depends_on_itself():
    assert cycles(ROOT, PACKAGES) == []


def test_every_kind_of_import_counts(tmp_path: Path):
    texts = {
        "__init__": "",
        "a": "def f():\n    from p import b",
        "b": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .a import f",
        "c": "import p.d",
        "d": "from p.c import name",
        "e": "from p.a import f",
        "q/__init__": "from .inner import one",
        "q/inner": "from . import one\nfrom .. import e",
    }
    for name, text in texts.items():
        path = tmp_path / "p" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))
    found = {frozenset(cycle.split(" -> ")) for cycle in cycles(tmp_path, ("p",))}
    assert found == {frozenset({"p.a", "p.b"}), frozenset({"p.c", "p.d"}), frozenset({"p.q", "p.q.inner"})}
