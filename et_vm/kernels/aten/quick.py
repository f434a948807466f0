"""Fast Python entry points of torch by operator.

Torch reaches one C++ function by several Python doors. `torch.ops` is always open but takes 1.7 us to
parse a call; the functions of the `torch` module parse theirs in 0.7 us, and choose among overloads by the
types of their arguments. The tables say which operators a function of the same name arrives at, whatever
the arguments; a test watches the dispatcher to prove it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch

IN_TORCH = frozenset(
    {
        "_fft_c2c.out",
        "_fft_c2r.out",
        "_log_softmax.out",
        "_softmax.out",
        "abs.out",
        "acos.out",
        "acosh.out",
        "add.out",
        "addcdiv.out",
        "addcmul.out",
        "addmm.out",
        "all.all_out",
        "all.dims_out",
        "all.out",
        "amax.out",
        "amin.out",
        "any.all_out",
        "any.dims_out",
        "any.out",
        "arange.out",
        "arange.start_out",
        "argmax.out",
        "argmin.out",
        "asin.out",
        "asinh.out",
        "atan.out",
        "atan2.out",
        "atanh.out",
        "baddbmm.out",
        "bitwise_and.Scalar_out",
        "bitwise_and.Tensor_out",
        "bitwise_left_shift.Tensor_Scalar_out",
        "bitwise_left_shift.Tensor_out",
        "bitwise_not.out",
        "bitwise_or.Scalar_out",
        "bitwise_or.Tensor_out",
        "bitwise_right_shift.Tensor_Scalar_out",
        "bitwise_right_shift.Tensor_out",
        "bitwise_xor.Scalar_out",
        "bitwise_xor.Tensor_out",
        "bmm.out",
        "cat.out",
        "ceil.out",
        "clamp.Tensor_out",
        "clamp.out",
        "clamp_max.out",
        "clamp_min.out",
        "conj_physical.out",
        "cos.out",
        "cosh.out",
        "cumprod.out",
        "cumsum.out",
        "div.out",
        "div.out_mode",
        "dot.out",
        "empty.out",
        "eq.Scalar_out",
        "eq.Tensor_out",
        "erf.out",
        "exp.out",
        "exp2.out",
        "expm1.out",
        "eye.m_out",
        "eye.out",
        "floor.out",
        "floor_divide.out",
        "fmod.Scalar_out",
        "fmod.Tensor_out",
        "full.out",
        "gather.out",
        "ge.Scalar_out",
        "ge.Tensor_out",
        "gt.Scalar_out",
        "gt.Tensor_out",
        "index_select.out",
        "le.Scalar_out",
        "le.Tensor_out",
        "lerp.Scalar_out",
        "linspace.out",
        "log.out",
        "log10.out",
        "log1p.out",
        "log2.out",
        "logical_and.out",
        "logical_not.out",
        "logical_or.out",
        "logical_xor.out",
        "logit.out",
        "logsumexp.out",
        "lt.Scalar_out",
        "lt.Tensor_out",
        "masked_select.out",
        "max.dim_max",
        "max.unary_out",
        "maximum.out",
        "mean.dtype_out",
        "mean.out",
        "min.dim_min",
        "min.unary_out",
        "minimum.out",
        "mm.out",
        "mul.out",
        "mv.out",
        "ne.Scalar_out",
        "ne.Tensor_out",
        "neg.out",
        "nonzero.out",
        "ones.out",
        "pow.Scalar_out",
        "pow.Tensor_Scalar_out",
        "pow.Tensor_Tensor_out",
        "prod.int_out",
        "rand.out",
        "randn.out",
        "reciprocal.out",
        "remainder.Scalar_out",
        "remainder.Tensor_out",
        "round.decimals_out",
        "round.out",
        "rsqrt.out",
        "scatter.src_out",
        "scatter.value_out",
        "scatter_add.out",
        "scatter_reduce.two_out",
        "sgn.out",
        "sigmoid.out",
        "sign.out",
        "sin.out",
        "sinh.out",
        "slice_scatter.out",
        "sort.values",
        "sort.values_stable",
        "sqrt.out",
        "stack.out",
        "std.correction_out",
        "sub.out",
        "sum.IntList_out",
        "tan.out",
        "tanh.out",
        "threshold.out",
        "topk.values",
        "tril.out",
        "triu.out",
        "trunc.out",
        "var.out",
        "where.self_out",
        "zeros.out",
    }
)
"""Operators that the function of their name in `torch` leads to."""

IN_NN = frozenset(
    {
        "_upsample_bilinear2d_aa.out",
        "avg_pool2d.out",
        "avg_pool3d.out",
        "elu.out",
        "gelu.out",
        "glu.out",
        "hardsigmoid.out",
        "hardswish.out",
        "hardtanh.out",
        "leaky_relu.out",
        "linear.out",
        "max_pool2d_with_indices.out",
        "mish.out",
        "reflection_pad1d.out",
        "reflection_pad2d.out",
        "reflection_pad3d.out",
        "replication_pad1d.out",
        "replication_pad2d.out",
        "replication_pad3d.out",
        "silu.out",
        "softplus.out",
        "upsample_bilinear2d.out",
        "upsample_nearest2d.out",
    }
)
"""Operators that the function of their name among the neural network functions leads to."""


def _add(
    self: torch.Tensor, other: int | float, alpha: int | float = 1, *, out: torch.Tensor
) -> torch.Tensor:
    return torch.add(self, other, alpha=alpha, out=out)  # a third positional argument means another overload


def _sub(
    self: torch.Tensor, other: int | float, alpha: int | float = 1, *, out: torch.Tensor
) -> torch.Tensor:
    return torch.sub(self, other, alpha=alpha, out=out)


EQUIVALENT: dict[str, Callable[..., Any]] = {
    "add.Scalar_out": _add,
    "div.Scalar_mode_out": torch.div,
    "div.Scalar_out": torch.div,
    "floor_divide.Scalar_out": torch.floor_divide,
    "mul.Scalar_out": torch.mul,
    "sub.Scalar_out": _sub,
}
"""Functions that lead to the operator on tensors, which treats a number as this one does but writes to its
output where this one allocates."""


def quick_function(name: str) -> Callable[..., Any] | None:
    """The function to call for the operator `name` (`aten::add.out`), with `out=` for its outputs."""
    own = name.removeprefix("aten::")
    function = own.partition(".")[0]
    if own in IN_TORCH:
        return getattr(torch, function)
    if own in IN_NN:
        return getattr(importlib.import_module("torch._C._nn"), function)
    return EQUIVALENT.get(own)
