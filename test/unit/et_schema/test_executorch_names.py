"""ExecuTorch's public names: each has a row, and each row says what is the case."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from et_schema.executorch_names import NotHere, Row, missing_name, option_row, rows

INSTALLED = find_spec("executorch")
SOURCES = (
    "exir",
    "devtools",
    "runtime",
    "extension/export_util",
    "extension/flat_tensor",
    "extension/llm/export",
    "extension/llm/runner",
    "extension/training/__init__.py",
)
"""The parts of the wheel that scripts import from; backends are those of `et_ir.backends`."""
INTERNAL = ("_*", "test*", "*_test", "generated", "generate_*")
"""Patterns of files and folders that are not for scripts."""
PARTS = "|".join(one.removesuffix("/__init__.py").replace("/", r"\.") for one in SOURCES)
IMPORT = re.compile(
    rf"^ *from executorch\.(?:{PARTS})(?:\.[a-z]\w*|\.dialects\._ops)* import (\([^)]*\)|[^\n]+)$", re.M
)
"""An import from these parts, not from files that begin with an underscore."""
COMMAND = {"main", "parse_args"}
"""Functions of modules that are run as commands."""


def _files(root: Path) -> Iterator[Path]:
    for source in SOURCES:
        path = root / source
        found = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        for file in found:
            parts = file.relative_to(root).with_suffix("").parts
            names = [part for part in parts if part != "__init__"]
            if not any(fnmatchcase(name, pattern) for name in names for pattern in INTERNAL):
                yield file


def _public(tree: ast.Module) -> set[str]:
    """The names in `__all__`, and all functions and classes without an underscore. Nothing of it is executed."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            found |= set(ast.literal_eval(node.value))
        elif isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            found.add(node.name)
    return found


def _imported(script: str) -> set[str]:
    """The functions and classes that a script imports from these parts."""
    return {
        name
        for names in IMPORT.findall(script)
        for name in re.findall(r"(\w+)(?: as \w+)?,?", re.sub(r"#.*", "", names))
        if not name.startswith("_") and not name.isupper()
    }


def _wheel() -> Path:
    if INSTALLED is None or not INSTALLED.submodule_search_locations:
        pytest.skip("executorch is not installed")
    return Path(INSTALLED.submodule_search_locations[0])


def test_every_public_name_has_a_row() -> None:
    known = {name for row in rows() for name in row.all_names} | COMMAND
    missing = {
        f"{file.stem}.{name}"
        for file in _files(_wheel())
        for name in _public(ast.parse(file.read_text(encoding="utf-8")))
        if name not in known
    }
    assert not missing


def test_every_name_that_examples_import_has_a_row() -> None:
    known = {name for row in rows() for name in row.all_names}
    scripts = sorted((_wheel() / "examples").rglob("*.py"))
    assert scripts
    missing = {
        f"{script.stem}: {name}"
        for script in scripts
        for name in _imported(script.read_text(encoding="utf-8"))
        if name not in known
    }
    assert not missing


@pytest.mark.parametrize("configuration", ["EdgeCompileConfig", "ExecutorchBackendConfig"])
def test_every_option_is_a_field_or_has_a_row(configuration: str) -> None:
    file = _wheel() / "exir" / "capture" / "_config.py"
    (found,) = (
        node
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and node.name == configuration
    )
    options = [ast.unparse(node.target) for node in found.body if isinstance(node, ast.AnnAssign)]
    translated = {"memory_planning_pass", "constant_tensor_alignment"}
    ours = getattr(import_module("et_ir"), configuration).__dataclass_fields__
    assert options
    assert [
        option
        for option in options
        if option not in ours and option not in translated and option_row(configuration, option) is None
    ] == []


def test_a_name_is_in_one_row() -> None:
    counts = Counter(name for row in rows() for name in row.all_names)
    assert [name for name, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.executorch.replace("`", "")[:40])
def test_rows(row: Row) -> None:
    assert sum(map(bool, (row.there, row.instead, row.none))) == 1
    if row.there:
        module = import_module(row.there)
        assert [name for name in row.all_names if not hasattr(module, name)] == []


@pytest.mark.parametrize(
    ("module", "name", "message"),
    [
        ("et_ir", "to_backend", "edge.to_backend(partitioner), or a dict of partitioners by method"),
        ("et_ir", "XnnpackPartitioner", "it is in et_backends.xnnpack.compiler"),
        ("et_ir.backends", "AllNodePartitioner", "CapabilityPartitioner with EverythingSupported"),
        ("et_ir.backends", "MethodProgramsPartitionerSpec", "a dict of partitioners by method"),
        ("et_ir.etrecord", "Inspector", "it is in et_vm.devtools.inspector"),
        ("et_vm", "ToOutVarPass", "to-out-variant"),
        ("et_vm.devtools", "backend_debug", "edge.delegation"),
        ("et_vm.devtools", "MethodTestCase", "it is in et_vm.devtools.bundled"),
        ("et_vm.devtools.bundled", "deserialize_from_flatbuffer_to_bundled_program", "BundledProgram.load"),
        ("et_vm.devtools.comparators", "Inspector", "it is in et_vm.devtools.inspector"),
        ("et_vm.devtools.inspector", "SNRComparator", "it is in et_vm.devtools.comparators"),
        ("et_vm.llm", "MultimodalRunner", "is not supported: et_vm.llm has text"),
        ("et_vm.runtime", "print_program", "et.dump_executorch_program()"),
        ("et_vm.runtime", "runtime_info", "Runtime.get().backend_registry and operator_registry"),
    ],
)
def test_imports_of_names_that_are_elsewhere(module: str, name: str, message: str) -> None:
    with pytest.raises(NotHere) as caught:
        exec(f"from {module} import {name}", {})
    assert f"{module} has no {name}; " in str(caught.value)
    assert message in str(caught.value)
    assert not set("`[") & set(str(caught.value).replace("[(method", ""))


def test_other_names_are_attribute_errors() -> None:
    with pytest.raises(
        AttributeError, match="module 'et_ir' has no attribute 'to_edg', did you mean 'to_edge'"
    ):
        _ = getattr(import_module("et_ir"), "to_edg")  # noqa: B009


def test_a_submodule_of_such_a_name_is_imported() -> None:
    assert import_module("et_vm.devtools")
    assert "et_vm.devtools" in sys.modules
    assert isinstance(missing_name("et_vm.devtools", "inspector"), AttributeError)
