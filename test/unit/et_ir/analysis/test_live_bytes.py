"""Peak live bytes of a block: views, constants, regions, unused values."""

from modules import parse
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from et_ir.analysis.live_bytes import LiveBytes, bytes_of_value

TEXT = """
program.parameter @w : tensor<100xf32>
func.func @forward(%x: tensor<4xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %w = program.get @w : tensor<100xf32>
  %0 = edge.relu %x : tensor<4xf32>
  %1 = edge.view_copy %0 {size = [2, 2]} : (tensor<4xf32>) -> tensor<2x2xf32>
  %unused = edge.relu %w : tensor<100xf32>
  %2 = edge.relu %1 : tensor<2x2xf32>
  %3 = edge.relu %y : tensor<8xf32>
  func.return %3 : tensor<8xf32>
}
"""


def ops() -> tuple[LiveBytes, list[Operation]]:
    (method,) = (op for op in parse(TEXT).body.block.ops if isinstance(op, FuncOp))
    block = method.body.block
    return LiveBytes(block), list(block.ops)


def test_values_are_needed_from_their_op_to_their_last_use() -> None:
    live, (get, first, view, unused, second, third, last) = ops()
    assert live.at(get) == 16 + 32
    assert live.at(first) == 16 + 32 + 16
    # %x is gone, and the view is the memory of %0.
    assert live.at(view) == 32 + 16
    assert live.at(unused) == 32 + 16 + 400
    assert live.at(second) == 32 + 16 + 16
    assert live.at(third) == 32 + 32
    assert live.at(last) == 32
    assert live.peak == live.at(unused)


def test_a_value_ends_where_a_view_of_it_is_used_last() -> None:
    live, (_, first, view, _, second, _, _) = ops()
    assert not live.ends_at(first.results[0], view)
    assert live.ends_at(first.results[0], second)
    assert live.ends_at(view.results[0], second)
    assert live.ends_at(first.operands[0], first)


def test_only_tensors_of_known_size_are_counted() -> None:
    (method,) = (
        op
        for op in parse("func.func @f(%x: tensor<?xf32>, %n: i64) { func.return }").body.block.ops
        if isinstance(op, FuncOp)
    )
    assert [bytes_of_value(value) for value in method.body.block.args] == [0, 0]
    assert LiveBytes(method.body.block).peak == 0
