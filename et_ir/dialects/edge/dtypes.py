"""Element types that edge operators take: rules `edge_c3` and `edge_c4` of the dialect's verifier.

A line of the table is a class of element types and, for each operator, arguments that have one type of that
class between them. An operator may stand in several lines, and takes anything where it stands in none. The
classes are what torch's CPU kernels take, which `test/conformance/test_edge_dtypes.py` checks against torch's
own test inputs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from xdsl.ir import Attribute

from et_ir.dialects.aten.inference.dtypes import Category, DType, dtype_of
from et_ir.dialects.edge.promotion import operands_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import ELEMENT_TYPES
from et_ir.dialects.schema.tensors import is_tensor

__all__ = ["CONSTRAINTS", "Constraint", "dtype_problems"]

_TYPES: Final = tuple(dtype_of(attr) for attr in ELEMENT_TYPES.values())
_CLASSES: Final = {
    "any": frozenset(_TYPES),
    "number": frozenset(t for t in _TYPES if t.category > Category.BOOL),
    "ordered": frozenset(t for t in _TYPES if t.category < Category.COMPLEX),
    "real": frozenset(t for t in _TYPES if Category.BOOL < t.category < Category.COMPLEX),
    "floating": frozenset(t for t in _TYPES if t.category >= Category.FLOAT),
    "float": frozenset(t for t in _TYPES if t.is_float),
    "complex": frozenset(t for t in _TYPES if t.is_complex),
    "integral": frozenset(t for t in _TYPES if t.is_integral),
    "index": frozenset(t for t in _TYPES if t.name in ("i32", "i64")),
    "mask": frozenset(t for t in _TYPES if t.name in ("i1", "ui8")),
    "selector": frozenset(t for t in _TYPES if t.name in ("i1", "ui8", "i8", "i32", "i64")),
}

_TABLE: Final = """
any: add.Tensor(self, other) cat(tensors) copy(self, src) div.Tensor(self, other) eq.Tensor(self, other)
any: fill.Tensor(self, value) index_put(self, values) logical_and(self, other) logical_or(self, other)
any: logical_xor(self, other) masked_fill.Tensor(self, value) masked_scatter(self, source)
any: mul.Tensor(self, other) ne.Tensor(self, other)
any: scatter.src(self, src) scatter_add(self, src) select_scatter(self, src) slice_scatter(self, src)
any: stack(tensors) where.self(self, other)
number: abs(self) addcmul(self, tensor1, tensor2) addmm(self, mat1, mat2)
number: baddbmm(self, batch1, batch2) bmm(self, mat2) convolution(input, weight, bias) dot(self, tensor)
number: linear(input, weight, bias) mm(self, mat2) mv(self, vec) neg(self) pow.Tensor_Tensor(self, exponent)
number: reflection_pad1d(self) reflection_pad2d(self) reflection_pad3d(self) replication_pad1d(self)
number: replication_pad2d(self) replication_pad3d(self) rsub.Scalar(self) rsub.Tensor(self, other)
number: sub.Scalar(self) sub.Tensor(self, other)
ordered: amax(self) amin(self) atan2(self, other) clamp(self) clamp.Tensor(self, min, max) erf(self)
ordered: ge.Scalar(self) ge.Tensor(self, other) gt.Scalar(self) gt.Tensor(self, other) le.Scalar(self)
ordered: le.Tensor(self, other) logit(self) lt.Scalar(self) lt.Tensor(self, other) max.dim(self)
ordered: maximum(self, other) min.dim(self) minimum(self, other) scatter_reduce.two(self, src) sign(self)
ordered: sort(self)
real: argmax(self) argmin(self) avg_pool1d(self) avg_pool2d(self) avg_pool3d(self) ceil(self)
real: div.Scalar_mode(self) div.Tensor_mode(self, other) floor(self) floor_divide(self, other)
real: fmod.Scalar(self) fmod.Tensor(self, other) hardtanh(self) max_pool2d_with_indices(self)
real: max_pool3d_with_indices(self) relu(self) remainder.Scalar(self) remainder.Tensor(self, other)
real: round(self) topk(self) trunc(self) upsample_bilinear2d.vec(input) upsample_nearest2d.vec(input)
floating: _fft_r2c(self) addcdiv(self, tensor1, tensor2) lerp.Scalar(self, end) mean(self) mean.dim(self)
floating: var.correction(self) var.dim(self) view_as_complex_copy(self)
float: _adaptive_avg_pool2d(self) _adaptive_avg_pool3d(self) _cdist_forward(x1, x2) _log_softmax(self)
float: _native_batch_norm_legit.no_stats(input, weight, bias)
float: _native_batch_norm_legit_no_training(input, weight, bias, running_mean, running_var)
float: _pdist_forward(self) _softmax(self) adaptive_avg_pool1d(self) elu(self) embedding(weight) gelu(self)
float: glu(self) grid_sampler_2d(input, grid) leaky_relu(self) native_group_norm(input, weight, bias)
float: native_layer_norm(input, weight, bias) igamma(self, other) igammac(self, other) nextafter(self, other)
complex: _fft_c2r(self) view_as_real_copy(self)
integral: gcd(self, other) lcm(self, other)
integral: bitwise_left_shift.Tensor(self, other) bitwise_right_shift.Tensor(self, other)
integral: bitwise_and.Scalar(self) bitwise_and.Tensor(self, other) bitwise_not(self) bitwise_or.Scalar(self)
integral: bitwise_or.Tensor(self, other) bitwise_xor.Scalar(self) bitwise_xor.Tensor(self, other)
index: embedding(indices) gather(index) index_select(index) scatter.src(index) scatter.value(index)
index: scatter_add(index) scatter_reduce.two(index)
selector: index.Tensor(indices) index_put(indices)
mask: masked_fill.Scalar(mask) masked_fill.Tensor(mask) masked_scatter(mask) masked_select(mask)
mask: where.self(condition)
"""


class Constraint(NamedTuple):
    """Arguments of one operator that share an element type, and the types they may have."""

    args: tuple[str, ...]
    types: frozenset[DType]
    label: str
    """The class of types by name, for messages."""


def _read_table() -> dict[str, tuple[Constraint, ...]]:
    found: dict[str, tuple[Constraint, ...]] = {}
    for line in _TABLE.strip().splitlines():
        label, _, entries = line.partition(": ")
        for name, args in re.findall(r"([\w.]+)\(([\w, ]+)\)", entries):
            constraint = Constraint(tuple(args.split(", ")), _CLASSES[label], label)
            found[name] = (*found.get(name, ()), constraint)
    return found


CONSTRAINTS: Final = _read_table()
"""The table by operator name without the dialect."""

# Each index tensor of these is an operand of its own, and need not have the type of the others.
_INDEPENDENT: Final = ("indices",)


def dtype_problems(op: SchemaOp) -> Iterator[str]:
    """The violations of `edge_c3` and `edge_c4` at an op, as messages with labels; numbers in tensor slots
    are skipped.
    """
    for constraint in CONSTRAINTS.get(op.name.partition(".")[2], ()):
        types: list[Attribute] = []
        for _, value in operands_of(op, *constraint.args):
            if is_tensor(value.type):
                types.append(value.type.element_type)
        names = ", ".join(f"'{arg}'" for arg in constraint.args)
        if len(set(types)) > 1 and constraint.args != _INDEPENDENT:
            yield f"[edge_c3] {names} mix element types: {', '.join(map(str, types))}"
            continue
        for type in types:
            if dtype_of(type) not in constraint.types:
                yield f"[edge_c4] {names} cannot be {type}, expected {_describe(constraint)}"
                break


def _describe(constraint: Constraint) -> str:
    if constraint.label in ("any", "number", "ordered", "real", "floating"):
        excluded = [t.name for t in _TYPES if t not in constraint.types]
        return f"any type but {', '.join(excluded)}"
    return ", ".join(t.name for t in _TYPES if t in constraint.types)
