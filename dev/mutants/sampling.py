"""A random sample of faults, spread over areas of the sources.

Each area has a share of the sample, and each kind of fault the same number in an area, as far as there are any.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final, NamedTuple

from dev.mutants.operators import KINDS, Fault, faults

__all__ = ["AREAS", "Area", "area_of", "load", "sample", "save", "sources"]


class Area(NamedTuple):
    """Files by patterns of their paths, and their weight in the sample. A file is in the first area that has it."""

    name: str
    patterns: tuple[str, ...]
    weight: int


AREAS: Final = (
    Area("rules", ("et_ops/inference/*",), 3),
    Area("facts", ("et_ops/*",), 2),
    Area("format", ("et_schema/*", "et_backends/*/format*"), 2),
    Area("passes", ("et_ir/passes/*", "et_backends/codegen/passes/*"), 4),
    Area("planner", ("et_ir/planning/*",), 2),
    Area("code generator", ("et_backends/codegen/*",), 3),
    Area(
        "back ends",
        (
            *("et_ir/backends/*", "et_ir/delegation/*", "et_backends/*/compiler*"),
            *("et_backends/*/passes/*", "et_backends/*/raising/*", "et_backends/*/dialect/*"),
        ),
        3,
    ),
    Area("frontend", ("et_ir/frontend/*", "et_ir/quantization/*"), 2),
    Area("compiler", ("et_ir/*",), 4),
    Area("kernels", ("et_vm/kernels/*",), 4),
    Area("reader", ("et_vm/load/*", "et_vm/verify/*"), 3),
    Area("runtime", ("et_vm/*", "et_backends/*/runtime*"), 3),
    Area("commands", ("tools/*", "et_backends/*/lines.py"), 1),
)


def sources(root: Path, areas: Iterable[Area]) -> dict[str, str]:
    """Texts of the Python files of a checkout that are in an area, by path, sorted."""
    areas = tuple(areas)
    folders = sorted({pattern.partition("/")[0] for area in areas for pattern in area.patterns})
    return {
        path: file.read_text(encoding="utf-8")
        for folder in folders
        for file in sorted((root / folder).rglob("*.py"))
        if (path := file.relative_to(root).as_posix()) and area_of(path, areas) and "/generated/" not in path
    }


def sample(texts: Mapping[str, str], areas: Sequence[Area], count: int, seed: int) -> list[Fault]:
    """So many faults of the files with these texts, in a random order; fewer if there are fewer expressions.

    No two change the same expression.
    """
    numbers = random.Random(seed)
    pools: dict[str, dict[str, list[Fault]]] = {area.name: defaultdict(list) for area in areas}
    for path in sorted(texts):
        area = area_of(path, areas)
        if area is not None:
            for fault in faults(path, texts[path]):
                pools[area][fault.kind].append(fault)
    for kinds in pools.values():
        for pool in kinds.values():
            numbers.shuffle(pool)
    # Areas take turns as often as they weigh, kinds take turns in an area.
    turns = [area.name for area in areas for _ in range(area.weight)]
    numbers.shuffle(turns)
    first = {area.name: numbers.randrange(len(KINDS)) for area in areas}
    taken: set[tuple[str, int, int]] = set()
    found: list[Fault] = []
    while len(found) < count and turns:
        for name in list(turns):
            if len(found) == count:
                break
            fault: Fault | None = None
            for step in range(len(KINDS)):
                pool = pools[name][KINDS[(first[name] + step) % len(KINDS)]]
                while pool and fault is None:
                    candidate = pool.pop()
                    if (candidate.path, *candidate.span) not in taken:
                        fault = candidate
                if fault is not None:
                    first[name] += step + 1
                    break
            if fault is None:
                turns.remove(name)
                continue
            taken.add((fault.path, *fault.span))
            found.append(fault)
    return found


def save(path: Path, sampled: Iterable[Fault]) -> None:
    """Write a sample as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(fault) for fault in sampled], indent=1) + "\n", encoding="utf-8")


def load(path: Path, texts: Mapping[str, str]) -> tuple[list[Fault], list[Fault]]:
    """Read a sample for files that may have changed; returns the faults and those that these files cannot have.

    Where the function has moved in its file the fault moves with it.
    """
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    saved = [Fault(**row) for row in rows]
    present = {
        fault.key: fault
        for name in sorted({fault.path for fault in saved})
        if name in texts
        for fault in faults(name, texts[name])
    }
    found = [present[fault.key] for fault in saved if fault.key in present]
    return found, [fault for fault in saved if fault.key not in present]


def area_of(path: str, areas: Iterable[Area]) -> str | None:
    """The name of the area of a file."""
    for area in areas:
        if any(fnmatch(path, pattern) for pattern in area.patterns):
            return area.name
    return None
