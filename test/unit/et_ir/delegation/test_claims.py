"""Rewrite patterns and graphs as partitioners."""

import pytest
from xdsl.dialects.builtin import f32
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from et_ir.backends import (
    ANY,
    CONSTANT,
    ClaimPattern,
    DelegationSpec,
    Graph,
    GraphClaim,
    PatternPartitioner,
    Value,
    partition_module,
)
from et_ir.dialects.edge import ops as edge
from et_ir.report import PassReport
from et_ir.verification import verify_module

TEXT = """
program.parameter @w : tensor<4x4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0]>
func.func @forward(%x: tensor<4x4xf32>, %y: tensor<4x4xf64>) -> (tensor<4x4xf32>, tensor<4x4xf64>, tensor<4x4xf32>) {
  %w = program.get @w : tensor<4x4xf32>
  %m = edge.mm %x, %w : tensor<4x4xf32>
  %a = edge.add.Tensor %x, %m : tensor<4x4xf32>
  %r = edge.relu %a : tensor<4x4xf32>
  %s = edge.relu %y : tensor<4x4xf64>
  %n = edge.mm %r, %x : tensor<4x4xf32>
  %q = edge.mul.Tensor %n, %n : tensor<4x4xf32>
  func.return %r, %s, %q : tensor<4x4xf32>, tensor<4x4xf64>, tensor<4x4xf32>
}
"""  # noqa: E501


class TakeRelu(ClaimPattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.ReluOp, rewriter: PatternRewriter, /) -> None:
        if op.result.type.element_type == f32:
            self.take(op)
        else:
            self.refuse(op, "element type", "f64")


def found(parse, *patterns):
    module = parse(TEXT)
    report = partition_module(module, PatternPartitioner(DelegationSpec("Demo"), patterns))
    verify_module(module)
    names = [
        [inner.name.removeprefix("edge.") for inner in op.body.block.ops if inner.name.startswith("edge.")]
        for op in module.walk()
        if op.name == "backend.partition"
    ]
    return names, report


def test_a_rewrite_pattern_claims_its_class(parse):
    names, report = found(parse, TakeRelu())
    assert names == [["relu"]]
    reasons = {(one.op_name, str(one.refusals[0])) for one in report.left_out}
    assert ("edge.relu", "element type: f64") in reasons
    assert ("edge.mm", "matches no pattern of the backend: edge.mm") in reasons


GRAPH = Graph("relu", Graph("add.Tensor", Graph("mm", ANY, CONSTANT), ANY, literals={"alpha": 1}))


@pytest.mark.parametrize(
    ("graph", "names"),
    [
        (GRAPH, [["mm", "add.Tensor", "relu"]]),
        (Graph("mm", ANY, CONSTANT), [["mm"]]),
        (Graph("mm"), [["mm"], ["mm"]]),
        (
            Graph("relu", Graph("add.Tensor", Graph("mm", Value("x"), ANY), Value("x"))),
            [["mm", "add.Tensor", "relu"]],
        ),
        (Graph("mul.Tensor", Value("n"), Value("n")), [["mul.Tensor"]]),
        (Graph("add.Tensor", Value("n"), Value("n")), []),
        (Graph("relu", Graph("mm")), []),
        (Graph("add.Tensor", ANY), []),
        (Graph("add.Tensor", literals={"alpha": 2}), []),
        (Graph("relu", where=lambda op: op.result.type.element_type == f32), [["relu"]]),
        # What is computed within is needed elsewhere.
        (Graph("mm", Graph("relu"), ANY), []),
    ],
)
def test_graphs(parse, graph, names):
    assert found(parse, GraphClaim(graph))[0] == names


def test_the_first_pattern_has_it(parse):
    assert found(parse, GraphClaim(GRAPH), TakeRelu())[0] == [["mm", "add.Tensor", "relu"]]
    # The relu is claimed alone first: the graph has nothing any more.
    assert found(parse, TakeRelu(), GraphClaim(GRAPH))[0] == [["relu"]]


def test_one_node_in_two_places(parse):
    product = Graph("mm")
    assert found(parse, GraphClaim(Graph("mul.Tensor", product, product)))[0] == [["mm", "mul.Tensor"]]


def test_a_pattern_that_raises(parse):
    class Raises(TakeRelu):
        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: edge.ReluOp, rewriter: PatternRewriter, /) -> None:
            raise KeyError("tiles")

    with pytest.raises(PassReport, match="PatternPartitioner raised KeyError: 'tiles'"):
        found(parse, Raises())


class TakeFullOfSize(ClaimPattern):
    """Takes `full` with the size that it has."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.FullOp, rewriter: PatternRewriter, /) -> None:
        self.take(op.operands[0].owner, op)


def test_a_pattern_with_a_size_in_it(parse):
    """Sizes are computed by each partition that needs them: the pattern is what else it has."""
    module = parse("""
func.func @forward(%x: tensor<?x2xf32>) -> tensor<?xf32> {
  %n = edge.sym_size.int %x {dim = 0} : (tensor<?x2xf32>) -> i64
  program.range %n from 1 to 5
  %f = edge.full {size = [%n], fill_value = 0.5} : (i64) -> tensor<?xf32>
  func.return %f : tensor<?xf32>
}
""")
    partition_module(module, PatternPartitioner(DelegationSpec("Demo"), [TakeFullOfSize()]))
    verify_module(module)
    (region,) = (op for op in module.walk() if op.name == "backend.partition")
    assert "edge.full" in [op.name for op in region.body.block.ops]
