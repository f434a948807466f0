import pytest
from support.modules import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from et_backends.xnnpack.compiler.prelu import prelus


def method_of(module: ModuleOp) -> FuncOp:
    return next(op for op in module.body.block.ops if isinstance(op, FuncOp))


WHOLE = """
program.parameter @w : tensor<6xf32> = #program.data<f32, [1., 2., 3., 4., 5., 6.]>
func.func @forward(%x: tensor<2x6xf32>, %y: tensor<2x6xf32>) -> (tensor<2x6xf32>) {
  %w = program.get @w : tensor<6xf32>
  %m = edge.mul.Tensor %x, %w : (tensor<2x6xf32>, tensor<6xf32>) -> tensor<2x6xf32>
  %t = edge.gt.Scalar %x {other = 0} : (tensor<2x6xf32>) -> tensor<2x6xi1>
  %r = edge.where.self %t, %x, %m : (tensor<2x6xi1>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
  func.return %r : tensor<2x6xf32>
}
"""


def test_found_in_the_order_of_its_ops():
    block = method_of(parse(WHOLE)).body.block
    (found,) = prelus(block)
    assert [op.name for op in found.ops] == ["edge.mul.Tensor", "edge.gt.Scalar", "edge.where.self"]
    assert found.x is block.args[0]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{other = 0}", "{other = 1}"),
        ("%t, %x, %m", "%t, %m, %x"),
        ("%t, %x, %m", "%t, %y, %m"),
        ("edge.gt.Scalar %x", "edge.gt.Scalar %y"),
        ("return %r", "return %m"),
    ],
)
def test_nothing_else_is_one(before: str, after: str):
    assert before in WHOLE
    block = method_of(parse(WHOLE.replace(before, after))).body.block
    assert not list(prelus(block))
