"""Fusion by bands: a depthwise convolution in one kernel with the 1x1 convolutions before and after it.

Between them, only some rows of the image exist at a time, in the cache. It pays where a whole image would not stay
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.passes import ModulePass

from et_backends.codegen.dialect import KernelOp, YieldOp
from et_backends.codegen.kernels.pointwise_rules import anchor_of
from et_backends.codegen.kernels.windows import window_of
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["CACHE", "FuseBandsPass"]

CACHE: Final = 1 << 19
"""Bytes of an image that stays in the cache of a processor, of some MB, from one kernel to the next with all else."""


@dataclass(frozen=True)
class FuseBandsPass(ModulePass):
    """Fuse 1x1 convolutions with depthwise ones.

    A kernel of the form `bands` holds two or three kernels, of which each alone reads the result of the one before. It
    computes their result in bands of rows of the image.

    Before:

    ```mlir
    %0 = native.kernel "convolution"(%x, %expand) : ... -> tensor<1x96x112x112xf32> { ... }
    %1 = native.kernel "depthwise"(%0, %filters) : ... -> tensor<1x96x56x56xf32> { ... }
    %2 = native.kernel "convolution"(%1, %project) : ... -> tensor<1x24x56x56xf32> { ... }
    ```

    After:

    ```mlir
    %2 = native.kernel "bands"(%x, %expand, %filters, %project) : ... -> tensor<1x24x56x56xf32> {
    ^bb0(%x_1: ..., %expand_1: ..., %filters_1: ..., %project_1: ...):
      %0 = native.kernel "convolution"(%x_1, %expand_1) : ... -> tensor<1x96x112x112xf32> { ... }
      %1 = native.kernel "depthwise"(%0, %filters_1) : ... -> tensor<1x96x56x56xf32> { ... }
      %3 = native.kernel "convolution"(%1, %project_1) : ... -> tensor<1x24x56x56xf32> { ... }
      native.yield %3 : tensor<1x24x56x56xf32>
    }
    ```
    """

    name = "fuse-bands"

    cache: int = CACHE
    """Bytes of an image between convolutions up to which they are not fused."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                for kernel in list(function.body.block.ops):
                    if isinstance(kernel, KernelOp) and kernel.form.data == "depthwise":
                        chain = _chain(kernel, self.cache)
                        if len(chain) > 1:
                            _fuse(chain)


def _chain(depthwise: KernelOp, cache: int) -> list[KernelOp]:
    """A depthwise convolution with its neighbors, if an image between them is too large for the cache.

    Bands are planned for images whose sizes are known.
    """
    chain = [depthwise]
    if not _is_by_channel(depthwise) or not _is_static(_image(depthwise), depthwise.outputs[0]):
        return chain
    before = _image(depthwise).owner
    if (
        isinstance(before, KernelOp)
        and _is_point(before)
        and _is_by_channel(before)
        and _image(depthwise).has_one_use()
    ):
        chain.insert(0, before)
    users = [use.operation for use in depthwise.outputs[0].uses]
    after = users[0] if len(users) == 1 else None
    if isinstance(after, KernelOp) and _is_point(after) and _image(after) is depthwise.outputs[0]:
        chain.append(after)
    return chain if any(_nbytes(kernel) > cache for kernel in chain[:-1]) else [depthwise]


def _is_static(*values: SSAValue) -> bool:
    return all(tensor_type(value).has_static_shape() for value in values)


def _image(kernel: KernelOp) -> SSAValue:
    """The image that the convolution of a kernel reads."""
    image: SSAValue = anchor_of(kernel).arg("input")
    return kernel.outside().get(image, image)


def _is_point(kernel: KernelOp) -> bool:
    """Whether a kernel computes each pixel from the one at its place."""
    return (
        kernel.form.data == "convolution"
        and window_of(anchor_of(kernel)).is_point
        and anchor_of(kernel).arg("input") in kernel.body.block.args
    )


def _is_by_channel(kernel: KernelOp) -> bool:
    """Whether what a kernel reads beside the image are filters, and numbers for all pixels alike."""
    anchor = anchor_of(kernel)
    channels = tensor_type(kernel.outputs[0]).get_shape()[1]
    image, filters = anchor.arg("input"), anchor.arg("weight")
    return image.has_one_use() and all(
        argument in (image, filters) or prod(tensor_type(argument).get_shape()) in (1, channels)
        for argument in kernel.body.block.args
    )


def _nbytes(kernel: KernelOp) -> int:
    """Bytes of the image that a kernel writes."""
    return 4 * prod(tensor_type(kernel.outputs[0]).get_shape())


def _fuse(chain: Sequence[KernelOp]) -> None:
    """Move kernels into one, at the place of the last."""
    last = chain[-1]
    block = last.parent
    assert block is not None
    made = {result for kernel in chain for result in kernel.outputs}
    inputs = list(dict.fromkeys(value for kernel in chain for value in kernel.inputs if value not in made))
    body = Block(arg_types=[value.type for value in inputs])
    fused = KernelOp("bands", inputs, [value.type for value in last.outputs], Region(body))
    fused.location = last.location
    block.insert_op_before(fused, last)
    arguments = dict(zip(inputs, body.args, strict=True))
    for value, argument in arguments.items():
        argument.name_hint = value.name_hint
    for value, result in zip(last.outputs, fused.outputs, strict=True):
        result.name_hint = value.name_hint
        value.replace_all_uses_with(result)
    for kernel in chain:
        kernel.detach()
        body.add_op(kernel)
        for number, value in enumerate(kernel.inputs):
            kernel.operands[number] = arguments.get(value, value)
    body.add_op(YieldOp(last.outputs))
