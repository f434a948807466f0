"""Tests of the core in a copy of the tree without backends.

    python -m dev.core FOLDER

Copies the files that git knows, but for `et_backends` and the commands that load it, and writes the tests of the core
to `FOLDER/unit.txt` and `FOLDER/lit.txt`: unit tests from which no import leads to a backend (`dev/import_graph.py`),
and lit tests of levels and passes that name none.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

from dev.affected import PACKAGES, ROOT
from dev.import_graph import INSTALLED_AS, Edge, dependencies, modules
from dev.runtime_distribution import importing
from et_schema.backend_packages import backend_packages
from et_schema.distribution import PROJECT

__all__ = ["copy", "lit_tests", "main", "unit_tests"]

BACKENDS: Final = "et_backends"
UNIT: Final = tuple(f"test.unit.{package}." for package in ("et_ops", "et_schema", "et_ir", "et_vm"))
LIT: Final = ("test/lit/dialects", "test/lit/passes")
SUFFIXES: Final = {".mlir", ".test"}
DISCOVERY: Final = "has the entry points"
"""The reason of imports of whatever backends there are."""
MISSING: Final = f'''\
"""Absence of the backends, also of those that are installed."""

raise ModuleNotFoundError("No module named '{BACKENDS}'", name="{BACKENDS}")
'''


def unit_tests(root: Path) -> list[str]:
    """Paths of the unit tests of the core's packages that import no backend, themselves or by way of others."""
    graph = dependencies(root, PACKAGES)
    tests = [name for name in graph if name.startswith(UNIT) and name.rpartition(".")[2].startswith("test_")]
    return sorted(f"{name.replace('.', '/')}.py" for name in tests if not _needs_backends(name, graph))


def _needs_backends(name: str, graph: Mapping[str, Sequence[Edge]]) -> bool:
    seen, rest = {name}, [name]
    while rest:
        for edge in graph.get(rest.pop(), ()):
            if edge.reason == DISCOVERY or edge.module in seen:
                continue
            if edge.module.startswith(f"{BACKENDS}."):
                return True
            seen.add(edge.module)
            rest.append(edge.module)
    return False


def lit_tests(root: Path) -> list[str]:
    """Paths of the lit tests of levels and passes that name no backend, no pass or dialect of one, and no `et-compile`,
    which has options for all of them.
    """
    packages = backend_packages()
    names = {"et-compile", *packages.found, *packages.named("dialects"), *packages.named("passes")}
    names |= {package.backend_id for package in packages.found.values() if package.backend_id}
    named = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, sorted(names)))})(?![\w-])")
    return [
        str(path.relative_to(root))
        for folder in LIT
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in SUFFIXES
        and "Inputs" not in path.parts
        and not named.search(path.read_text("utf-8"))
    ]


def copy(root: Path, folder: Path) -> None:
    """Replace a folder by a copy of the tree without the backends.

    With the folder first on the path, its packages and its metadata are found in place of those that are installed.
    """
    shutil.rmtree(folder, ignore_errors=True)
    files = modules(root, PACKAGES)
    left_out = {files[name].relative_to(root).as_posix() for name in importing(files, {BACKENDS})}
    for name in _files(root):
        if name.partition("/")[0] != BACKENDS and name not in left_out and (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, folder / name)
    (folder / f"{BACKENDS}.py").write_text(MISSING, encoding="utf-8")
    for package, place in INSTALLED_AS.items():
        (folder / package).symlink_to(place)
    _write_metadata(folder)


def _write_metadata(folder: Path) -> None:
    """Write the metadata of the installed distribution, without entry points of what is not in the folder."""
    installed = distribution(PROJECT)
    metadata = folder / f"{PROJECT.replace('-', '_')}-{installed.version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(installed.read_text("METADATA") or "", encoding="utf-8")
    groups: dict[str, list[str]] = {}
    for point in installed.entry_points:
        if (folder / f"{point.module.replace('.', '/')}.py").exists():
            groups.setdefault(point.group, []).append(f"{point.name} = {point.value}")
    text = "\n".join(line for group, lines in groups.items() for line in (f"[{group}]", *lines, ""))
    (metadata / "entry_points.txt").write_text(text, encoding="utf-8")


def _files(root: Path) -> Iterator[str]:
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    yield from filter(None, done.stdout.split("\0"))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m dev.core",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    folder: Path = parser.parse_args(arguments).folder
    copy(ROOT, folder)
    for name, tests in (("unit", unit_tests(ROOT)), ("lit", lit_tests(ROOT))):
        (folder / f"{name}.txt").write_text("\n".join([*tests, ""]), encoding="utf-8")
        print(f"{len(tests)} {name} tests of the core")
    return 0


if __name__ == "__main__":
    sys.exit(main())
