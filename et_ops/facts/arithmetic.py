"""Pointwise operators: laws of arithmetic, and the overloads that take numbers."""

from __future__ import annotations

from et_ops.fact import declare

declare(
    """
    add.Tensor bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor eq.Tensor logical_and logical_or
    logical_xor maximum minimum mul.Tensor ne.Tensor
    """,
    commutative=True,
)
declare("bitwise_and.Tensor bitwise_or.Tensor fmax fmin", selects_operand=True)
declare("logical_and logical_or maximum minimum", selects_operand=True)

declare("ge.Tensor", mirror="le.Tensor")
declare("gt.Tensor", mirror="lt.Tensor")
declare("le.Tensor", mirror="ge.Tensor")
declare("lt.Tensor", mirror="gt.Tensor")
declare("sub.Tensor", mirror="rsub.Tensor")

for _packet in """
    add bitwise_and bitwise_or bitwise_xor div eq fill fmod ge gt le lt masked_fill mul ne remainder rsub sub
""".split():  # noqa: SIM905
    declare(f"{_packet}.Tensor", scalar_form=f"{_packet}.Scalar")
declare("clamp.Tensor clip.Tensor", scalar_form="clamp")
declare("div.Tensor_mode", scalar_form="div.Scalar_mode")
declare("pow.Tensor_Tensor", scalar_form="pow.Tensor_Scalar")

declare("add.Tensor rsub.Tensor sub.Tensor", rounds_numbers=("alpha",))
declare("add.Scalar rsub.Scalar sub.Scalar", rounds_numbers=("other", "alpha"))
declare(
    """
    eq.Scalar fmod.Scalar ge.Scalar gt.Scalar le.Scalar lt.Scalar ne.Scalar remainder.Scalar
    """,
    rounds_numbers=("other",),
)
declare("pow.Scalar remainder.Scalar_Tensor", rounds_numbers=("self",))
declare("pow.Tensor_Scalar", rounds_numbers=("exponent",))

declare("bitwise_not logical_not neg", involution=True)
declare("abs ceil floor relu round trunc", idempotent=True)
declare("abs exp sigmoid", nonnegative=True)

declare(
    """
    abs add.Scalar add.Tensor clamp div.Scalar div.Tensor hardtanh maximum minimum mul.Scalar mul.Tensor neg
    reciprocal relu rsqrt rsub.Scalar sqrt sub.Scalar sub.Tensor
    """,
    is_simple=True,
)

declare("relu", limits=(0.0, None))
declare("relu6", limits=(0.0, 6.0))
declare("hardtanh", limits=("min_val", "max_val"))
declare("clamp clip", limits=("min", "max"))
declare("clamp_min", limits=("min", None))
declare("clamp_max", limits=(None, "max"))

declare(
    """
    _reshape_alias_copy alias_copy as_strided_copy cat copy cumsum detach_copy diagonal_copy div.Scalar
    expand_copy flip gather index.Tensor index_put index_select lift_fresh_copy masked_scatter mean mean.dim
    mul.Scalar narrow_copy neg permute_copy repeat roll scatter.src scatter_add select_copy.int select_scatter
    slice_copy.Tensor slice_scatter split_copy.Tensor split_with_sizes_copy squeeze_copy.dim squeeze_copy.dims
    stack sum.dim_IntList t_copy transpose_copy.int tril unbind_copy.int unfold_copy unsqueeze_copy view_copy
    where.self
    """,
    acts_on_parts=True,
)
