"""Calls of operators that decompose, by family, chosen for the branches of their patterns or formulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch

import et_ir.frontend.experts  # noqa: F401  # pyright: ignore[reportUnusedImport]  (registers an operator)

A = torch.ops.aten
Case = tuple[Any, ...]
"""An operator, its arguments, and perhaps last a dict of its keyword arguments."""


def f(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Numbers around 0."""
    return torch.randn(shape, dtype=torch.float32).to(dtype)


def p(*shape: int) -> torch.Tensor:
    """Numbers between 0 and 1."""
    return torch.rand(shape) * 0.9 + 0.05


def i(*shape: int, low: int = -4, high: int = 5, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.randint(low, high, shape, dtype=dtype)


def m(*shape: int) -> torch.Tensor:
    return torch.rand(shape) > 0.4


def matmul() -> Iterator[Case]:
    yield A.linear, f(2, 3), f(4, 3), f(4)
    yield A.linear, f(2, 3), f(4, 3)
    yield A.linear, f(2, 5, 3), f(4, 3), f(4)
    yield A.linear, f(2, 5, 3), f(4, 3)
    yield A.linear, f(3), f(4, 3), f(4)
    yield A.linear, f(2, 3), f(3)
    yield A.linear, f(2, 3, dtype=torch.float16), f(4, 3, dtype=torch.float16), f(4, dtype=torch.float16)
    for left, right in (
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (3,)),
        ((2, 3), (5, 3, 4)),
        ((3,), (5, 3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((6, 5, 2, 3), (5, 3, 4)),
        ((6, 5, 2, 3), (6, 5, 3, 4)),
        ((6, 1, 2, 3), (5, 3, 4)),
        ((1, 5, 2, 3), (6, 1, 3, 4)),
        ((5, 2, 3), (1, 3, 4)),
        ((1, 2, 3), (1, 3, 4)),
        ((2, 3), (1, 1, 3, 4)),
        ((5, 2, 3), (1, 1, 3, 4)),
        ((5, 0, 3), (3, 4)),
        ((5, 2, 0), (5, 0, 4)),
    ):
        yield A.matmul, f(*left), f(*right)
    yield A.linalg_matmul, f(2, 3), f(3, 4)
    yield A.mv, f(2, 3), f(3)
    yield A.dot, f(3), f(3)
    yield A.outer, f(3), f(4)
    yield A.ger, f(3), f(4)
    yield A.inner, f(2, 3), f(5, 4, 3)
    yield A.baddbmm, f(5, 2, 4), f(5, 2, 3), f(5, 3, 4)
    yield A.baddbmm, f(4), f(5, 2, 3), f(5, 3, 4), {"beta": 0.5, "alpha": 2}
    yield A.baddbmm, torch.full((4,), math.nan), f(5, 2, 3), f(5, 3, 4), {"beta": 0}
    yield A.baddbmm, i(4), i(5, 2, 3), i(5, 3, 4), {"beta": 1.5, "alpha": 2.9}
    yield A.addbmm, f(2, 4), f(5, 2, 3), f(5, 3, 4), {"alpha": 2}
    yield A.addmv, f(2), f(2, 3), f(3), {"beta": 3}
    yield A.addr, f(2, 3), f(2), f(3), {"alpha": 3}
    yield A.tensordot, f(2, 3, 4), f(4, 5, 3), [1, 2], [2, 0]
    yield A.tensordot, f(2, 3), f(4), [], []
    yield A.cdist, f(2, 5, 3), f(4, 3)
    yield A._int_mm, i(18, 8, dtype=torch.int8), i(8, 16, dtype=torch.int8)
    rows, matrices = torch.linspace(-1, 1, 28).view(7, 4), torch.linspace(-1, 2, 60).view(15, 4)
    yield torch.ops.grouped.linear, rows, matrices, torch.tensor([2, 2, 6])
    yield torch.ops.grouped.linear, rows, matrices, torch.tensor([0, 2, 7], dtype=torch.int32)


def einsum() -> Iterator[Case]:
    yield A.einsum, "ij,jk->ik", [f(2, 3), f(3, 4)]
    yield A.einsum, "bhid,bhjd->bhij", [f(2, 3, 4, 5), f(2, 3, 6, 5)]
    yield A.einsum, "bij, bjk -> bki", [f(2, 3, 4), f(2, 4, 5)]
    yield A.einsum, "i,j", [f(2), f(3)]
    yield A.einsum, "ij,ij->ij", [f(2, 3), f(2, 3)]
    yield A.einsum, "ij,ij->", [f(2, 3), f(2, 3)]
    yield A.einsum, "ba", [f(2, 3)]
    yield A.einsum, "ijk->ki", [f(2, 3, 4)]
    yield A.einsum, "ij,k->i", [f(2, 3), f(4)]
    yield A.einsum, "...ij,...jk->...ik", [f(5, 2, 3), f(5, 3, 4)]
    yield A.einsum, "...ij,jk", [f(6, 5, 2, 3), f(3, 4)]
    yield A.einsum, "i...,...->i...", [f(2, 3, 4), f(3, 4)]
    yield A.einsum, "ab,bc,cd->ad", [f(2, 3), f(3, 4), f(4, 5)]
    yield A.einsum, "abc,a,b,c", [f(2, 3, 4), f(2), f(3), f(4)]
    yield A.einsum, "bn,anm,bm->ba", [f(2, 3), f(5, 3, 4), f(2, 4)]
    yield A.einsum, "ij,jk->ik", [i(2, 3), i(3, 4)]


def convolution() -> Iterator[Case]:
    yield A.conv1d, f(2, 4, 9), f(6, 2, 3), f(6), [2], [1], [1], 2
    yield A.conv1d, f(4, 9), f(6, 4, 3)
    yield A.conv1d.padding, f(2, 4, 9), f(6, 4, 4), None, [1], "same"
    yield A.conv2d, f(2, 3, 7, 8), f(4, 3, 3, 3), f(4)
    yield A.conv2d, f(2, 3, 7, 8), f(4, 3, 3, 3), None, [2, 1], [1, 0], [1, 2]
    yield A.conv2d, f(3, 7, 8), f(4, 3, 3, 3), f(4)
    yield A.conv2d.padding, f(2, 3, 7, 8), f(4, 3, 3, 2), f(4), [1, 1], "same", [2, 1]
    yield A.conv2d.padding, f(3, 7, 8), f(4, 3, 2, 3), f(4), [1, 1], "same"
    yield A.conv2d.padding, f(2, 3, 7, 8), f(4, 3, 3, 3), f(4), [2, 2], "valid"
    yield A.conv3d, f(1, 2, 5, 5, 5), f(2, 1, 3, 3, 3), f(2), [1, 1, 1], [1, 1, 1], [1, 1, 1], 2
    yield A.conv3d.padding, f(1, 2, 5, 5, 5), f(2, 2, 3, 3, 3), f(2), [1, 1, 1], "same"
    yield A.conv_transpose1d, f(2, 4, 9), f(4, 2, 3), f(2), [2], [1], [1]
    yield A.conv_transpose2d.input, f(2, 4, 5, 6), f(4, 3, 3, 3), f(6), [2, 2], [1, 1], [0, 1], 2
    yield A.conv_transpose3d.input, f(1, 2, 3, 3, 3), f(2, 2, 3, 3, 3)


def normalization() -> Iterator[Case]:
    yield A.softmax.int, f(3, 4), -1
    yield A.softmax.int, i(3, 4), 0, torch.float32
    yield A.special_softmax, f(3, 4), 1, torch.float64
    yield A.log_softmax.int, f(3, 4), 1
    yield A.special_log_softmax, f(3, 4), 1, {"dtype": torch.float64}
    yield A.layer_norm, f(2, 3, 4), [4], f(4), f(4), 1e-5
    yield A.layer_norm, f(2, 3, 4), [3, 4]
    yield A.batch_norm, f(2, 3, 4), f(3), f(3), f(3), p(3), False, 0.1, 1e-5, True
    yield A.batch_norm, f(2, 3, 4, 4), None, None, f(3), p(3), False, 0.1, 1e-3, True
    yield A.batch_norm, f(2, 3, 4), f(3), f(3), None, None, True, 0.1, 1e-5, True
    yield A.group_norm, f(2, 6, 4), 3, f(6), f(6)
    yield A.group_norm, f(2, 6, 4, 5), 2
    yield A.instance_norm, f(2, 3, 4, 4), f(3), f(3), None, None, True, 0.1, 1e-5, True
    yield A.instance_norm, f(2, 3, 4, 4), None, None, f(3), p(3), False, 0.1, 1e-5, True
    yield A.rms_norm, f(2, 3, 4), [4], f(4), 1e-6
    yield A.rms_norm, f(2, 3, 4), [3, 4]
    yield A.rms_norm, f(2, 3, 4, dtype=torch.bfloat16), [4], f(4, dtype=torch.bfloat16)
    yield A.rms_norm, f(2, 3, 4, dtype=torch.float64), [4]


def attention() -> Iterator[Case]:
    sdpa = A.scaled_dot_product_attention
    yield sdpa, f(2, 4, 5, 8), f(2, 4, 6, 8), f(2, 4, 6, 3)
    yield sdpa, f(5, 8), f(6, 8), f(6, 3)
    yield sdpa, f(4, 5, 8), f(4, 6, 8), f(4, 6, 3), None, 0.0, False, {"scale": 0.3}
    yield sdpa, f(4, 9, 8), f(4, 6, 8), f(4, 6, 3), None, 0.0, False, {"scale": 1.0}
    yield sdpa, f(2, 4, 5, 8), f(2, 4, 5, 8), f(2, 4, 5, 8), None, 0.0, True
    yield sdpa, f(2, 4, 7, 8), f(2, 4, 5, 8), f(2, 4, 5, 8), None, 0.0, True
    yield sdpa, f(2, 8, 5, 4), f(2, 2, 6, 4), f(2, 2, 6, 3), None, 0.0, False, {"enable_gqa": True}
    yield sdpa, f(2, 8, 5, 4), f(2, 2, 5, 4), f(2, 2, 5, 4), None, 0.0, True, {"enable_gqa": True}
    yield sdpa, f(2, 2, 5, 4), f(2, 2, 5, 4), f(2, 2, 5, 4), None, 0.0, True, {"enable_gqa": True}
    mask = m(2, 1, 5, 6)
    mask[0, 0, 2] = False
    yield sdpa, f(2, 4, 5, 8), f(2, 4, 6, 8), f(2, 4, 6, 3), mask
    yield sdpa, f(2, 4, 5, 8), f(2, 4, 6, 8), f(2, 4, 6, 3), torch.zeros_like(mask)
    bias = torch.zeros(5, 6).masked_fill(~mask[0, 0], -math.inf) + f(6)
    yield sdpa, f(2, 4, 5, 8), f(2, 4, 6, 8), f(2, 4, 6, 3), bias
    yield sdpa, f(2, 4, 5, 8), f(2, 4, 6, 8), f(2, 4, 6, 3), f(2, 4, 5, 6)
    yield sdpa, f(2, 8, 5, 4), f(2, 2, 6, 4), f(2, 2, 6, 3), mask, 0.0, False, {"enable_gqa": True}
    half = [f(2, 4, 5, 8, dtype=torch.float16) for _ in range(3)]
    yield sdpa, *half, m(5, 5) | torch.eye(5, dtype=torch.bool)
    yield sdpa, *(x.to(torch.bfloat16) for x in half), None, 0.0, True
    yield sdpa, f(1, 4, 5, 8), f(2, 4, 6, 8), f(2, 4, 6, 3)
    yield sdpa, f(2, 1, 5, 8), f(2, 4, 6, 8), f(2, 4, 6, 3), mask


def activation() -> Iterator[Case]:
    x = torch.cat([f(3, 4) * 4, torch.tensor([[math.inf, -math.inf, 30.0, -30.0]])])
    for op in (
        A.silu,
        A.hardsigmoid,
        A.hardswish,
        A.relu6,
        A.softplus,
        A.mish,
        A.log_sigmoid,
        A.selu,
        A.celu,
    ):
        yield op, f(3, 4) * 4
        yield op, f(3, 4, dtype=torch.bfloat16)
    yield A.hardsigmoid, x
    yield A.relu6, x
    yield A.log_sigmoid, x
    yield A.softplus, x, 2.0, 10
    yield A.celu, x, 0.5
    yield A.relu6, i(3, low=0, high=9, dtype=torch.uint8)
    yield A.rrelu, x
    yield A.prelu, f(2, 3, 4), f(3)
    yield A.prelu, f(2, 3, 4), f(1)
    yield A.prelu, f(2, 3), f(3)
    yield A.prelu, f(), f(1)
    yield A._prelu_kernel, f(2, 3, 4), f(1, 3, 1)
    yield A.threshold, x, 0.5, -1
    yield A.threshold, i(5), 1, 7
    yield A.hardshrink, x
    yield A.hardshrink, torch.tensor([math.nan, 1.0]), 2
    yield A.softshrink, x, 0.7
    yield A.glu, f(3, 4)
    yield A.glu, f(4, 3), 0
    yield A.dropout, f(3), 0.5, False
    yield A.dropout, f(3), 0.0, True
    yield A.feature_dropout, f(2, 3), 0.5, False
    yield A.alpha_dropout, f(3), 0.5, False
    yield A.feature_alpha_dropout, f(2, 3), 0.5, False
    yield A.native_dropout, f(3), 0.5, False


def arithmetic() -> Iterator[Case]:
    x = torch.tensor([0.5, -2.0, 0.0, math.nan, math.inf, -math.inf, 3.0])
    y = torch.tensor([1.0, 2.0, 0.0, 1.0, math.inf, 2.0, math.nan])
    yield A.square, f(3)
    yield A.square, m(3)
    yield A.rsub.Tensor, f(3), f(2, 1), {"alpha": 2}
    yield A.rsub.Scalar, f(3), 2
    yield A.rsub.Scalar, i(3), 2.5, 3
    yield A.addcmul, f(3), f(2, 3), f(3), {"value": 0.5}
    yield A.addcmul, i(3), i(3), i(3), {"value": 2}
    yield A.addcdiv, f(3), f(2, 3), p(3), {"value": 0.5}
    yield A.lerp.Scalar, f(3), f(3), 0.3
    yield A.lerp.Scalar, f(3), f(3), 0.8
    yield A.lerp.Tensor, f(3), f(2, 3), p(3)
    for op in (A.frac, A.deg2rad, A.rad2deg, A.exp2, A.sinc, A.sgn, A.positive, A.nan_to_num, A.special_exp2):
        yield op, x
    for op in (A.deg2rad, A.exp2, A.sinc, A.sgn, A.nan_to_num, A.isfinite, A.isposinf, A.isneginf):
        yield op, i(4)
    yield A.special_sinc, f(3)
    yield A.nan_to_num, x, 1.0, 2.0, -3.0
    yield A.nan_to_num, x.to(torch.float16)
    yield A.logit, p(4)
    yield A.logit, x, 0.1
    yield A.special_logit, p(4), 0.2
    yield A.logaddexp, x, y
    yield A.float_power.Tensor_Tensor, p(3), f(3)
    yield A.float_power.Tensor_Scalar, i(3, low=1), 0.5
    yield A.float_power.Scalar, 2, i(3)
    yield A.floor_divide, f(3), f(3)
    yield A.floor_divide, i(3), i(3, low=1)
    yield A.floor_divide.Scalar, i(3), 2
    yield A.remainder.Scalar_Tensor, 2.5, f(3)
    yield A.remainder.Scalar_Tensor, 7, i(3, low=1)
    yield A.xlogy.Tensor, x, y
    yield A.xlogy.Tensor, i(4, low=0), i(4, low=1)
    yield A.special_xlogy, p(3), p(3)
    yield A.clamp_min, f(3), 0.1
    yield A.clamp_min, i(3), 0.5
    yield A.clamp_max, f(3), 0.1
    yield A.clamp_min.Tensor, f(3), f(2, 1)
    yield A.clamp_max.Tensor, i(3), f(3)
    yield A.where.Scalar, m(3), 1.0, 2.0
    yield A.where.Scalar, m(3), 1, 2
    yield A.where.ScalarOther, m(3), f(3), 2
    yield A.where.ScalarSelf, m(3), 2.5, i(3)
    yield A.masked_fill.Scalar, f(2, 3), m(3), -math.inf
    yield A.masked_fill.Scalar, i(3), m(2, 3), 7
    yield A.masked_fill.Tensor, f(2, 3), m(3), f()
    yield A.heaviside, x, y
    for op in (A.isfinite, A.isposinf, A.isneginf):
        yield op, x
    yield A.isclose, x, y
    yield A.isclose, x, x, 1e-3, 1e-3, True
    yield A.bitwise_left_shift.Tensor_Scalar, i(5), 3
    yield A.bitwise_left_shift.Tensor_Scalar, i(5, dtype=torch.int8), 6
    yield A.bitwise_right_shift.Tensor_Scalar, i(5, low=-90, high=90), 2
    yield A.bitwise_right_shift.Tensor_Scalar, i(5, low=0, high=200, dtype=torch.uint8), 1
    yield A.special_entr, torch.cat([p(3), torch.tensor([0.0, -1.0, math.nan])])
    corners = torch.tensor([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 3e38])
    rows = corners[:, None]
    yield A.logaddexp2, corners, rows
    yield A.logaddexp2, f(3) * 20, f(3)
    yield A.hypot, corners, rows
    yield A.hypot, f(3, dtype=torch.float16) * 200, f(3, dtype=torch.float16) * 200
    yield A.signbit, corners
    yield A.signbit, i(5)
    yield A.signbit, m(3)
    yield A.copysign.Tensor, rows, corners[:6]
    yield A.copysign.Tensor, i(3), f(2, 3)
    yield A.copysign.Scalar, corners, -0.0
    yield A.copysign.Scalar, i(3), 2
    yield A.fmax, corners, rows
    yield A.fmin, corners, rows
    yield A.fmin, i(3), f(3)
    yield A.fmax, i(3), i(3)
    yield A.add.Scalar, i(3), 0.5
    yield A.sub.Scalar, i(3), 0.5, 2
    yield A.addcmul, i(3), i(3), i(3), {"value": 3}
    yield A.addcmul, *(f(3, dtype=torch.bfloat16) for _ in range(3)), {"value": 3.14}


def conversion() -> Iterator[Case]:
    yield A.to.dtype, f(3), torch.int64
    yield A.to.dtype, f(3), torch.float32
    yield A.to.dtype, f(1, 2, 3, 4), torch.float32, False, False, torch.channels_last
    yield A.to.device, f(3), torch.device("cpu"), torch.float64
    yield A.to.dtype_layout, f(3), {"dtype": torch.bool}
    yield A.to.dtype_layout, f(3), {"device": torch.device("cpu")}
    yield A.to.other, f(3), i(2)
    yield A.to.other, f(1, 2, 3, 4), i(2), False, False, torch.channels_last
    yield A.type_as, f(3), i(2)
    for kind in ("Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"):
        yield getattr(A, f"_cast_{kind}"), f(3).abs()
    yield A.contiguous, f(2, 3)
    yield A.contiguous, f(1, 2, 3, 4), {"memory_format": torch.channels_last}
    yield A.detach, f(3)
    yield A.data, f(3)
    yield A.fill.Tensor, f(2, 3), i()


def views() -> Iterator[Case]:
    yield A.reshape, f(2, 6), [3, -1]
    yield A.reshape, f(2, 6), [2, 6]
    yield A.reshape, f(), [1, 1]
    yield A._unsafe_view, f(2, 6), [12]
    yield A._reshape_alias, f(2, 6), [12], [1]
    yield A.view_as, f(2, 6), f(3, 4)
    yield A.reshape_as, f(2, 6), f(4, 3)
    yield A.flatten.using_ints, f(2, 3, 4)
    yield A.flatten.using_ints, f(2, 3, 4), 1, 2
    yield A.flatten.using_ints, f()
    yield A.ravel, f(2, 3)
    yield A.unflatten.int, f(2, 6), 1, [3, -1]
    yield A.unflatten.int, f(6, 2), -2, [2, 3]
    yield A.squeeze, f(1, 3, 1)
    yield A.squeeze, f(2, 3)
    for op in (A.atleast_1d, A.atleast_2d, A.atleast_3d):
        yield op, f()
        yield op, f(3)
        yield op, f(2, 3)
        yield getattr(op, "Sequence"), [f(), f(3), f(2, 3)]  # noqa: B009  (a keyword argument of the packet else)
    yield A.expand_as, f(3, 1), f(2, 3, 4)
    yield A.broadcast_to, f(3, 1), [2, 3, 4]
    yield A.broadcast_tensors, [f(3, 1), f(4)]
    yield A.meshgrid, [f(2), f(3)]
    yield A.meshgrid.indexing, [f(2), f(3), f(4)], {"indexing": "xy"}
    yield A.meshgrid.indexing, [f(2)], {"indexing": "xy"}
    yield A.tile, f(2, 3), [2]
    yield A.tile, f(3), [2, 2]
    yield A.repeat_interleave.self_int, f(2, 3), 2, 1
    yield A.repeat_interleave.self_int, f(2, 3), 2
    yield A.transpose.int, f(2, 3, 4), 0, -1
    yield A.transpose.int, f(2, 3), 1, 1
    yield A.transpose.int, f(), 0, 0
    yield A.swapaxes, f(2, 3), 0, 1
    yield A.swapdims, f(2, 3), 0, 1
    yield A.t, f(2, 3)
    yield A.t, f(2)
    yield A.numpy_T, f(2, 3)
    yield A.mT, f(2, 3, 4)
    yield A.mH, f(2, 3)
    yield A.adjoint, f(2, 3)
    yield A.matrix_H, f(2, 3)
    yield A.movedim.int, f(2, 3, 4), 0, 2
    yield A.movedim.intlist, f(2, 3, 4), [0, 2], [-1, 0]
    yield A.moveaxis.int, f(2, 3, 4), 0, 2
    yield A.moveaxis.intlist, f(2, 3, 4), [0], [1]
    yield A.narrow, f(5, 3), 0, 1, 3
    yield A.narrow, f(5, 3), 0, -2, 2
    yield A.chunk, f(7, 3), 3
    yield A.chunk, f(7, 3), 1
    yield A.unsafe_chunk, f(7, 3), 2
    yield A.split.Tensor, f(7, 3), 3
    yield A.split.Tensor, f(7, 3), 9
    yield A.split.sizes, f(7, 3), [2, 5]
    yield A.unsafe_split.Tensor, f(7, 3), 3
    yield A.unsafe_split_with_sizes, f(7, 3), [1, 2], 1
    yield A.tensor_split.sections, f(7, 3), 3
    yield A.tensor_split.indices, f(7, 3), [1, 4]
    yield A.tensor_split.indices, torch.arange(21.0).view(7, 3), [4, 1]
    yield A.hsplit.int, f(4, 6), 2
    yield A.hsplit.int, f(6), 2
    yield A.vsplit.int, f(4, 6), 2
    yield A.dsplit.int, f(2, 3, 4), 2
    yield A.unbind.int, f(3, 2), 1
    yield A.stack, [f(2, 3), f(2, 3)]
    yield A.stack, [f(2, 3), f(2, 3)], 1
    yield A.stack, [f(2, 3), f(2, 3)], -1
    yield A.stack, [f(), f()]
    yield A.hstack, [f(), f(2)]
    yield A.hstack, [f(2, 3), f(2, 1)]
    yield A.vstack, [f(3), f(2, 3)]
    yield A.row_stack, [f(3), f(3)]
    yield A.column_stack, [f(3), f(3, 2)]
    yield A.dstack, [f(3), f(1, 3, 2)]
    yield A.dstack, [f(2, 3), f(2, 3)]
    yield A.roll, f(4, 5), [2, -1], [0, 1]
    yield A.roll, f(4, 5), [3]
    yield A.roll, f(4, 5), [4], [0]
    yield A.fliplr, f(2, 3)
    yield A.flipud, f(2, 3)
    for quarters in range(-1, 3):
        yield A.rot90, f(2, 3, 4), quarters, [0, 2]
    yield A.pixel_shuffle, f(2, 8, 3, 4), 2
    yield A.pixel_unshuffle, f(8, 4, 6), 2
    yield A.channel_shuffle, f(2, 6, 3), 3
    yield A.native_channel_shuffle, f(2, 6, 3, 2), 2
    yield A.resize_as, f(2, 6), f(3, 4)


def creation() -> Iterator[Case]:
    yield A.zeros, [2, 3]
    yield A.zeros, [2], {"dtype": torch.int64}
    yield A.ones, [2], {"dtype": torch.bool}
    yield A.new_zeros, f(3), [2]
    yield A.new_ones, i(3), [2, 2], {"dtype": torch.float16}
    yield A.new_full, i(3), [2], 7
    yield A.zeros_like, f(2, 3)
    yield A.zeros_like, f(1, 2, 3, 4), {"memory_format": torch.channels_last}
    yield A.ones_like, f(2, 3), {"dtype": torch.int32}
    yield A.zero, f(2, 3)
    yield A.fill.Scalar, f(2, 3), 2
    yield A.arange, 5
    yield A.arange, 2.5
    yield A.arange.start, 1, 5, {"dtype": torch.float32}
    yield A._dim_arange, f(2, 3), 1
    yield A.linspace, 0.5, 3, 7
    yield A.linspace, 2, 3, 1
    for dtype in (torch.int16, torch.uint8, torch.int64):
        yield A.linspace, 4.3, -3, 50, {"dtype": dtype}
        yield A.linspace, 0, 9, 4, {"dtype": dtype}
        yield A.linspace, 7.9, 9, 1, {"dtype": dtype}
    yield A.linspace, 28560, -2787, 100, {"dtype": torch.int32}
    yield A.eye, 3
    yield A.eye.m, 2, 4, {"dtype": torch.int64}
    yield A.tril, f(3, 4)
    yield A.tril, f(2, 3, 4), 1
    yield A.triu, f(3, 4), -1
    yield A.triu, m(3, 3)
    yield A.one_hot, i(2, 3, low=0, high=4), 4


def complex_numbers() -> Iterator[Case]:
    pairs, numbers = f(2, 3, 2), torch.randn(2, 3, dtype=torch.complex64)
    yield A.view_as_complex, pairs
    yield A.view_as_real, numbers
    yield A.real, numbers
    yield A.real, f(3)
    yield A.imag, numbers
    yield A.complex, f(3), f(2, 1)
    yield A.polar, f(3), f(2, 3)
    yield A.angle, numbers
    yield A.angle, torch.tensor([-1.0, 0.0, -0.0, 2.0, math.nan, -math.inf])
    yield A.angle, i(5)


def order() -> Iterator[Case]:
    holes = torch.tensor([[1.0, math.nan, 2.0, 0.5], [3.0, 4.0, -1.0, 5.0], [math.nan] * 4])
    distinct = torch.randperm(20).view(4, 5)
    yield A.sort.stable, f(3, 4), {"stable": False, "dim": 0}
    yield A.argsort.stable, f(3, 4), {"stable": False, "descending": True}
    yield A.argsort.stable, f(3, 4), {"stable": True}
    yield A.kthvalue, distinct, 2, 0
    yield A.kthvalue, f(3, 4), 4, 1, True
    yield A.kthvalue, f(), 1
    yield A.median, f(3, 4)
    yield A.median, holes
    yield A.median, f(0)
    yield A.median.dim, distinct, 1
    yield A.median.dim, f(3, 4), 0, True
    yield A.median.dim, holes[:2], 1
    yield A.median.dim, f(), 0
    yield A.nanmedian, holes
    yield A.nanmedian.dim, holes[:2], 1
    yield A.nanmedian.dim, holes[:2], -1, True
    yield A.nanmedian.dim, distinct, 0
    edges, x = torch.tensor([-1.0, 0.0, 0.0, 1.5]), torch.tensor([-2.0, -1.0, 0.0, 1.5, 9.0, math.nan])
    for right in (False, True):
        yield A.bucketize.Tensor, x, edges, {"right": right}
        yield A.bucketize.Scalar, 0.0, edges, {"right": right, "out_int32": True}
        yield A.searchsorted.Scalar, edges, 0.0, {"right": right}
        yield A.searchsorted.Tensor, f(3, 5).sort()[0], f(3, 2), {"right": right, "out_int32": True}
    yield A.bucketize.Tensor, i(), i(4).sort()[0], {"out_int32": True}
    yield A.searchsorted.Tensor, edges, f(2, 3), {"side": "right"}
    yield A.searchsorted.Tensor, edges.flip(0), f(2), {"sorter": torch.tensor([3, 2, 1, 0])}
    yield A.searchsorted.Scalar, edges.flip(0), 0.5, {"sorter": torch.tensor([3, 2, 1, 0]), "side": "right"}


def between() -> Iterator[Case]:
    one, two = torch.tensor(1.5), torch.tensor(9.25, dtype=torch.float64)
    for dtype in (torch.float32, torch.float16, torch.int64, torch.uint8):
        yield A.linspace.Tensor_Tensor, one, two, 7, {"dtype": dtype}
        yield A.linspace.Tensor_Scalar, two, 4, 5, {"dtype": dtype}
        yield A.linspace.Scalar_Tensor, -3.5 if dtype.is_floating_point else 3.5, one, 6, {"dtype": dtype}
    yield A.linspace.Tensor_Scalar, one, 4, 1
    yield A.linspace.Tensor_Scalar, one, 4, 0


def loss() -> Iterator[Case]:
    half = torch.float16
    for reduction in (0, 1, 2):
        for op in (A.mse_loss, A.l1_loss, A.smooth_l1_loss, A.huber_loss):
            yield op, f(3, 4), f(3, 4), reduction
        yield A.kl_div, f(3, 4), torch.tensor([[0.0, 0.25, 0.5, 1.0]]).expand(3, 4).contiguous(), reduction
        yield A.soft_margin_loss, f(3, 4), f(3, 4), reduction
    yield A.mse_loss, f(3, 4, dtype=half) * 30, f(3, 4, dtype=half) * 30
    yield A.l1_loss, f(3, 4), f(4, dtype=half)
    yield A.smooth_l1_loss, f(3, 4), f(3, 4), 1, 0.0
    yield A.smooth_l1_loss, f(3, 4), f(3, 4), 1, 0.3
    yield A.huber_loss, f(3, 4), f(3, 4), 2, 0.3
    yield A.kl_div, f(3, 4), f(3, 4), 1, {"log_target": True}
    yield A.soft_margin_loss, f(3, dtype=half) * 20, f(3, dtype=half) * 20
    corners = torch.tensor([0.0, -0.0, 1.0, -1.0, math.inf, math.nan, -2.0])
    yield A.special_xlog1py, corners[:, None], corners
    yield A.special_xlog1py, i(3, low=0), p(3)
    for number in (0.0, 2.0, -1.0, math.nan):
        yield A.special_xlog1py.other_scalar, corners, number
        yield A.special_xlog1py.self_scalar, number, corners


def unspecified() -> Iterator[Case]:
    """Operators that say nothing of the elements of their results."""
    yield A.new_empty, f(3), [2, 2]
    yield A.empty_strided, [2, 3], [1, 2]
    yield A.empty_permuted, [2, 3], [1, 0]
    yield A.empty_like, f(3)


def reduction() -> Iterator[Case]:
    yield A.sum, f(2, 3)
    yield A.sum, m(2, 3)
    yield A.sum, f(2, 3), {"dtype": torch.float64}
    yield A.trace, f(3, 4)
    holes = torch.tensor([[1.0, math.nan, 2.0], [math.nan, 4.0, 5.0]])
    yield A.nansum, holes
    yield A.nansum, i(2, 3), [0]
    yield A.nanmean, holes, [1], True
    yield A.max, f(2, 3)
    yield A.max, m(4)
    yield A.min, i(2, 3)
    yield A.max.other, f(3), f(3)
    yield A.min.other, f(3), f(2, 3)
    yield A.aminmax, f(2, 3)
    yield A.aminmax, f(2, 3), {"dim": 1, "keepdim": True}
    yield A.all, m(2, 3)
    yield A.all, i(3, low=0, high=2, dtype=torch.uint8)
    yield A.all.dim, f(2, 3), 1
    yield A.all.dim, i(3, 2, dtype=torch.uint8, low=0), 0, True
    yield A.all.dims, m(2, 3), [0, 1], True
    yield A.all.dims, m(2, 3)
    yield A.count_nonzero, f(2, 3)
    yield A.count_nonzero, m(2, 3), 1
    yield A.count_nonzero.dim_IntList, i(2, 3), [0, 1]
    yield A.var, f(3, 4)
    yield A.var, f(3, 4), False
    for op in (A.std, A.var_mean, A.std_mean):
        yield op, f(3, 4)
        yield op, f(3, 4), False
        yield op.dim, f(3, 4), [1], True, True
        yield op.correction, f(3, 4), [0], {"correction": 2}
        yield op.correction, f(3, 4), {"correction": 0.5, "keepdim": True}
    for order in (0, 1, 2, 3.5, math.inf, -math.inf):
        yield A.linalg_vector_norm, f(3, 4), order, [1]
    yield A.linalg_vector_norm, f(3, 4), 2, None, True, {"dtype": torch.float64}
    yield A.linalg_vector_norm, f(3, 4, dtype=torch.float16) * 60, 4
    yield A.norm.Scalar, f(3, 4), 3
    yield A.norm.ScalarOpt_dim, f(3, 4), None, [1], True
    yield A.norm.ScalarOpt_dtype, f(3, 4), 1, {"dtype": torch.float64}
    yield A.norm.ScalarOpt_dim_dtype, f(3, 4), 2, [0], False, {"dtype": torch.float64}
    yield A.logsumexp, f(3, 4), [1]
    yield A.logsumexp, torch.full((2, 3), -math.inf), [0, 1], True
    yield A.logsumexp, i(3, 4), [0]
    yield A.special_logsumexp, f(3, 4), [1]
    yield A.cosine_similarity, f(3, 4), f(3, 4)
    yield A.cosine_similarity, f(), f(), 0
    yield A.linalg_vector_norm, f(), 3, [0], True
    yield A.cumsum, i(dtype=torch.int32), 0
    yield A.cosine_similarity, f(3, 4), f(1, 4), 1, 1e-3
    yield A.cosine_similarity, f(1, 2, 3), f(2, 1, 3), -2
    rows, bags = torch.tensor([0, 4, 1, 0]), torch.tensor([0, 1, 4])
    for mode in (0, 1, 2):
        yield A.embedding_bag, f(5, 3), rows, bags, False, mode
        yield A.embedding_bag, f(5, 3).double(), rows, bags, False, mode, False, None, True
        for padding in (None, 0, -1):
            yield A.embedding_bag.padding_idx, f(5, 3), rows, bags, False, mode, False, None, True, padding
    yield A.embedding_bag, f(5, 3), rows, bags, False, 0, False, f(4)
    yield A.hardtanh, i(4, low=0, dtype=torch.uint8), 1, 3
    yield A.argsort, f(3, 4), 0, True
    yield A.sort, f(3, 4)
    yield A.sort, torch.randperm(10).view(2, 5), 1, True
    yield A.sort, f(), 0
    yield A.msort, f(3, 4)


def pooling() -> Iterator[Case]:
    yield A.max_pool2d, f(2, 3, 8, 8), [3, 3], [2, 2], [1, 1]
    yield A.max_pool2d, f(3, 8, 8), [2, 2], [], [0, 0], [2, 2], True
    yield A.max_pool3d, f(1, 2, 6, 6, 6), [2, 2, 2]
    yield A.max_pool3d, f(2, 6, 7, 8), [3, 2, 3], [2, 1, 2], [1, 0, 1], [1, 2, 1], True
    yield A.max_pool3d_with_indices, f(2, 6, 7, 8), [3, 2, 3], [2, 1, 2], [1, 0, 1], [1, 2, 1], True
    yield A.max_pool3d_with_indices, i(1, 2, 4, 4, 4), [2, 2, 2]
    yield A._adaptive_avg_pool3d, f(2, 3, 4, 6, 5), [3, 4, 2]
    yield A.avg_pool3d, f(1, 2, 6, 6, 6), [2, 2, 2]
    yield A.avg_pool3d, f(2, 6, 7, 8), [3, 2, 3], [2, 1, 2], [1, 0, 1]
    yield A.adaptive_avg_pool3d, f(2, 3, 4, 6, 4), [2, 3, 4]
    yield A.max_pool1d, f(2, 3, 8), [3], [2], [1]
    yield A.max_pool1d_with_indices, f(3, 8), [2]
    yield A.avg_pool1d, f(2, 3, 8), [3], [2], [1], True, False
    yield A.adaptive_avg_pool1d, f(2, 3, 8), [4]
    yield A.adaptive_avg_pool1d, f(2, 3, 8), [3]
    yield A.adaptive_avg_pool2d, f(2, 3, 8, 6), [1, 1]
    yield A.adaptive_avg_pool2d, f(3, 8, 6), [8, 6]
    yield A.adaptive_avg_pool2d, f(2, 3, 8, 6), [4, 2]
    yield A.adaptive_avg_pool2d, f(2, 3, 8, 6), [3, 5]
    yield A.adaptive_avg_pool3d, f(2, 3, 4, 4, 4), [1, 1, 1]
    yield A.adaptive_avg_pool3d, f(2, 3, 4, 4, 4), [3, 2, 1]
    yield A.adaptive_max_pool1d, f(2, 3, 8), [4]
    yield A.adaptive_max_pool2d, f(2, 3, 8, 6), [2, 3]
    yield A.adaptive_max_pool1d, f(2, 3, 8), [3]
    yield A.adaptive_max_pool2d, f(2, 3, 8, 6), [3, 4]
    yield A.adaptive_max_pool2d, f(3, 7, 5), [9, 1]
    yield A.adaptive_max_pool2d, torch.tensor([[[1.0, 2.0, 3.0], [4.0, math.nan, 0.0]]]), [1, 2]
    yield A.adaptive_max_pool3d, f(2, 5, 6, 4), [3, 2, 3]
    yield A.pad, f(2, 3), [1, 2], "constant", 0.5
    yield A.constant_pad_nd, f(2, 3, 4), [-1, 2, 1, -2], 0.5
    yield A.pad, i(2, 3), [1, 2, 0, 1]
    yield A.pad, f(2, 3, 4), [1, 2], "reflect"
    yield A.pad, f(2, 3, 4, 4), [1, 2, 1, 0], "replicate"
    yield A.pad, f(1, 2, 3, 4, 4), [1, 1, 1, 1, 1, 1], "reflect"
    yield A.pad, f(2, 3, 4), [1, 2], "circular"
    yield A.pad, f(1, 2, 3, 4), [4, 0, 1, 3], "circular"
    yield A.replication_pad1d, f(2, 3, 4), [1, 2]
    yield A.upsample_nearest2d, f(1, 2, 3, 4), [6, 7]
    yield A.upsample_nearest1d, f(1, 2, 3), [5]
    yield A.upsample_nearest1d.vec, f(1, 2, 3), None, [2.5]
    yield A.upsample_bilinear2d, f(1, 2, 3, 4), [6, 7], True
    yield A.grid_sampler, f(1, 2, 3, 4), f(1, 5, 6, 2), 0, 1, True


def indexing() -> Iterator[Case]:
    yield A.take_along_dim, f(3, 4), i(3, 2, low=0, high=4), 1
    yield A.take_along_dim, f(3, 4), i(1, 2, low=0, high=4), -1
    yield A.take_along_dim, f(3, 4), i(5, low=0, high=12)
    yield A.scatter_reduce.two, f(3, 4), 0, i(2, 2, low=0, high=3), f(2, 2), "sum"
    yield A.take, f(), torch.tensor(0)
    yield A.take, f(3, 4), i(2, 5, low=0, high=12)
    yield A.take_along_dim, f(3, 4), i(3, 2, low=-4, high=4), 1
    yield A.gather, f(3), 0, torch.zeros(0, dtype=torch.uint8)
    yield A.scatter.reduce, f(3, 4), 0, i(2, 2, low=0, high=3), f(2, 2), {"reduce": "add"}
    yield A.scatter.reduce, f(3, 4), 1, i(2, 2, low=0, high=3), f(2, 2), {"reduce": "multiply"}
    yield A.scatter.value_reduce, f(3, 4), 0, i(2, 2, low=0, high=3), 2.5, {"reduce": "multiply"}
    for reduce in ("prod", "mean", "amax", "amin"):
        yield A.index_reduce, f(3, 4), 1, torch.tensor([0, 2, 0]), f(3, 3), reduce
    yield A.index_reduce, f(3, 4), 0, torch.tensor([2, 2]), f(2, 4), "amax", {"include_self": False}
    yield A.index_reduce, f(), 0, torch.tensor([0]), f(), "prod"
    yield A.put, f(3, 4), torch.tensor([[0, -1], [5, 2]]), f(2, 2)
    yield A.put, f(3, 4), torch.tensor([5, 5, 1]), f(3), True
    yield A.diagonal_scatter, f(3, 4), f(3)
    yield A.diagonal_scatter, f(3, 4), f(2), -1
    yield A.diagonal_scatter, f(2, 5, 3), f(5, 1), 1, 2, 0
    yield A.diagonal_scatter, f(2, 3), f(0), 3
    yield A.as_strided_scatter, f(4, 5), f(2, 3), [2, 3], [7, 2], 1
    yield A.as_strided_scatter, f(5), f(), [], []
    yield A.argwhere, f(3, 4)
    yield A.nonzero_numpy, f(3, 4)
    yield A.nonzero_numpy, f()
    yield A.index.Tensor, f(3, 4), [m(3, 4)]
    yield A.index.Tensor, f(3, 4), [m(3)]
    yield A.index.Tensor, f(3, 4), [None, m(4)]
    yield A.index.Tensor, f(3, 4), [m(3).to(torch.uint8)]
    yield A.index.Tensor, f(3, 4, 5), [None, m(4, 5)]
    yield A.index.Tensor, f(3, 4), [m(3), i(1)]
    yield A.index.Tensor, f(3, 4, 5), [torch.tensor([True, False, True]), None, i(2)]
    yield A.index_put, f(3, 4), [m(3, 4)], f()
    yield A.index_put, f(3, 4), [m(3)], f(1)
    yield A.index_put, f(3, 4), [m(3).to(torch.uint8)], f(4)
    yield A.index_put, f(3, 4), [m(3, 4)], f(), True
    yield A.index_put, f(3, 4), [None, m(4)], f()
    yield A.repeat_interleave.self_Tensor, f(2, 3), i(2, low=0), 0
    yield A.repeat_interleave.self_Tensor, f(2, 3), i(6, low=0)
    yield A.repeat_interleave.self_Tensor, f(2, 3), torch.tensor(2), -1
    yield A.repeat_interleave.self_Tensor, f(2, 3), torch.tensor([2]), 1, {"output_size": 6}
    yield A.repeat_interleave.self_Tensor, f(), torch.tensor([3])
    yield A.tensor_split.tensor_indices_or_sections, f(2, 5), torch.tensor([1, 3]), 1
    yield A.tensor_split.tensor_indices_or_sections, f(5, 2), torch.tensor([4, -3, 9])
    yield A.index_add, f(3, 4), 1, torch.tensor([0, 2, 0]), f(3, 3), {"alpha": 2}
    yield A.index_add, f(3, 4), 0, torch.tensor([2], dtype=torch.int32), f(1, 4)
    yield A.index_copy, f(3, 4), -1, torch.tensor([0, 2]), f(3, 2)
    yield A.index_fill.int_Scalar, f(3, 4), 0, torch.tensor([0, 2]), 5
    yield A.index_fill.int_Tensor, f(3, 4), 1, torch.tensor(2), f()
    yield A.isin.Tensor_Tensor, i(3, 4), i(5), {"invert": True}
    yield A.isin.Tensor_Scalar, i(3, 4), 2
    yield A._unsafe_index.Tensor, f(3, 4), [None, i(2, low=0, high=4)]
    yield A._unsafe_index_put, f(3, 4), [i(2, low=0, high=3)], f(4)


def recurrent() -> Iterator[Case]:
    """Layers of more steps than are unrolled."""
    x, h, c = f(9, 2, 3), f(4, 2, 4), f(4, 2, 4)

    def weights(gates: int, features: int, width: int = 4) -> list[torch.Tensor]:
        return [f(gates * 4, features), f(gates * 4, width), f(gates * 4), f(gates * 4)]

    both = [*weights(4, 3), *weights(4, 3), *weights(4, 8), *weights(4, 8)]
    yield A.lstm.input, x, [h, c], both, True, 2, 0.0, False, True, False
    yield A.lstm.input, x, [h[:1], c[:1]], weights(4, 3)[:2], False, 1, 0.5, False, False, False
    projected = [*weights(4, 3, 2), f(2, 4)]
    yield A.lstm.input, x, [h[:1, :, :2], c[:1]], projected, True, 1, 0.0, False, False, False
    yield A.gru.input, f(2, 9, 3), h[:1], weights(3, 3), True, 1, 0.0, False, False, True
    yield A.gru.input, x, h[:2], weights(3, 3)[:2] * 2, False, 1, 0.0, False, True, False
    double = [one.double() for one in weights(1, 3)]
    yield A.rnn_tanh.input, x.double(), h[:1].double(), double, True, 1, 0.0, False, False, False
    yield A.rnn_relu.input, x, h[:1], weights(1, 3)[:2], False, 1, 0.0, False, False, False


def renamed() -> Iterator[Case]:
    for name in (
        "absolute",
        "arctan",
        "arcsinh",
        "negative",
        "fix",
        "special_erf",
        "special_expit",
        "special_expm1",
        "special_log1p",
    ):
        yield getattr(A, name), p(3)
    for name in ("arccos", "arcsin", "arctanh"):
        yield getattr(A, name), p(3)
    yield A.arccosh, p(3) + 1
    yield A.arctan2, f(3), f(3)
    yield A.clip, f(3), -0.5, 0.5
    yield A.clip.Tensor, f(3), f(3) - 2, None
    yield A.concat, [f(2), f(3)]
    yield A.concatenate, [f(2, 1), f(2, 3)], 1
    for name in ("divide", "multiply", "subtract", "true_divide"):
        yield getattr(A, name).Tensor, f(3), p(3)
        yield getattr(A, name).Scalar, f(3), 2.5
    yield A.divide.Tensor_mode, f(3), p(3), {"rounding_mode": "trunc"}
    yield A.divide.Scalar_mode, f(3), 2, {"rounding_mode": None}
    for name in ("greater", "greater_equal", "less", "less_equal", "not_equal"):
        yield getattr(A, name).Tensor, f(3), f(3)
        yield getattr(A, name).Scalar, f(3), 0
    for name in ("__and__", "__or__", "__xor__"):
        yield getattr(A, name).Tensor, m(3), m(3)
        yield getattr(A, name).Scalar, i(3), 3
    for name in ("__lshift__", "__rshift__"):
        yield getattr(A, name).Tensor, i(3), i(3, low=0, high=3)
        yield getattr(A, name).Scalar, i(3), 1


def random() -> Iterator[Case]:
    """Of these, only types and shapes are the same twice."""
    x = p(3, 4)
    yield A.rand_like, x
    yield A.rand_like, x, {"dtype": torch.float64}
    yield A.randn_like, x
    yield A.randint, 5, [3, 4]
    yield A.randint.low, -3, 2**40, [7]
    yield A.randint_like, x, 9
    yield A.randint_like.low_dtype, i(3), -4, 9
    yield A.random, i(9, dtype=torch.int8)
    yield A.random, x
    yield A.random.to, x, 5
    yield A.random, i(2, dtype=torch.int64).to(torch.bool)
    getattr_from = getattr(A.random, "from")
    yield getattr_from, x, -3, 8
    yield A.bernoulli, x
    yield A.bernoulli.p, x, 0.3
    yield A.bernoulli.Tensor, i(3, 4), x
    yield A.normal.float_float, 1.0, 2.0, [3, 4]
    yield A.normal.Tensor_float, x, 2.0
    yield A.normal.float_Tensor, 3.0, x
    yield A.normal.Tensor_Tensor, x, x
    yield A.normal_functional, x, 3.0, 2.0
    yield A.uniform, x, -3.0, 2.0
    yield A.exponential, x, 2.0
    yield A.geometric, x, 0.3
    yield A.cauchy, x, 1.0, 2.0
    yield A.log_normal, x
    yield A.dropout, x, 0.5, True
    yield A.dropout, x, 1.0, True
    yield A.feature_dropout, f(2, 3, 4, 4), 0.5, True
    yield A.alpha_dropout, x, 0.5, True
    yield A.alpha_dropout, x, 1.0, True
    yield A.feature_alpha_dropout, f(2, 3, 4), 0.5, True
    yield A.scaled_dot_product_attention, f(2, 5, 8), f(2, 6, 8), f(2, 6, 3), None, 0.5
    yield A.normal.Tensor_Tensor, p(3, 1), p(4)
    yield A.rrelu, f(3, 4), 0.1, 0.3, True
    yield A.rrelu_with_noise_functional, f(3, 4), f(3, 4), 0.1, 0.3, True


FAMILIES: tuple[Callable[[], Iterator[Case]], ...] = (
    complex_numbers,
    order,
    between,
    loss,
    matmul,
    einsum,
    convolution,
    normalization,
    attention,
    activation,
    arithmetic,
    conversion,
    views,
    creation,
    reduction,
    pooling,
    indexing,
    recurrent,
    renamed,
)


def unchanged() -> Iterator[Case]:
    """Calls that patterns leave as they are, each for a reason of its own."""
    yield A.batch_norm, f(2, 3, 4), f(3), f(3), f(3), p(3), True, 0.1, 1e-5, True
    yield A.instance_norm, f(2, 3, 4), None, None, f(3), p(3), True, 0.1, 1e-5, True
    yield A.pad, f(2, 3, 4), [-1, 1], "circular"
    yield A.unfold, f(2, 9), 1, 3, 2
    yield A.empty.memory_format, [2, 3]
    yield A.upsample_nearest2d, f(1, 2, 3, 4), [6, 7], 2.0, 1.75
    yield A.silu, f(3, dtype=torch.complex64)
    yield A.native_dropout, f(3), 0.5, True
    yield A.rnn_tanh.input, f(8, 2, 4), f(1, 2, 4), [f(4, 4), f(4, 4)], False, 1, 0.0, False, False, False
    yield A.gru.input, f(9, 2, 4), f(2, 2, 4), [f(12, 4)] * 4, False, 2, 0.5, True, False, False
