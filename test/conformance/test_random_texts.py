"""Random programs of every level through random sequences of passes, against the evaluator.

After each pass the module verifies, and computes what it did. What a pass refuses with a report is counted as refused,
and few may be.
"""

from __future__ import annotations

import random
import warnings
from typing import Any, Final

import pytest
import torch
from support.modules import context
from support.random_texts import RandomText
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from et_ir.diagnostics import PassReport
from et_ir.driver.pipelines import named_pipeline, parse_passes
from et_ir.evaluation.evaluator import Evaluator
from et_ir.pass_application import apply_pass

COMMON: Final = (
    "canonicalize",
    "canonicalize",
    "constant-fold",
    "cse",
    "dce",
    "remove-noops",
    "prune-empty-tensors",
)
ATEN: Final = (
    *COMMON, "decompose", "decompose-traced", "fold-batch-norm", "fold-scales", "fold-sizes", "fold-state",
    "form-cache-updates", "permute-state", "promote-types", "scalars-to-tensors", "views-to-copies",
)  # fmt: skip
EDGE: Final = (
    *COMMON, "convolutions-to-products", "decompose-quantized", "drop-zero-points", "fold-empty-tensors",
    "fuse-normalization", "legalize", "look-up-integers", "narrow-selections", "pack-weights", "pools-to-maxima",
    "propagate-dim-order", "rematerialize", "remove-redundant-copies", "reorder", "select-kernels", "share-matrices",
    "sink-concatenations", "split-channels", "split-complex",
)  # fmt: skip
LONGEST: Final = 8
TOLERANCES: Final = {torch.float16: 2e-2, torch.bfloat16: 6e-2, torch.float32: 1e-4, torch.float64: 1e-4}
"""Relative and absolute, of values of some ten ops; some are of a narrower type than their result."""

LIMITS: Final = ("'aten.split.Tensor': [core_aten_c1]",)
"""Messages of programs that a level refuses: splits into as many parts as an unknown size."""


def check(module: ModuleOp, passes: list[ModulePass], inputs: list[Any], expected: list[Any]) -> bool:
    """Whether the passes take the module; what they make of it computes the expected values."""
    for one in passes:
        try:
            apply_pass(one, context(), module, verify=True)
        except PassReport as error:
            if any(limit in str(error) for limit in LIMITS):
                return False
            raise
        found = Evaluator(module).run(inputs)
        for got, want in zip(found, expected, strict=True):
            tolerance = TOLERANCES.get(want.dtype, 0)
            torch.testing.assert_close(
                got,
                want,
                rtol=tolerance,
                atol=tolerance,
                equal_nan=True,
                msg=lambda m, one=one: f"{one.name}: {m}",
            )
    return True


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(0, 2000, 5))
def test_passes_on_random_programs(first: int) -> None:
    for seed in range(first, first + 5):
        program = RandomText(seed)
        expected = Evaluator(program.module).run(program.inputs)
        draw = random.Random(seed)

        def drawn(names: tuple[str, ...], draw: random.Random = draw) -> list[ModulePass]:
            return parse_passes(",".join(draw.choices(names, k=draw.randint(1, LONGEST))))

        with warnings.catch_warnings(action="ignore"):  # of torch's tracing
            check(program.module.clone(), drawn(ATEN), program.inputs, expected)
            module, level = program.module.clone(), draw.choice("012s")
            stages = [
                one for stage in ("core-aten", "edge") for one in named_pipeline(f"O{level}-{stage}", "et-vm")
            ]
            if check(module, stages, program.inputs, expected):
                check(module, drawn(EDGE), program.inputs, expected)
