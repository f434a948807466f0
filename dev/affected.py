"""Tests that a change can affect, by the imports between files.

    python -m dev.affected                 since the commit that passed last on this machine
    python -m dev.affected --base HEAD~3   since a commit
    python -m dev.affected --json FILE     for `pytest --affected FILE`
    python -m dev.affected --pages         the pages that changed, if nothing else did
    python -m dev.affected --near          the test files of pytest near the change
    python -m dev.affected --sources       the typed files that changed, and those that import them

The change is from the base to the working tree. The distance of a test is the number of imports to the nearest file
that changed; `dev.import_graph` says what counts as one. Tests nearer than `FAR` are for the change, and worth running
whole. Without `--base`, the variable BASE names the base; else it is the newest ancestor that passed on this machine,
which `--passed` records; else the newest first parent that is older than twelve hours; else everything has changed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from pathlib import Path, PurePosixPath
from typing import Final

from dev.import_graph import Edge, dependencies, initializer

__all__ = [
    "FAR",
    "Effect",
    "affected",
    "base_of",
    "changed_since",
    "is_documentation",
    "main",
    "record_passed",
    "typed_sources",
]

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = (
    "et_ops",
    "et_schema",
    "et_ir",
    "et_vm",
    "et_backends",
    "tools",
    "dev",
    "bench",
    "examples",
)
TYPED: Final = ("dev", "et_ops", "et_schema", "et_ir", "et_vm", "et_backends")
TESTS: Final = ("test/unit/", "test/conformance/")
LIT: Final = "test/lit/"
FAR: Final = 3
"""The least distance of a test that is affected, but not near the change."""
SETTINGS: Final = (".ci/", "Makefile", "constraints.txt", "pyproject.toml", "setup.py")
"""Files that configure all runs."""
AGE: Final = 12 * 3600
"""Seconds of work that a change has, where nothing says when it began."""


@dataclass(frozen=True)
class Effect:
    """The distance from a test to a change, and the way there."""

    distance: int
    way: tuple[str, ...]
    """The test, what it needs, what that needs, and so on to the file that changed."""


def is_documentation(path: str) -> bool:
    """Whether nothing but pages and their tests can depend on a path."""
    return path.endswith(".md") or path.startswith("docs/")


def affected(root: Path, changed: Iterable[str], packages: Iterable[str] = PACKAGES) -> dict[str, Effect]:
    """The test files that changed paths can affect, the nearest first."""
    changed = sorted(set(changed))
    graph = dependencies(root, packages)
    needed_by: defaultdict[str, list[tuple[str, Edge]]] = defaultdict(list)
    for name, edges in graph.items():
        for edge in edges:
            needed_by[edge.module].append((name, edge))
    best: dict[str, Effect] = {}
    rest: list[tuple[int, str, tuple[str, ...]]] = []
    for path in changed:
        for node in _nodes(path, graph, needed_by):
            heappush(rest, (0, node, (path,)))
    while rest:
        distance, name, way = heappop(rest)
        if name not in best:
            best[name] = Effect(distance, way)
            for user, edge in needed_by[name]:
                if user not in best:
                    heappush(rest, (distance + edge.distance, user, (f"{edge.reason} {name}", *way)))
    found = {path: effect for name, effect in best.items() if (path := _test_of(name)) is not None}
    if settings := [path for path in changed if path.startswith(SETTINGS)]:
        everything = Effect(FAR, (f"runs as {settings[0]} says",))
        for name in graph:
            if (path := _test_of(name)) is not None:
                found.setdefault(path, everything)
    return dict(sorted(found.items(), key=lambda item: (item[1].distance, item[0])))


def typed_sources(root: Path, changed: Iterable[str], packages: Iterable[str] = TYPED) -> list[str]:
    """The files with checked types that changed, and those that import one of them."""
    packages = tuple(packages)
    graph = dependencies(root, packages)
    files = {path: name for path in changed if path.endswith(".py") and (name := _module(path)) in graph}
    names = set(files.values())
    users = {name for name, edges in graph.items() if any(edge.module in names for edge in edges)}
    paths = {_path(each) for name in names | users for each in (name, initializer(name))}
    starts = tuple(f"{each}/" for each in packages)
    return sorted(path for path in paths if path.startswith(starts) and (root / path).is_file())


def _module(path: str) -> str:
    place = PurePosixPath(path)
    name = ".".join(place.with_suffix("").parts)
    return initializer(name.removesuffix(".__init__")) if place.stem == "__init__" else name


def _path(name: str) -> str:
    return f"{name.replace('.', '/')}.py"


def _nodes(path: str, graph: Mapping[str, object], needed_by: Mapping[str, object]) -> Iterator[str]:
    """What has changed with a path: the file, the folders around it, and its module.

    A file that is gone, or data that no test names, is that of the modules beside or above it.
    """
    place = PurePosixPath(path)
    folders = [str(folder) for folder in place.parents if folder.name]
    read = {each for each in (path, *(f"{folder}/" for folder in folders)) if each in needed_by}
    if not (place.suffix == ".py" and path.startswith("test/")):
        yield from read
    module = _module(path)
    if path in graph:
        yield path
    elif place.suffix == ".py" and module in graph:
        yield module
    elif not is_documentation(path) and all(
        initializer(each.strip("/").replace("/", ".")) in graph for each in read
    ):
        for folder in folders:
            beside = folder.replace("/", ".")
            if found := [each for each in graph if each.rpartition(".")[0] == beside]:
                yield from found
                return


def _test_of(name: str) -> str | None:
    if name.startswith(LIT):
        return name
    path = _path(name)
    return path if path.startswith(TESTS) and PurePosixPath(path).name.startswith("test_") else None


def _git(*arguments: str) -> str:
    """What git prints; nothing if it fails."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=False, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def _passed() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "executorch-ir" / "passed"


def record_passed() -> None:
    """Record that HEAD passed on this machine, unless the working tree is another."""
    if (commit := _git("rev-parse", "HEAD")) and not _git("status", "--porcelain"):
        path = _passed()
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text(encoding="utf-8").split() if path.exists() else []
        kept = [*(each for each in before if each != commit), commit][-100:]
        path.write_text("".join(f"{each}\n" for each in kept), encoding="utf-8")


def base_of(given: str | None) -> str | None:
    """The commit that a change began at; `None` if nothing is known of one. `SystemExit` if the one given is none.

    It is the last that passed here. A commit that passed itself is no base of its own: checked again, it has the tests
    that it had.
    """
    if named := given or os.environ.get("BASE"):
        return _git("rev-parse", "--verify", f"{named}^{{commit}}") or sys.exit(f"there is no commit {named}")
    path = _passed()
    ancestors = set(_git("rev-list", "HEAD").split())
    if not _git("status", "--porcelain"):
        ancestors.discard(_git("rev-parse", "HEAD"))
    for commit in reversed(path.read_text(encoding="utf-8").split() if path.exists() else []):
        if commit in ancestors:
            return commit
    head, *parents = [
        line.split() for line in _git("log", "--first-parent", "--format=%ct %H").splitlines()
    ] or [[]]
    return next((commit for made, commit in parents if int(made) < int(head[0]) - AGE), None)


def changed_since(base: str | None) -> list[str]:
    """Paths that differ between a commit and the working tree; all that there are without a commit."""
    if base is None:
        return _git("ls-files").splitlines()
    differing = _git("diff", "--name-only", "--no-renames", base).splitlines()
    return [*differing, *_git("ls-files", "--others", "--exclude-standard").splitlines()]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m dev.affected",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--base", metavar="COMMIT")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the distances to FILE, too")
    parser.add_argument(
        "--pages", action="store_true", help="print the pages that changed, if nothing else did"
    )
    parser.add_argument(
        "--near", action="store_true", help="print nothing but the paths of near test files of pytest"
    )
    parser.add_argument(
        "--sources", action="store_true", help="print the typed files that changed, and their users"
    )
    parser.add_argument("--passed", action="store_true", help="record that HEAD passed")
    options = parser.parse_args(arguments)
    if options.passed:
        record_passed()
        return 0
    base = base_of(options.base)
    changed = changed_since(base)
    if options.pages:
        if changed and all(map(is_documentation, changed)):
            print(*(path for path in changed if path.endswith(".md") and (ROOT / path).exists()))
        return 0
    if options.sources:
        print(*(TYPED if base is None else typed_sources(ROOT, changed)))
        return 0
    found = affected(ROOT, changed)
    if options.near:
        print(*(path for path, effect in found.items() if effect.distance < FAR and path.endswith(".py")))
        return 0
    print(
        f"# {len(changed)} paths differ from {base[:10] if base else 'nothing'}: {len(found)} test files affected"
    )
    for path, effect in found.items():
        print(path, effect.distance, ", which ".join(effect.way[:-1]) or "changed", effect.way[-1], sep="\t")
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        distances = {path: effect.distance for path, effect in found.items()}
        options.json.write_text(json.dumps(distances, indent=0) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
