"""Every native pattern is shown by a lit test: the op before, what takes its place after."""

from __future__ import annotations

import re
from pathlib import Path

from et_ir.dialects.edge import OP_BY_NAME as EDGE
from et_ir.passes.aten_to_core.decompose.chain import DECOMPOSITIONS, REASONS
from et_ir.passes.to_executorch.legalize import FAMILIES, made, patterns_of
from et_ir.rewriting import root_classes
from et_ir.targets.lookup import DEFAULT, find_target

LIT = Path(__file__).parents[4] / "lit" / "passes"


def ops_of(pattern: str) -> set[str]:
    """The ops of lit tests that match a file name, without those that comments name."""
    lines = [line for file in LIT.rglob(pattern) for line in file.read_text().splitlines()]
    return set(
        re.findall(r"= ((?:aten|edge)\.[\w.]+)", "\n".join(line for line in lines if "//" not in line))
    )


def test_every_decomposition_is_shown() -> None:
    missing = {cls.name for cls in DECOMPOSITIONS} - ops_of("decompose-*.mlir")
    assert not missing, (
        f"test/lit/passes/aten-to-core/decompose-<family>.mlir shows no {', '.join(sorted(missing))}"
    )


def test_every_legalization_is_shown() -> None:
    """One of the ops that a pattern is for; that it gives torch's results on the runtime is a conformance test."""
    shown = ops_of("legalize*.mlir")
    target = find_target(DEFAULT)
    patterns = [made(cls, target) for family in FAMILIES for cls in patterns_of(family, target)]
    classes = [EDGE[name.removeprefix("edge.")] for name in shown if name.startswith("edge.")]
    missing = [type(p).__name__ for p in patterns if not any(issubclass(c, root_classes(p)) for c in classes)]
    assert not missing


def test_convolutions_that_become_products_are_shown() -> None:
    assert "edge.convolution" in ops_of("convolutions-to-products.mlir")


def test_every_decomposition_has_a_reason() -> None:
    """Whether it is true, a conformance test asks torch."""
    assert REASONS.keys() == DECOMPOSITIONS.keys()
