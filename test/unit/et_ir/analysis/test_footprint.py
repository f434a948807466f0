"""Program footprint at each stage."""

from support.modules import parse, run

from et_ir.analysis.footprint import Footprint, footprint
from et_ir.targets.lookup import DEFAULT

TEXT = """
program.constant @w : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
func.func @forward(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  %w = program.get @w : tensor<4xf32>
  %0 = edge.mul.Tensor %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.relu %0 : tensor<4xf32>
  %2 = edge.view_copy %1 {size = [2, 2]} : (tensor<4xf32>) -> tensor<2x2xf32>
  func.return %2 : tensor<2x2xf32>
}
"""


def test_what_is_counted_follows_the_program_down() -> None:
    module = parse(TEXT)
    # relu can write over its argument, a view has no storage, and constants have theirs in the file.
    assert footprint(module, DEFAULT) == Footprint(2, 2, 32, 16)
    run(module, "to-out-variant,write-back,copies-to-views")
    assert footprint(module, DEFAULT) == Footprint(2, 2, 32, 16)
    run(module, "in-place")
    assert footprint(module, DEFAULT) == Footprint(2, 1, 32, 16)
    run(module, "plan-memory{algorithm=naive}")
    assert footprint(module, DEFAULT) == Footprint(2, 1, 32, 16)


def test_above_edge_views_are_not_told_apart() -> None:
    module = parse(
        "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> "
        "{ %0 = aten.relu %x : tensor<4xf32> func.return %0 : tensor<4xf32> }"
    )
    assert footprint(module, DEFAULT) == Footprint(1, 1, None, 0)


def test_constants_that_nothing_uses_do_not_count() -> None:
    module = parse(TEXT.replace("%w : (tensor", "%x : (tensor"))
    assert footprint(module, DEFAULT).constants == 0
