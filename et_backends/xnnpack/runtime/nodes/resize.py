"""Images in another size."""

from __future__ import annotations

from et_backends.xnnpack.format.graph import XNNStaticResizeBilinear2D
from et_backends.xnnpack.runtime.nodes.declare import translates
from et_backends.xnnpack.runtime.site import Site, image
from et_vm.kernels.portable.image.resample import upsample_bilinear2d_out
from et_vm.step import Step

TENSORFLOW = 4
ALIGN_CORNERS = 8


@translates(XNNStaticResizeBilinear2D)
def resize(site: Site, node: XNNStaticResizeBilinear2D) -> list[Step]:
    """By linear interpolation along both sides: between the middles of pixels or, with ALIGN_CORNERS, the corners."""
    x = site.operand(node.input_id)
    site.check(len(x.sizes) == 4, "input", "an image", list(x.sizes))
    site.check(not node.flags & TENSORFLOW, "flags", "pixels with a middle", node.flags)
    out = site.result(node.output_id, (x.sizes[0], node.new_height, node.new_width, x.sizes[3]))
    calls: list[Step] = []
    x = site.converted(x, out.scalar_type, calls)
    size = [node.new_height, node.new_width]
    corners = bool(node.flags & ALIGN_CORNERS)
    arguments = image(x), size, corners, None, None, image(out)
    return [*calls, *site.kernel("aten::upsample_bilinear2d.out", upsample_bilinear2d_out, *arguments)]
