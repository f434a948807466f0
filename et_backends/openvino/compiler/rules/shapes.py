"""Views, copies, concatenations, gathers and resizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from xdsl.dialects.builtin import f32, i1, i8, i32
from xdsl.ir import Attribute

from et_backends.openvino.compiler.rules.rule import Rule
from et_backends.openvino.compiler.translation import Node, Translation, shape_of
from et_ir.backends.operator_rules import axis, slice_start, transposed_order
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import ui8
from et_ops.library import rearranging_copies

__all__ = ["RULES"]

_TYPES: Final[frozenset[Attribute]] = frozenset({f32, i1, i8, ui8, i32})


def _view(t: Translation, op: SchemaOp) -> Node:
    return t.reshaped(t.value(op.operands[0]), shape_of(op.results[0]))


def _permute(t: Translation, op: SchemaOp) -> Node:
    rank = len(shape_of(op.operands[0]))
    return t.nodes.transpose(t.read(op, "self"), t.integers(*(axis(dim, rank) for dim in op.arg("dims"))))


def _transpose(t: Translation, op: SchemaOp) -> Node:
    order = transposed_order(op, len(shape_of(op.operands[0])))
    return t.nodes.transpose(t.read(op, "self"), t.integers(*order))


def _expand(t: Translation, op: SchemaOp) -> Node:
    return t.nodes.broadcast(
        t.read(op, "self"), t.integers(*shape_of(op.result)), broadcast_spec="BIDIRECTIONAL"
    )


def _repeat(t: Translation, op: SchemaOp) -> Node:
    return t.nodes.tile(t.read(op, "self"), t.integers(*op.arg("repeats")))


def _slice(t: Translation, op: SchemaOp) -> Node:
    sizes = shape_of(op.operands[0])
    dim = axis(op.arg("dim"), len(sizes))
    start = slice_start(op, sizes[dim])
    step = op.arg("step")
    end = start + shape_of(op.result)[dim] * step
    return t.nodes.slice(
        t.read(op, "self"), t.integers(start), t.integers(end), t.integers(step), t.integers(dim)
    )


def _select(t: Translation, op: SchemaOp) -> Node:
    return t.nodes.gather(t.read(op, "self"), t.integer(op.arg("index")), t.integer(op.arg("dim")))


def _concatenate(t: Translation, op: SchemaOp) -> Node:
    rank = len(shape_of(op.result))
    values = [value for value in op.arg("tensors") if len(shape_of(value)) == rank]
    return t.nodes.concat([t.value(value) for value in values], axis(op.arg("dim"), rank))


def _stack(t: Translation, op: SchemaOp) -> Node:
    dim = axis(op.arg("dim"), len(shape_of(op.result)))
    return t.nodes.concat(
        [t.nodes.unsqueeze(t.value(value), t.integers(dim)) for value in op.arg("tensors")], dim
    )


def _split(t: Translation, op: SchemaOp) -> Sequence[Node]:
    dim = axis(op.arg("dim"), len(shape_of(op.operands[0])))
    sizes = [shape_of(result)[dim] for result in op.results]
    parts = t.nodes.variadic_split(t.read(op, "self"), t.integer(dim), t.integers(*sizes))
    return [parts.output(at) for at in range(len(sizes))]


def _flip(t: Translation, op: SchemaOp) -> Node:
    rank = len(shape_of(op.operands[0]))
    dims = [axis(dim, rank) for dim in op.arg("dims")]
    last = np.iinfo(np.int64).min
    return t.nodes.slice(
        t.read(op, "self"),
        t.integers(*[-1] * len(dims)),
        t.integers(*[last] * len(dims)),
        t.integers(*[-1] * len(dims)),
        t.integers(*dims),
    )


def _pad(t: Translation, op: SchemaOp) -> Node:
    given = op.arg("pad")
    rank = len(shape_of(op.operands[0]))
    begin, end = [0] * rank, [0] * rank
    for at in range(len(given) // 2):
        begin[rank - 1 - at], end[rank - 1 - at] = given[2 * at], given[2 * at + 1]
    value = t.number(op.arg("value"), op.operands[0])
    return t.nodes.pad(t.read(op, "self"), t.integers(*begin), t.integers(*end), "constant", value)


def _refuse_pad(op: SchemaOp) -> Diagnostic | None:
    if not shape_of(op.operands[0]):
        return Diagnostic("padding of a tensor of rank 0")
    return Diagnostic("negative padding") if min(op.arg("pad"), default=0) < 0 else None


def _shuffle(t: Translation, op: SchemaOp) -> Node:
    return t.nodes.depth_to_space(t.read(op, "self"), "depth_first", int(op.arg("upscale_factor")))


def _refuse_shuffle(op: SchemaOp) -> Diagnostic | None:
    return (
        None if len(shape_of(op.operands[0])) == 4 else Diagnostic("rank", "the node takes batches of images")
    )


def _embedding(t: Translation, op: SchemaOp) -> Node:
    return t.nodes.gather(t.read(op, "weight"), t.read(op, "indices"), t.integer(0))


def _index_select(t: Translation, op: SchemaOp) -> Node:
    return t.nodes.gather(t.read(op, "self"), t.read(op, "index"), t.integer(op.arg("dim")))


def _gather(t: Translation, op: SchemaOp) -> Node:
    return t.nodes.gather_elements(t.read(op, "self"), t.read(op, "index"), op.arg("dim"))


def _refuse_number(op: SchemaOp) -> Diagnostic | None:
    return None if shape_of(op.operands[0]) else Diagnostic("a tensor without dimensions")


def _refuse_gather(op: SchemaOp) -> Diagnostic | None:
    """The node gathers from dimensions as large as those of the places, torch from larger ones too."""
    values, places = shape_of(op.arg("self")), shape_of(op.arg("index"))
    if not values:
        return Diagnostic("a tensor without dimensions")
    dim = axis(op.arg("dim"), len(values))
    same = all(size == values[at] for at, size in enumerate(places) if at != dim)
    return None if same else Diagnostic("gather from a part of the other dimensions")


_VIEW: Final = Rule(_view, types=_TYPES)

RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(rearranging_copies(reshaping=True), _VIEW),
    "permute_copy": Rule(_permute, types=_TYPES),
    "transpose_copy.int": Rule(_transpose, _refuse_number, types=_TYPES),
    "t_copy": Rule(_transpose, _refuse_number, types=_TYPES),
    "expand_copy": Rule(_expand, types=_TYPES),
    "repeat": Rule(_repeat, types=_TYPES),
    "slice_copy.Tensor": Rule(_slice, types=_TYPES),
    "select_copy.int": Rule(_select, types=_TYPES),
    "cat": Rule(_concatenate, types=_TYPES),
    "stack": Rule(_stack, types=_TYPES),
    "split_with_sizes_copy": Rule(_split, types=_TYPES, results=-1),
    "split_copy.Tensor": Rule(_split, types=_TYPES, results=-1),
    "flip": Rule(_flip, _refuse_number, types=_TYPES),
    "constant_pad_nd": Rule(_pad, _refuse_pad),
    "pixel_shuffle": Rule(_shuffle, _refuse_shuffle),
    "embedding": Rule(_embedding, indices=("indices",)),
    "index_select": Rule(_index_select, _refuse_number, types=_TYPES, indices=("index",)),
    "gather": Rule(_gather, _refuse_gather, types=_TYPES, indices=("index",)),
}
