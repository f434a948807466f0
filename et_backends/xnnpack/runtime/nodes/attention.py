"""Scaled dot product attention."""

from __future__ import annotations

import numpy as np

from et_backends.xnnpack.format.graph import XNNScaledDotProductAttention
from et_backends.xnnpack.runtime.nodes.declare import translates
from et_backends.xnnpack.runtime.site import Site
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.reduction.softmax import softmax_out
from et_vm.kernels.portable.steps import call, copy
from et_vm.step import Step
from et_vm.values import Tensor


@translates(XNNScaledDotProductAttention)
def attention(site: Site, node: XNNScaledDotProductAttention) -> list[Step]:
    """softmax((q * scale) k^T + mask) v with q, k and v of shape (batch, heads, tokens, channels), a scale for each
    channel, and a mask of (tokens, tokens). Scratch: the scaled queries, the scores twice, and halves in float32.
    """
    calls: list[Step] = []
    query, key, value = (site.operand(number) for number in (node.query_id, node.key_id, node.value_id))
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        site.check(len(tensor.sizes) == 4, name, "four dimensions", list(tensor.sizes))
    batch, heads, tokens, channels = query.sizes
    site.check(key.sizes[3] == channels, "key", f"{channels} channels", list(key.sizes))
    site.check(value.sizes[:3] == key.sizes[:3], "value", list(key.sizes[:3]), list(value.sizes))
    site.check(key.sizes[:2] == (batch, heads), "key", [batch, heads], list(key.sizes))
    out = site.result(node.output_id, (batch, heads, tokens, value.sizes[3]))
    wide: list[Tensor] = [
        site.converted(tensor, ScalarType.FLOAT, calls)
        for tensor in (query, key, value, site.operand(node.scale_id))
    ]
    q, k, v, scale = (tensor.array for tensor in wide)
    site.check(scale.size in (1, channels), "scale", f"{channels} numbers", scale.size)
    scaled = site.ctx.scratch((batch, heads, tokens, channels), np.float32)
    scores, weights = (
        Tensor(
            ScalarType.FLOAT,
            (batch, heads, tokens, key.sizes[2]),
            storage=site.ctx.scratch(4 * batch * heads * tokens * key.sizes[2]),
        )
        for _ in range(2)
    )
    target = out.array
    if out.scalar_type != ScalarType.FLOAT:
        target = site.ctx.scratch(out.sizes, np.float32)
    calls += [
        call(np.multiply, q, scale.reshape(-1), scaled),
        (np.matmul, (scaled, k.swapaxes(-1, -2), scores.array)),
    ]
    mask = site.optional(node.mask_id)
    if mask is not None:
        expected = (tokens, key.sizes[2])
        site.check(
            mask.sizes[-2:] == expected and mask.numel == tokens * key.sizes[2], "mask", expected, mask.sizes
        )
        added = site.converted(mask, ScalarType.FLOAT, calls).array.reshape(expected)
        calls.append(call(np.add, scores.array, added, scores.array))
    calls += site.kernel("aten::_softmax.out", softmax_out, scores, -1, False, weights)
    calls.append((np.matmul, (weights.array, v, target)))
    if target is not out.array:
        calls.append(copy(target, out.array))
    return calls
