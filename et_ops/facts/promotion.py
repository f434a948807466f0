"""Operators that torch lets mix element types: which operands are computed in one.

Torch promotes mixed operands inside of its kernels. At the edge level a kernel sees one type: `promote-types`
makes the conversions explicit, and the verifier of edge ops checks that none is left (`edge_c3`).
"""

from __future__ import annotations

from et_ops.fact import Promotion, declare

declare(
    """
    __and__.Tensor __lshift__.Tensor __or__.Tensor __rshift__.Tensor __xor__.Tensor add.Tensor arctan2
    atan2 bitwise_and.Tensor bitwise_left_shift.Tensor bitwise_or.Tensor bitwise_right_shift.Tensor
    bitwise_xor.Tensor copysign.Tensor div.Tensor div.Tensor_mode divide.Tensor divide.Tensor_mode
    eq.Tensor floor_divide fmax fmin fmod.Tensor gcd ge.Tensor greater.Tensor greater_equal.Tensor
    gt.Tensor hypot igamma igammac lcm le.Tensor less.Tensor less_equal.Tensor logaddexp logaddexp2
    logical_and logical_or logical_xor lt.Tensor max.other maximum min.other minimum mul.Tensor
    multiply.Tensor ne.Tensor nextafter not_equal.Tensor remainder.Tensor rsub.Tensor special_xlog1py
    special_xlogy special_zeta sub.Tensor subtract.Tensor true_divide.Tensor where.self xlogy.Tensor
""",
    promotion=Promotion(("self", "other")),
)
declare("addcdiv addcmul", promotion=Promotion(("self", "tensor1", "tensor2")))
declare("cat concat concatenate stack", promotion=Promotion(("tensors",)))
declare("clamp_max.Tensor", promotion=Promotion(("self", "max")))
declare("clamp_min.Tensor", promotion=Promotion(("self", "min")))
declare("clamp.Tensor clip.Tensor", promotion=Promotion(("self", "min", "max")))
declare("pow.Tensor_Tensor", promotion=Promotion(("self", "exponent")))

declare(
    "copy diagonal_scatter select_scatter slice_scatter",
    promotion=Promotion(("self", "src"), to_first=True),
)
declare("fill.Tensor masked_fill.Tensor", promotion=Promotion(("self", "value"), to_first=True))
declare(
    "native_group_norm native_layer_norm",
    promotion=Promotion(("input", "weight", "bias"), to_first=True),
)
declare(
    "_native_batch_norm_legit_no_training",
    promotion=Promotion(("input", "weight", "bias", "running_mean", "running_var"), to_first=True),
)
