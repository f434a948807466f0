"""Partitioners whose operators users restrict: what is taken, what is kept whole, and options."""

from __future__ import annotations

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from et_ir.delegation.operator_partitioner import OperatorPartitioner, is_move, restrictions
from et_ir.delegation.specs import DelegationSpec, PartitionResult
from et_ir.delegation.support import EverythingSupported, OperatorSupport
from et_ir.dialects.schema import SchemaOp
from et_ir.text import parse_module
from et_tools.reading import compiler_context

TEXT = """func.func @forward(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %0 = edge.relu %x : tensor<2x3xf32>
  %1 = edge.exp %0 : tensor<2x3xf32>
  %2 = edge.view_copy %1 {size = [6]} : (tensor<2x3xf32>) -> tensor<6xf32>
  func.return %2 : tensor<6xf32>
}
"""

LEFT_OUT, NOTHING = "left out by the user", "the partition computes nothing"


class Demo(OperatorPartitioner):
    """Takes everything."""

    kept_operators = ("linear", "silu")

    def support(self, method: FuncOp) -> OperatorSupport:
        return self.chosen(EverythingSupported())

    def only_moves(self, op: Operation) -> bool:
        return is_move(op)


def partitioned(**options: object) -> tuple[PartitionResult, dict[str, str]]:
    """What is tagged, and the reason for each op that is not."""
    module = parse_module(compiler_context(), TEXT)
    method = module.body.block.first_op
    assert isinstance(method, FuncOp)
    result = Demo(DelegationSpec("Demo"), **options).partition(method)  # pyright: ignore[reportArgumentType]
    return result, {op.name: refusal.message for op, refusal in result.refusals.items()}


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({}, {}),
        (
            {"only": ["relu", "view_copy"]},
            {"edge.exp": LEFT_OUT, "edge.view_copy": NOTHING},
        ),
        ({"without": ["edge.relu"]}, {"edge.relu": LEFT_OUT}),
        ({"min_ops": 3}, {}),
        ({"min_ops": 4}, dict.fromkeys(("edge.relu", "edge.exp", "edge.view_copy"), "partition too small")),
        (
            {"without": ["relu", "exp"]},
            {
                "edge.relu": LEFT_OUT,
                "edge.exp": LEFT_OUT,
                "edge.view_copy": NOTHING,
            },
        ),
    ],
)
def test_what_is_refused(options: dict[str, object], refused: dict[str, str]) -> None:
    _, found = partitioned(**options)
    assert found == refused


def test_operators_that_are_left_out_are_not_kept_whole() -> None:
    assert Demo(DelegationSpec("Demo")).ops_to_not_decompose() == (["linear", "silu"], None)
    assert Demo(DelegationSpec("Demo"), without=["silu"]).ops_to_not_decompose() == (["linear"], None)


def test_options() -> None:
    assert restrictions({}) == {"only": [], "without": [], "min_ops": 1}
    given = {"only": "add+mul", "without": "relu", "min": "3"}
    assert restrictions(given) == {"only": ["add", "mul"], "without": ["relu"], "min_ops": 3}
    with pytest.raises(ValueError, match="min=x: expected a number of ops"):
        restrictions({"min": "x"})
    with pytest.raises(ValueError, match=r"unknown operator 'rellu'.*did you mean"):
        Demo(DelegationSpec("Demo"), only=["rellu"])


def test_moves() -> None:
    module = parse_module(compiler_context(), TEXT)
    assert [op.name for op in module.walk() if isinstance(op, SchemaOp) and is_move(op)] == ["edge.view_copy"]
