"""Products of matrices of bytes."""

from __future__ import annotations

import numpy as np

from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.arguments import check_rank, check_type
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import Tensor

_SINGLE_TERMS = 256
"""How many products of bytes float32 adds up exactly."""


@kernel("aten::_int_mm.out")
def int_mm_out(ctx: PrepareContext, self: Tensor, mat2: Tensor, out: Tensor) -> Step:
    """``self`` [m, k] of int8 or uint8 times ``mat2`` [k, n] of int8, as int32: by a product of floats, which is exact,
    of float32 for small k and float64 for others. Allocates the operands in that type and the result.
    """
    for arg, matrix in (("self", self), ("mat2", mat2)):
        check_rank(ctx, matrix, 2, arg=arg)
    good = self.scalar_type in (ScalarType.CHAR, ScalarType.BYTE)
    ctx.check(good, arg="self", expected="int8 or uint8", got=self.scalar_type.torch_name)
    check_type(ctx, ScalarType.CHAR, mat2, arg="mat2")
    check_type(ctx, ScalarType.INT, out, arg="out")
    inner = self.sizes[1]
    ctx.check(mat2.sizes[0] == inner, arg="mat2", expected=f"{inner} rows", got=list(mat2.sizes))
    out.resize((self.sizes[0], mat2.sizes[1]))
    dtype = np.dtype(np.float32 if inner <= _SINGLE_TERMS else np.float64)
    ctx.work(self.numel * mat2.sizes[1])
    return evaluated(np.matmul, (self, mat2), (out,), dtype)
