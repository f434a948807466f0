"""The factors that torch's resizes go by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from et_ir.dialects.edge.attributes import is_channels_last
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type
from et_ops.resampling import goes_by_sizes, nearest_factor

__all__ = ["factors_of", "given_factors", "goes_by_ratios"]

_TOLERANCE: Final = 1e-6


def given_factors(op: SchemaOp) -> list[float | None]:
    """The factors that an op is given for each spatial dimension of its result."""
    names = op.schema().by_name
    rank = tensor_type(op.results[0]).get_num_dims() - 2
    if "scale_factors" in names:
        given: Sequence[Any] | None = op.arg("scale_factors")
        found = [None] * rank if given is None else list(given)
    elif "scales" in names:
        found = [op.arg("scales")]
    else:
        found = [op.arg(f"scales_{axis}") for axis in "dhw"[-rank:]]
    return [None if one is None else float(one) for one in found]


def factors_of(op: SchemaOp) -> list[float | None]:
    """The factors that torch goes by for each spatial dimension, of those that the op is given; None is the ratio of
    the sizes.

    Linear interpolation and filters leave a dimension alone that keeps its size, whatever its factor is, and so may
    the nearest neighbors (`goes_by_sizes`). With `align_corners`, no factor counts.
    """
    name = op.name.partition(".")[2]
    factors = given_factors(op)
    rank = len(factors)
    before, after = (tensor_type(value).get_shape()[-rank:] for value in (op.operands[0], op.results[0]))
    if "nearest_exact" in name:
        return factors
    if "nearest" in name:
        type = tensor_type(op.operands[0])
        channels = type.get_shape()[1]
        is_known = all(size >= 0 for size in after)
        by_sizes = is_known and goes_by_sizes(channels, after, is_channels_last=is_channels_last(type))
        return [
            nearest_factor(extent, count, factor, by_sizes)
            for extent, count, factor in zip(before, after, factors, strict=True)
        ]
    if op.arg("align_corners"):
        return [None] * rank
    if "bicubic" in name and "_aa" not in name:
        return factors
    return [
        None if extent == count >= 0 else factor
        for extent, count, factor in zip(before, after, factors, strict=True)
    ]


def goes_by_ratios(op: SchemaOp) -> bool:
    """Whether torch goes by the ratios of the sizes in each dimension, or by factors that are no others."""
    factors = factors_of(op)
    before, after = (
        tensor_type(value).get_shape()[-len(factors) :] for value in (op.operands[0], op.results[0])
    )
    return all(
        factor is None or abs(extent * factor - count) <= _TOLERANCE
        for extent, count, factor in zip(before, after, factors, strict=True)
    )
