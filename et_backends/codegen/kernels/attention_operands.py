"""Operands of attention: the ops of two products and the softmax between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from xdsl.dialects.builtin import f32
from xdsl.ir import Block, Operation, SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.elements import element_of
from et_backends.codegen.kernels.integer_rules import is_checked
from et_backends.codegen.kernels.pointwise_rules import FUNCTIONS, POINTWISE, operator_name, rule_of
from et_backends.codegen.kernels.quantization_rules import QUANTIZING, i8
from et_backends.codegen.sizes import Size, has_known_sizes, representative, shape_of
from et_ir.analysis.dim_orders import Order, straight
from et_ir.dialects.program import GetOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor, sizes_of, tensor_type

__all__ = [
    "CAST",
    "FEW",
    "Attention",
    "attention_matrices",
    "attention_of",
    "dequantized",
    "is_recomputed",
    "match_attention",
    "scaled_matrices",
    "times_of",
]

FEW: Final = 8
"""As many queries, or fewer, read keys and values as they are."""
CAST: Final = "dim_order_ops._to_dim_order_copy"
_PRODUCTS: Final = ("bmm", "mm")
_SLOW: Final = FUNCTIONS.union(
    QUANTIZING,
    (f"{name}.{kind}" for name in ("remainder", "fmod") for kind in ("Scalar", "Tensor")),
    ("div.Scalar_mode", "div.Tensor_mode"),
)
"""Pointwise operators that are computed once for all tiles: integers are divided one by one."""


@dataclass(frozen=True)
class Attention:
    """The ops of an attention: two products, a softmax of the first, and pointwise ops between them."""

    query: SSAValue
    """`[…, queries, depth]`."""
    key: SSAValue
    """`[…, depth, keys]`."""
    value: SSAValue
    """`[…, keys, width]`."""
    scores: SSAValue
    """The operand of the pointwise ops: the first product, in the shape of the softmax."""
    result: SSAValue
    """`[…, queries, width]`."""
    pointwise: tuple[SchemaOp, ...]
    """What masks are computed of, then from the scores to the operand of the softmax."""
    ops: tuple[SchemaOp, ...]
    """All ops, in their order."""
    key_scales: SSAValue | None = None
    """`[…, 1, keys]` where keys are bytes."""
    value_scales: SSAValue | None = None
    """`[…, keys, 1]` where values are bytes."""

    @property
    def shape(self) -> tuple[Size, ...]:
        """That of the scores: rows of keys."""
        return shape_of(self.scores)

    @property
    def beside(self) -> list[SSAValue]:
        """Operands of the pointwise ops beside the scores: masks and numbers."""
        made = {self.scores, *(result for op in self.pointwise for result in op.results)}
        found = dict.fromkeys(operand for op in self.pointwise for operand in op.operands)
        return [value for value in found if value not in made]

    @property
    def of_scores(self) -> set[SSAValue]:
        """The scores, and what is computed of them."""
        found = {self.scores}
        for op in self.pointwise:
            if not found.isdisjoint(op.operands):
                found.update(op.results)
        return found

    @property
    def added(self) -> list[SSAValue]:
        """The operands of additions that the softmax reads, or that other such additions read.

        A key with a mask of -inf there has no weight. What else is done to scores, such as a bound, may give it some.
        """
        found: list[SSAValue] = []
        for op in reversed(self.pointwise):
            if operator_name(op) != "add.Tensor" or float(op.arg("alpha")) != 1:
                break
            found[:0] = op.operands
        return found

    @property
    def inputs(self) -> list[SSAValue]:
        scales = [one for one in (self.key_scales, self.value_scales) if one is not None]
        return [self.query, self.key, self.value, *scales, *self.beside]


def match_attention(op: SchemaOp) -> Attention | None:
    """The attention whose second product an op is; None if it is none, or of sizes that there are no loops for."""
    if operator_name(op) not in _PRODUCTS:
        return None
    weights, views = _through_views(op.operands[0])
    softmax = weights.owner
    if not isinstance(softmax, SchemaOp) or operator_name(softmax) != "_softmax":
        return None
    if not has_known_sizes(weights):
        return None
    shape = shape_of(weights)
    if not _used_once(weights) or int(softmax.arg("dim")) % len(shape) != len(shape) - 1:
        return None
    pointwise = _chain(softmax.operands[0], shape)
    if pointwise is None:
        return None
    scores, chain = pointwise
    made, before = _through_views(scores)
    first = made.owner
    if not isinstance(first, SchemaOp) or not _used_once(made):
        return None
    query, of_query = _operand(first.operands[0])
    key, of_key = _operand(first.operands[1])
    value, of_value = _operand(op.operands[1])
    result, of_result = _result(op.results[0], sizes_of(tensor_type(query))[-2])
    pointwise_ops = (*_masks(chain, shape), *chain)
    between, behind = (first, *before, *pointwise_ops, softmax, *views), (op, *of_result)
    ops = (*of_query, *of_key, *between, *of_value, *behind)
    found = Attention(query, key, value, scores, result, pointwise_ops, ops)
    if not _has_loops(found, made):
        return None
    key, key_scales, restored_keys = _bytes(key, -2)
    value, value_scales, restored_values = _bytes(value, -1)
    if key_scales is None and value_scales is None:
        return found
    ops = (*of_query, *restored_keys, *of_key, *between, *restored_values, *of_value, *behind)
    return replace(found, key=key, value=value, key_scales=key_scales, value_scales=value_scales, ops=ops)


def _used_once(value: SSAValue) -> bool:
    return value.has_one_use()


def _through_views(value: SSAValue) -> tuple[SSAValue, list[SchemaOp]]:
    """The value of which another is a reshape that only merges or splits its rows, and the ops that do so."""
    views: list[SchemaOp] = []
    columns = sizes_of(tensor_type(value))[-1]
    while isinstance(value.owner, SchemaOp) and operator_name(value.owner) == "view_copy":
        source = value.owner.operands[0]
        shape = sizes_of(tensor_type(source))
        if not _used_once(value) or not shape or shape[-1] != columns:
            break
        views.insert(0, value.owner)
        value = source
    return value, views


def _operand(value: SSAValue) -> tuple[SSAValue, list[SchemaOp]]:
    """Matrices of a batch, in more dimensions where their batch is a merge of some."""
    owner = value.owner
    if isinstance(owner, SchemaOp) and operator_name(owner) == "view_copy":
        source = owner.operands[0]
        shape, merged = sizes_of(tensor_type(source)), sizes_of(tensor_type(value))
        if len(shape) > 2 and shape[-1] == merged[-1] and times_of(merged[-2], shape[-2]) is not None:
            return source, [owner]
    return value, []


def dequantized(op: Operation | Block, dim: int) -> tuple[SchemaOp, SSAValue] | None:
    """The op that converts the bytes that a multiplication scales to floats, and the scales, of size 1 in `dim`, where
    bytes have another; None for other ops.
    """
    if not isinstance(op, SchemaOp) or operator_name(op) != "mul.Tensor":
        return None
    for value, scales in (op.operands, op.operands[::-1]):
        cast = value.owner
        if not isinstance(cast, SchemaOp) or operator_name(cast) != CAST or not _used_once(value):
            continue
        shape = list(tensor_type(value).get_shape())
        if shape[dim] == 1:
            return None
        shape[dim] = 1
        if tensor_type(scales).get_shape() != tuple(shape) or min(shape) < 0:
            continue
        if element_of(cast.operands[0]) == i8 and element_of(value) == element_of(scales) == f32:
            return cast, scales
    return None


def _bytes(value: SSAValue, dim: int) -> tuple[SSAValue, SSAValue | None, list[SchemaOp]]:
    """Keys or values as they are before they are dequantized, with their scales, and the ops that do so."""
    found = dequantized(value.owner, dim) if _used_once(value) else None
    if found is None:
        return value, None, []
    cast, scales = found
    assert isinstance(value.owner, SchemaOp)
    return cast.operands[0], scales, [cast, value.owner]


def times_of(size: Size | None, of: Size | None) -> int | None:
    """How many times another one a size is, if that is known."""
    if size is None or of is None:
        return None
    times, rest = divmod(representative(size), max(representative(of), 1))
    return times if not rest else None


def _result(value: SSAValue, queries: Size | None) -> tuple[SSAValue, list[SchemaOp]]:
    """The result in the shape of what alone reads it, if that takes its batch apart."""
    uses = list(value.uses)
    if len(uses) != 1:
        return value, []
    user = uses[0].operation
    if not isinstance(user, SchemaOp) or operator_name(user) != "view_copy":
        return value, []
    shape = sizes_of(tensor_type(user.results[0]))
    if len(shape) < 2 or shape[-1] != sizes_of(tensor_type(value))[-1] or shape[-2] != queries:
        return value, []
    return user.results[0], [user]


def _chain(value: SSAValue, shape: Sequence[Size]) -> tuple[SSAValue, list[SchemaOp]] | None:
    """Pointwise ops from a product, or a view of one, to a value; all of one shape, read by nothing else."""
    owner = value.owner
    if not isinstance(owner, SchemaOp) or not _used_once(value):
        return None
    name = operator_name(owner)
    if name in ("view_copy", *_PRODUCTS):
        source = _through_views(value)[0].owner
        return (value, []) if isinstance(source, SchemaOp) and operator_name(source) in _PRODUCTS else None
    if name not in POINTWISE:
        return None
    for operand in owner.operands:
        if sizes_of(tensor_type(operand)) != shape:
            continue
        found = _chain(operand, shape)
        if found is None:
            continue
        return found[0], [*found[1], owner]
    return None


def _masks(chain: Sequence[SchemaOp], shape: Sequence[Size]) -> list[SchemaOp]:
    """What the other operands of pointwise ops on scores are computed of, as far as a tile computes it again.

    Values of the scores are read once, so that none of these read them.
    """
    on_scores = set(chain)
    found: dict[SchemaOp, None] = {}

    def visit(value: SSAValue) -> None:
        owner = value.owner
        if not isinstance(owner, SchemaOp) or owner in on_scores or owner in found:
            return
        if is_recomputed(owner, shape[-1]):
            for operand in owner.operands:
                visit(operand)
            found[owner] = None

    for op in chain:
        for operand in op.operands:
            visit(operand)
    return list(found)


def is_recomputed(op: SchemaOp, keys: Size | None) -> bool:
    """Whether an op computes a mask with elements for so many keys in few instructions."""
    if operator_name(op) in _SLOW or rule_of(op) is None or is_checked(op) or len(op.results) != 1:
        return False
    shape = sizes_of(tensor_type(op.results[0]))
    if not shape or shape[-1] != keys or keys == 1 or not all(is_tensor(one.type) for one in op.operands):
        return False
    return all(has_known_sizes(one) for one in (*op.operands, *op.results))


def _has_loops(one: Attention, made: SSAValue) -> bool:
    """Whether the loops have a place for all operands, given the result of the first product."""
    values = [one.query, one.key, one.value, one.result, one.scores, made, *one.beside]
    if not all(map(has_known_sizes, values)):
        return False
    if any(tensor_type(value).element_type != f32 for value in values[:4]) or any(
        rule_of(op) is None for op in one.pointwise
    ):
        return False
    query, key, value, result, scores, first, *beside = map(shape_of, values)
    # The number of queries is the only one that need not be known, and that of rows which are theirs.
    known = [*key, *value, scores[-1]]
    for shape in (query, result, scores, first):
        known += [*shape[:-2], shape[-1]]
    for shape in beside:
        known += shape if shape[-2:-1] != scores[-2:-1] else [*shape[:-2], shape[-1]]
    if not all(isinstance(size, int) and size > 0 for size in known):
        return False
    heads, of_keys, of_values = (prod(map(representative, shape[:-2])) for shape in (query, key, value))
    constant = any(isinstance(value.owner, GetOp) for value in values[1:3])
    rows = (first[-2], *scores[-2:-1], result[-2])
    return (
        not constant
        and query[-2] != 0
        and scores[-1] == first[-1]
        and all(times_of(size, query[-2]) is not None for size in rows)
        and heads % of_keys == 0
        and of_keys == of_values
    )


def attention_of(kernel: KernelOp) -> Attention:
    """The attention in the body of a kernel."""
    ops = [op for op in kernel.body.block.ops if isinstance(op, SchemaOp) and operator_name(op) in _PRODUCTS]
    found = match_attention(ops[-1])
    assert found is not None
    return found


def attention_matrices(kernel: KernelOp) -> list[SSAValue]:
    """The queries, keys and values of a kernel, as its body has them."""
    return attention_of(kernel).inputs[:3]


def scaled_matrices(kernel: KernelOp) -> dict[SSAValue, Order]:
    """The order in memory of keys and values in bytes, as the body of a kernel has them: each by itself."""
    attention = attention_of(kernel)
    found: dict[SSAValue, Order] = {}
    for value, scales in (
        (attention.key, attention.key_scales),
        (attention.value, attention.value_scales),
    ):
        if scales is not None:
            *batch, rows, columns = straight(tensor_type(value).get_num_dims())
            found[value] = (*batch, columns, rows) if value is attention.key else (*batch, rows, columns)
    return found
