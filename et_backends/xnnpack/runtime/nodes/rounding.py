"""From one type of elements to another."""

from __future__ import annotations

from et_backends.xnnpack.format.graph import Node1x1, XNNConvert
from et_backends.xnnpack.runtime.grid import snap_rows
from et_backends.xnnpack.runtime.nodes.declare import translates
from et_backends.xnnpack.runtime.site import Site
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.steps import copy
from et_vm.step import Step


@translates(XNNConvert)
def convert(site: Site, node: Node1x1) -> list[Step]:
    """Quantizing, the other way round, or to and from halves; rows that are quantized as they come get their grids
    here. Scratch for these: six numbers a row.
    """
    x = site.operand(node.input_id)
    out = site.result(node.output_id, x.sizes, None if site.row_grid else x)
    if not site.row_grid:
        same = x.storage is not None and out.storage is not None
        same = same and x.storage.ctypes.data == out.storage.ctypes.data  # pyright: ignore[reportOptionalMemberAccess]
        return [] if same else [copy(x.array, out.array)]
    if not out.numel:
        return []
    calls: list[Step] = []
    x = site.converted(x, ScalarType.FLOAT, calls)
    return [*calls, *snap_rows(site.ctx, x.array, out.array, site.row_grid)]
