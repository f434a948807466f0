"""Writes to places of a tensor counted as if it were a vector."""

from __future__ import annotations

import numpy as np

from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.arguments import check_same_type, check_type
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.indexing.index import check_range
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import Array, Tensor


@kernel("aten::put.out")
def put_out(
    ctx: PrepareContext, self: Tensor, index: Tensor, source: Tensor, accumulate: bool, out: Tensor
) -> Step:
    """``self`` with the elements of ``source`` at the places ``index``, negative ones from the end; of several for one
    place the last, or with ``accumulate`` their sum and that of what was there. Allocates the result.
    """
    check_type(ctx, ScalarType.LONG, index, arg="index")
    check_same_type(ctx, self, ("source", source), ("out", out))
    good = source.numel == index.numel
    ctx.check(good, arg="source", expected=f"{index.numel} elements", got=list(source.sizes))
    count = self.numel
    good = count > 0 or index.numel == 0
    ctx.check(good, arg="index", expected="no places in an empty tensor", got=list(index.sizes))
    out.resize(self.sizes)

    def compute(array: Array, places: Array, values: Array) -> Array:
        check_range(ctx, places, -count, count, "index")
        made: Array = array.reshape(-1).copy()
        at = np.where(places < 0, places + count, places).reshape(-1)
        if accumulate:
            np.add.at(made, at, values.reshape(-1))
        else:
            made[at] = values.reshape(-1)
        return made.reshape(array.shape)

    return evaluated(compute, (self, index, source), (out,))
