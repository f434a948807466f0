"""Memory needs of a block's tasks: views, constants, state, kernels in place, unused values."""

from support.modules import parse
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from et_ir.analysis.memory_graph import MemoryGraph, bytes_of_value
from et_ir.targets.lookup import DEFAULT

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
STATE = """
program.buffer @s : tensor<4xf32>
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = program.load @s : tensor<4xf32>
  %0 = edge.relu %s : tensor<4xf32>
  %1 = edge.relu %0 : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
"""


def graph_of(text: str) -> tuple[MemoryGraph, list[Operation]]:
    (method,) = (op for op in parse(text).body.block.ops if isinstance(op, FuncOp))
    block = method.body.block
    return MemoryGraph(block, DEFAULT), list(block.ops)


def test_values_are_needed_from_their_op_to_their_last_use() -> None:
    graph, (_, first, view, unused, second, third, _) = graph_of(TEXT)
    needs = {op: graph.needs[number] for op, number in graph.number.items()}
    assert needs == {
        first: 16 + 32 + 16,
        # %x is gone, and the view is the memory of %0.
        view: 32 + 16,
        unused: 32 + 16 + 400,
        # Written over its argument, which the caller's %y cannot be.
        second: 32 + 16,
        third: 32 + 32,
    }
    assert graph.peak == needs[unused]


def test_a_value_ends_where_a_view_of_it_is_used_last() -> None:
    graph, (_, first, view, unused, second, third, _) = graph_of(TEXT)
    assert not graph.ends_at(first.results[0], view)
    assert graph.ends_at(first.results[0], second)
    assert graph.ends_at(view.results[0], second)
    assert graph.ends_at(first.operands[0], first)
    assert graph.ends_at(third.operands[0], third)
    # A constant is there anyway.
    assert not graph.ends_at(unused.operands[0], unused)


def test_state_has_memory_of_its_own() -> None:
    graph, (load, first, second, _) = graph_of(STATE)
    assert graph.needs == [16, 16 + 16, 16 + 16]
    assert not graph.ends_at(load.results[0], first)
    assert not graph.ends_at(second.results[0], second)


def test_only_tensors_of_known_size_are_counted() -> None:
    (method,) = (
        op
        for op in parse("func.func @f(%x: tensor<?xf32>, %n: i64) { func.return }").body.block.ops
        if isinstance(op, FuncOp)
    )
    assert [bytes_of_value(value) for value in method.body.block.args] == [0, 0]
    assert MemoryGraph(method.body.block, DEFAULT).peak == 0
