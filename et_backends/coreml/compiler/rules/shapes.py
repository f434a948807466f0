"""Views, copies, concatenations and gathers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import f32, i1, i32, i64
from xdsl.ir import Attribute

from et_backends.coreml.compiler.rules.rule import Rule
from et_backends.coreml.compiler.translation import Made, Translation, shape_of
from et_ir.backends.operator_rules import axis, slice_start, transposed_order
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type
from et_ops.library import rearranging_copies

__all__ = ["RULES"]

_TYPES: Final[frozenset[Attribute]] = frozenset({f32, i1, i32, i64})


def _view(t: Translation, op: SchemaOp) -> Made:
    return t.reshaped(t.value(op.operands[0]), shape_of(op.results[0]))


def _permuted(t: Translation, x: Made, order: list[int]) -> Made:
    return t.make("transpose", [x.shape[dim] for dim in order], x=x, perm=order)


def _permute(t: Translation, op: SchemaOp) -> Made:
    x = t.read(op, "self")
    return _permuted(t, x, [axis(dim, len(x.shape)) for dim in op.arg("dims")] or [0])


def _transpose(t: Translation, op: SchemaOp) -> Made:
    x = t.read(op, "self")
    return _permuted(t, x, transposed_order(op, len(x.shape)))


def _expand(t: Translation, op: SchemaOp) -> Made:
    return t.broadcast(t.read(op, "self"), shape_of(op.result))


def _repeat(t: Translation, op: SchemaOp) -> Made:
    x, shape = t.read(op, "self"), shape_of(op.result)
    x = t.reshaped(x, [1] * (len(shape) - len(x.shape)) + list(x.shape))
    return t.make("tile", shape, x=x, reps=[int(one) for one in op.arg("repeats")] or [1])


def _cut(t: Translation, x: Made, dim: int, start: int, end: int, step: int) -> Made:
    begin, stop, stride, shape = [0] * len(x.shape), list(x.shape), [1] * len(x.shape), list(x.shape)
    begin[dim], stop[dim], stride[dim], shape[dim] = start, end, step, -(-(end - start) // step)
    return t.make("slice_by_index", shape, x=x, begin=begin, end=stop, stride=stride)


def _slice(t: Translation, op: SchemaOp) -> Made:
    x = t.read(op, "self")
    dim = axis(op.arg("dim"), len(x.shape))
    size, step = x.shape[dim], op.arg("step")
    start = slice_start(op, size)
    count = shape_of(op.result)[dim]
    return _cut(t, x, dim, start, min(start + count * step, size), step)


def _select(t: Translation, op: SchemaOp) -> Made:
    x = t.read(op, "self")
    dim = axis(op.arg("dim"), len(x.shape))
    at = axis(op.arg("index"), x.shape[dim])
    return t.reshaped(_cut(t, x, dim, at, at + 1, 1), shape_of(op.result))


def _concatenate(t: Translation, op: SchemaOp) -> Made:
    rank = len(tensor_type(op.result).get_shape())
    # torch allows vectors without elements among tensors of any rank; support refuses these.
    values = [t.value(value) for value in op.arg("tensors")]
    return t.make(
        "concat", shape_of(op.result), values=values, axis=axis(op.arg("dim"), rank), interleave=False
    )


def _stack(t: Translation, op: SchemaOp) -> Made:
    shape = shape_of(op.result)
    dim = axis(op.arg("dim"), len(shape))
    single = (*shape[:dim], 1, *shape[dim + 1 :])
    values = [t.reshaped(t.value(value), single) for value in op.arg("tensors")]
    return t.make("concat", shape, values=values, axis=dim, interleave=False)


def _split(t: Translation, op: SchemaOp) -> Sequence[Made]:
    x = t.read(op, "self")
    dim = axis(op.arg("dim"), len(x.shape))
    types = [t.type_of(result) for result in op.results]
    if len(types) == 1:
        return [x]
    sizes = [type.shape[dim] for type in types]
    return t.make_all("split", types, x=x, split_sizes=sizes, axis=dim)


def _flip(t: Translation, op: SchemaOp) -> Made:
    x = t.read(op, "self")
    axes = [axis(dim, len(x.shape)) for dim in op.arg("dims")]
    return t.make("reverse", x.shape, x=x, axes=axes) if axes else x


def _pad(t: Translation, op: SchemaOp) -> Made:
    x, given = t.read(op, "self"), op.arg("pad")
    amounts = [0] * (2 * len(x.shape))
    for at in range(len(given) // 2):
        dim = len(x.shape) - 1 - at
        amounts[2 * dim : 2 * dim + 2] = given[2 * at : 2 * at + 2]
    return t.make(
        "pad", shape_of(op.result), x=x, pad=amounts, mode="constant", constant_val=float(op.arg("value"))
    )


def _refuse_crop(op: SchemaOp) -> Diagnostic | None:
    return Diagnostic("negative padding") if min(op.arg("pad"), default=0) < 0 else None


def _shuffle(t: Translation, op: SchemaOp) -> Made:
    x = t.read(op, "self")
    return t.make("pixel_shuffle", shape_of(op.result), x=x, upscale_factor=int(op.arg("upscale_factor")))


def _refuse_shuffle(op: SchemaOp) -> Diagnostic | None:
    batch = len(shape_of(op.operands[0])) == 4
    return None if batch else Diagnostic("rank", "the operation takes batches of images")


def _gathered(t: Translation, x: Made, places: Made, dim: int) -> Made:
    shape = (*x.shape[:dim], *places.shape, *x.shape[dim + 1 :])
    return t.make("gather", shape, x=x, indices=places, axis=dim, batch_dims=0)


def _embedding(t: Translation, op: SchemaOp) -> Made:
    return _gathered(t, t.read(op, "weight"), t.read(op, "indices"), 0)


def _index_select(t: Translation, op: SchemaOp) -> Made:
    x = t.read(op, "self")
    return _gathered(t, x, t.read(op, "index"), axis(op.arg("dim"), len(x.shape)))


def _gather(t: Translation, op: SchemaOp) -> Made:
    x, places = t.read(op, "self"), t.read(op, "index")
    dim = axis(op.arg("dim"), len(x.shape))
    return t.make("gather_along_axis", places.shape, x=x, indices=places, axis=dim)


def _refuse_places(op: SchemaOp) -> Diagnostic | None:
    """Places in a tensor that may be larger than 5 dimensions together with those of the places."""
    places = next(op.arg(name) for name in ("indices", "index") if name in op.info().schema.by_name)
    rank = len(shape_of(op.operands[0])) + len(shape_of(places)) - 1
    return Diagnostic("more than 5 dimensions") if rank > 5 else None


def _refuse_gather(op: SchemaOp) -> Diagnostic | None:
    """The operation gathers from dimensions as large as those of the places, torch from larger ones too."""
    values, places = shape_of(op.arg("self")), shape_of(op.arg("index"))
    dim = axis(op.arg("dim"), len(values))
    same = all(size == values[at] for at, size in enumerate(places) if at != dim)
    return None if same else Diagnostic("gather from a part of the other dimensions")


_VIEW: Final = Rule(_view, types=_TYPES)

RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(rearranging_copies(reshaping=True), _VIEW),
    "permute_copy": Rule(_permute, types=_TYPES),
    "transpose_copy.int": Rule(_transpose, types=_TYPES),
    "t_copy": Rule(_transpose, types=_TYPES),
    "expand_copy": Rule(_expand, types=_TYPES),
    "repeat": Rule(_repeat, types=_TYPES),
    "slice_copy.Tensor": Rule(_slice, types=_TYPES),
    "select_copy.int": Rule(_select, types=_TYPES),
    "cat": Rule(_concatenate, types=_TYPES),
    "stack": Rule(_stack, types=_TYPES),
    "split_with_sizes_copy": Rule(_split, types=_TYPES, results=-1),
    "split_copy.Tensor": Rule(_split, types=_TYPES, results=-1),
    "flip": Rule(_flip, types=_TYPES),
    "constant_pad_nd": Rule(_pad, _refuse_crop),
    "pixel_shuffle": Rule(_shuffle, _refuse_shuffle),
    "embedding": Rule(_embedding, _refuse_places, indices=("indices",)),
    "index_select": Rule(_index_select, _refuse_places, types=_TYPES, indices=("index",)),
    "gather": Rule(_gather, _refuse_gather, types=_TYPES, indices=("index",)),
}
