"""Which operands of an operator are computed in one element type.

Torch promotes mixed operands inside of its kernels. At the edge level a kernel sees one type: `promote-types`
makes the conversions explicit, and the verifier of edge ops checks that none is left (`edge_c3`). The tables
name operators as both dialects do, without the dialect: `add.Tensor`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["PROMOTIONS", "Promotion"]


@dataclass(frozen=True, slots=True)
class Promotion:
    """The arguments that must agree.

    With `to_first` the others are converted to the type of the first, as assignments do; else all are
    converted to the type they promote to.
    """

    args: tuple[str, ...]
    to_first: bool = False


_BINARY: Final = """
    __and__.Tensor __lshift__.Tensor __or__.Tensor __rshift__.Tensor __xor__.Tensor add.Tensor arctan2
    atan2 bitwise_and.Tensor bitwise_left_shift.Tensor bitwise_or.Tensor bitwise_right_shift.Tensor
    bitwise_xor.Tensor copysign.Tensor div.Tensor div.Tensor_mode divide.Tensor divide.Tensor_mode
    eq.Tensor floor_divide fmax fmin fmod.Tensor gcd ge.Tensor greater.Tensor greater_equal.Tensor
    gt.Tensor hypot igamma igammac lcm le.Tensor less.Tensor less_equal.Tensor logaddexp logaddexp2
    logical_and logical_or logical_xor lt.Tensor max.other maximum min.other minimum mul.Tensor
    multiply.Tensor ne.Tensor nextafter not_equal.Tensor remainder.Tensor rsub.Tensor special_xlog1py
    special_xlogy special_zeta sub.Tensor subtract.Tensor true_divide.Tensor where.self xlogy.Tensor
"""

_OTHERS: Final = {
    "addcdiv": ("self", "tensor1", "tensor2"),
    "addcmul": ("self", "tensor1", "tensor2"),
    "cat": ("tensors",),
    "clamp_max.Tensor": ("self", "max"),
    "clamp_min.Tensor": ("self", "min"),
    "clamp.Tensor": ("self", "min", "max"),
    "clip.Tensor": ("self", "min", "max"),
    "concat": ("tensors",),
    "concatenate": ("tensors",),
    "pow.Tensor_Tensor": ("self", "exponent"),
    "stack": ("tensors",),
}

_TO_FIRST: Final = {
    "copy": ("self", "src"),
    "diagonal_scatter": ("self", "src"),
    "fill.Tensor": ("self", "value"),
    "masked_fill.Tensor": ("self", "value"),
    "native_group_norm": ("input", "weight", "bias"),
    "native_layer_norm": ("input", "weight", "bias"),
    "_native_batch_norm_legit_no_training": ("input", "weight", "bias", "running_mean", "running_var"),
    "select_scatter": ("self", "src"),
    "slice_scatter": ("self", "src"),
}

PROMOTIONS: Final[dict[str, Promotion]] = {
    **{name: Promotion(("self", "other")) for name in _BINARY.split()},
    **{name: Promotion(args) for name, args in _OTHERS.items()},
    **{name: Promotion(args, to_first=True) for name, args in _TO_FIRST.items()},
}
"""The operators that torch lets mix element types."""
