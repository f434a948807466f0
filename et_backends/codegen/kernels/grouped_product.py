"""Products of groups of rows with a constant matrix for each group."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.kernels.epilogue import Epilogue
from et_backends.codegen.kernels.groups import ends_operand, of_group, visit_groups, with_single_rows
from et_backends.codegen.kernels.host import Host, Operand, kernel_key
from et_backends.codegen.kernels.panels import PANEL, constant_array, group_panels, panel_columns, tile_rows
from et_backends.codegen.kernels.pointwise_rules import anchor_of
from et_backends.codegen.kernels.product import Sizes, accumulate, in_panels
from et_backends.codegen.kernels.row_tiles import visit_rows
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of
from et_backends.codegen.sizes import shape_of

__all__ = ["grouped_product_kernel"]


def grouped_product_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a linear layer with a matrix for each group of rows."""
    anchor = anchor_of(kernel)
    outside = kernel.outside()
    input, weight, ends = anchor.operands
    array = constant_array(host, outside[weight])
    assert array is not None
    (rows, columns), inner = shape_of(anchor.results[0]), array.shape[1]
    assert isinstance(columns, int)
    groups, most = len(array) // columns, host.most(rows)
    sizes = Sizes(1, rows, inner, columns, tile_rows(most, host), panel_columns(host), most)
    sizes = with_single_rows(in_panels(sizes, host.panel(PANEL)), groups)
    epilogue = Epilogue(kernel, anchor, rows, columns)
    operands = [
        Operand(host.buffer(outside[input]), [rows, inner]),
        group_panels(host, array.reshape(groups, columns, inner), sizes.panel),
        ends_operand(host, outside[ends]),
        *epilogue.operands(host),
        Operand(host.buffer(kernel.outputs[0]), [rows, columns]),
    ]

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, w, limits, *others, y = buffers
        epilogue.bind(others)

        def visit(
            number: Index | None, start: Index, end: Index, column: Index, width: int, mask: SSAValue | None
        ) -> None:
            panels = None if number is None else of_group(b, w, b.dim(limits, 0), number)

            def one(row: Index, height: int) -> None:
                if panels is None:
                    total = b.splat(0.0, vector_of(height, width))
                else:
                    total = accumulate(b, x, panels, [row, column], height, width, None, mask)
                epilogue.store(b, total, y, [row, column], mask)

            visit_rows(b, start, end, sizes.tile_rows, one, any_number=True)

        visit_groups(b, sizes, limits, b.dim(y, 0), b.dim(y, 1), visit)

    host.call("grouped_product", operands, build, kernel_key(kernel))
