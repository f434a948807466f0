"""Random tensors. The numbers come from numpy's generator, seeded by the operating system: reproducible
programs pass them in.
"""

from __future__ import annotations

import numpy as np

from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.arguments import FLOAT, check_kinds
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.steps import NOTHING, chain, copy
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import Tensor


def _draw(ctx: PrepareContext, method: str, size: list[int], out: Tensor) -> Step:
    check_kinds(ctx, out.scalar_type, (FLOAT,), arg="out")
    ctx.check(all(extent >= 0 for extent in size), arg="size", expected="non-negative sizes", got=size)
    out.resize(size)
    if not out.array.size:
        return NOTHING
    draw = getattr(np.random.default_rng(), method)
    single = out.scalar_type in (ScalarType.FLOAT, ScalarType.DOUBLE) and out.array.flags.c_contiguous
    if single:
        return draw, (None, out.dtype.type, out.array)
    numbers = ctx.scratch(size, np.float32)
    return chain([(draw, (None, np.float32, numbers)), copy(numbers, out.array)])


@kernel("aten::rand.out")
def rand_out(ctx: PrepareContext, size: list[int], out: Tensor) -> Step:
    """Uniform in [0, 1). Scratch: float32 numbers for 16-bit types."""
    return _draw(ctx, "random", size, out)


@kernel("aten::randn.out")
def randn_out(ctx: PrepareContext, size: list[int], out: Tensor) -> Step:
    """Normal with mean 0 and variance 1. Scratch: float32 numbers for 16-bit types."""
    return _draw(ctx, "standard_normal", size, out)
