"""Texts that the evaluator refuses, with the op at fault."""

from __future__ import annotations

import pytest
import torch
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


SIZES = "tensor<?xf32, #program.sizes<{}>>"
RANGES = "attributes {program.ranges = #program.ranges<s0 from 1 to 9, s1 from 1 to 9>}"


def test_loops_over_different_lengths() -> None:
    """As sizes that the types leave open are on the inputs."""
    a, b = SIZES.format("s0"), SIZES.format("s1")
    module = parse(
        f"func.func @forward(%x: {a}, %y: {b}) -> {a} {RANGES} {{\n"
        f"  %0 = control.map over (%x, %y) : ({a}, {b}) -> ({a}) {{\n"
        "  ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
        "    %1 = aten.add.Tensor %p, %q : tensor<f32>\n"
        "    control.yield %1 : tensor<f32>\n  }\n"
        f"  func.return %0 : {a}\n}}"
    )
    with pytest.raises(EvaluationFailed, match=r"loops over tensors of different lengths: \[2\], \[3\]"):
        Evaluator(module).run([torch.ones(2), torch.ones(3)])


def test_results_of_a_loop_of_different_sizes() -> None:
    module = parse(
        "func.func @forward(%x: tensor<2x3xf32>) -> tensor<2x?x1xi64> {\n"
        "  %0 = control.map over (%x) : (tensor<2x3xf32>) -> (tensor<2x?x1xi64>) {\n"
        "  ^bb0(%p: tensor<3xf32>):\n"
        "    %1 = aten.nonzero %p : (tensor<3xf32>) -> tensor<?x1xi64>\n"
        "    control.yield %1 : tensor<?x1xi64>\n  }\n"
        "  func.return %0 : tensor<2x?x1xi64>\n}"
    )
    with pytest.raises(EvaluationFailed, match="stack expects each tensor to be equal size"):
        Evaluator(module).run([torch.tensor([[1.0, 0, 0], [1, 1, 0]])])
