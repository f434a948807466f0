"""Accesses of symbols in texts that are not verified as a program of a level."""

from __future__ import annotations

import pytest
from support.modules import parse

from et_ir.evaluation.evaluator import EvaluationFailed, Evaluator

DATA = "#program.data<f32, [1.0, 2.0]>"


@pytest.mark.parametrize(
    ("symbol", "access", "rule"),
    [
        (f"program.buffer @b : tensor<2xf32> = {DATA}", "%0 = program.load @b : tensor<2xf32>", "program_c4"),
        (
            f"program.constant @b : tensor<2xf32> = {DATA}",
            "%0 = program.load @b : tensor<2xf32>",
            "program_c4",
        ),
        ("program.buffer mutable @b : tensor<2xf32>", "%0 = program.get @b : tensor<2xf32>", "program_c4"),
        ("program.buffer mutable @b : tensor<2xf32>", "%0 = program.load @c : tensor<2xf32>", "program_c2"),
        ("program.buffer mutable @b : tensor<2xf32>", "%0 = program.load @b : tensor<3xf32>", "program_c3"),
        (
            f"program.constant @b : tensor<2xf32> = {DATA}",
            "%0 = program.get @b : tensor<2xf32>\nprogram.store @b, %0 : tensor<2xf32>",
            "program_c4",
        ),
    ],
)
def test_accesses_that_do_not_fit(symbol: str, access: str, rule: str) -> None:
    type = "tensor<3xf32>" if "<3xf32>" in access else "tensor<2xf32>"
    module = parse(f"{symbol}\nfunc.func @forward() -> {type} {{\n{access}\nfunc.return %0 : {type}\n}}")
    with pytest.raises(EvaluationFailed) as caught:
        Evaluator(module)
    assert rule in str(caught.value)
