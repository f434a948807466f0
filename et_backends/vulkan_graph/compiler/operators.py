"""Operators of ExecuTorch's Vulkan runtime: element types, arguments that it takes, and the storage of their tensors.

Source: the operator registry of ExecuTorch's Vulkan backend (`op_registry.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from xdsl.dialects.builtin import f32, i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from et_backends.vulkan_graph.compiler.storage import BUFFER, CHANNELS, HEIGHT, WIDTH, Storage
from et_ir.backends.operator_rules import OperatorRule, is_constant, reduced_dims
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.edge.resampling import goes_by_ratios
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["CONTIGUOUS", "RESIZED", "RULES", "Placement", "Rule", "sizes_of"]


class Placement(NamedTuple):
    """How the tensors of an operator are stored."""

    storages: Callable[[SchemaOp], Sequence[Storage]]
    """Storages that all tensors of an op may have together, the first that holds them being the best. With none, they
    have that of the first operand."""
    packs: tuple[str, ...] = ()
    """Constant arguments that the operator packs itself; others are packed by a call of their own."""


Rule: TypeAlias = OperatorRule[Placement]

_FLOATS: Final = frozenset({f32})
_NUMBERS: Final = frozenset({f32, i32, i64})
_BOOLS: Final = frozenset({i1})
_ALL: Final = frozenset({f32, i32, i64, i1})


def sizes_of(value: SSAValue) -> list[int]:
    """The sizes of a tensor."""
    return list(tensor_type(value).get_shape())


def _any(op: SchemaOp) -> Sequence[Storage]:
    return ()


def _in(*storages: Storage) -> Callable[[SchemaOp], Sequence[Storage]]:
    return lambda op: storages


_LIKE_OPERAND: Final = Placement(_any)
_ROWS: Final = _in(WIDTH, BUFFER)
CONTIGUOUS: Final = Placement(_ROWS)
"""Elements of a row next to each other."""


def _rules(
    names: str,
    types: frozenset[Attribute],
    placement: Placement = _LIKE_OPERAND,
    **options: Any,
) -> dict[str, Rule]:
    return {name: OperatorRule(placement, types=types, **options) for name in names.split()}


# -- reductions


def _dims(op: SchemaOp) -> list[int]:
    return sorted(reduced_dims(op, len(sizes_of(op.operands[0]))))


def _reduction_storages(op: SchemaOp) -> Sequence[Storage]:
    """Rows are reduced in buffers; other dimensions in textures that do not pack them."""
    rank, dims = len(sizes_of(op.operands[0])), _dims(op)
    if dims == [rank - 1]:
        return (BUFFER,)
    reduced = {rank - 1 - dim for dim in dims}
    return [one for at, one in enumerate((WIDTH, HEIGHT, CHANNELS)) if at not in reduced]


def _refuse_reduction(op: SchemaOp) -> Diagnostic | None:
    rank, dims = len(sizes_of(op.operands[0])), _dims(op)
    if dims == [rank - 1]:
        return None
    if len(dims) > 2 or not dims:
        return Diagnostic("a reduction of more than two dimensions")
    if not op.arg("keepdim"):
        return Diagnostic("a reduction that drops dimensions other than the last")
    if any(dim < rank - 3 for dim in dims):
        return Diagnostic("a reduction of the batch")
    return None


# -- layers


def _refuse_convolution(op: SchemaOp) -> Diagnostic | None:
    sizes = sizes_of(op.arg("input"))
    if not is_constant(op.arg("weight")) or not (op.arg("bias") is None or is_constant(op.arg("bias"))):
        return Diagnostic("filters that are not constant")
    if len(sizes) == 4 and sizes[0] != 1:
        return Diagnostic("a batch of images")
    if len(sizes) == 3 and op.arg("transposed"):
        return Diagnostic("a transposed convolution of one dimension")
    return Diagnostic("a convolution of three dimensions") if len(sizes) > 4 else None


def _needs_constant(*names: str) -> Callable[[SchemaOp], Diagnostic | None]:
    def refuse(op: SchemaOp) -> Diagnostic | None:
        for name in names:
            value = op.arg(name)
            if value is not None and not is_constant(value):
                return Diagnostic("an argument that is not constant", name)
        return None

    return refuse


def _refuse_copy(op: SchemaOp) -> Diagnostic | None:
    return Diagnostic("another memory format") if op.arg("memory_format") is not None else None


def _refuse_factors(op: SchemaOp) -> Diagnostic | None:
    if goes_by_ratios(op):
        return None
    return Diagnostic("factors that are not quotients of sizes", str(op.arg("scale_factors")))


_UNARY: Final = """
    abs cos exp gelu hardshrink hardswish hardtanh leaky_relu log10 neg relu round rsqrt sigmoid sin sqrt tanh
"""
_MOVES: Final = (
    "permute_copy squeeze_copy.dims unsqueeze_copy view_copy expand_copy select_copy.int slice_copy.Tensor"
)
_IMAGES: Final = Placement(_in(CHANNELS))

RULES: Final[Mapping[str, Rule]] = {
    **_rules(_UNARY, _FLOATS),
    **_rules("clamp", _NUMBERS),
    **_rules("add.Tensor sub.Tensor mul.Tensor div.Tensor minimum pow.Tensor_Tensor", _NUMBERS),
    **_rules("add.Scalar sub.Scalar mul.Scalar div.Scalar pow.Tensor_Scalar", _FLOATS),
    **_rules("eq.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor", _NUMBERS, mixes=True),
    **_rules("eq.Scalar ne.Scalar lt.Scalar le.Scalar gt.Scalar ge.Scalar", _NUMBERS, mixes=True),
    **_rules("logical_and logical_or logical_not bitwise_and.Tensor bitwise_or.Tensor bitwise_not", _BOOLS),
    **_rules("where.self", _FLOATS, indices=("condition",)),
    **_rules("_softmax _log_softmax", _FLOATS),
    **_rules("mm bmm", _FLOATS, CONTIGUOUS),
    **_rules(
        "linear",
        _FLOATS,
        Placement(_ROWS, ("weight", "bias")),
        refuse=_needs_constant("weight", "bias"),
    ),
    **_rules(
        "mean.dim sum.dim_IntList amax amin",
        _FLOATS,
        Placement(_reduction_storages),
        refuse=_refuse_reduction,
    ),
    **_rules("avg_pool2d", _FLOATS, _IMAGES),
    **_rules("max_pool2d_with_indices", _FLOATS, _IMAGES, results=1),
    **_rules(
        "convolution", _FLOATS, Placement(_in(CHANNELS), ("weight", "bias")), refuse=_refuse_convolution
    ),
    **_rules(
        "native_layer_norm",
        _FLOATS,
        Placement(_any, ("weight", "bias")),
        refuse=_needs_constant("weight", "bias"),
        results=1,
    ),
    **_rules(
        "embedding",
        _FLOATS,
        Placement(_in(BUFFER), ("weight",)),
        indices=("indices",),
        refuse=_needs_constant("weight"),
    ),
    **_rules("upsample_nearest2d.vec upsample_bilinear2d.vec", _FLOATS, _IMAGES, refuse=_refuse_factors),
    **_rules("pixel_shuffle", _FLOATS),
    **_rules("flip", _ALL, _IMAGES),
    **_rules(_MOVES, _ALL),
    **_rules("clone", _ALL, refuse=_refuse_copy),
    **_rules("cat", _NUMBERS),
    **_rules("split_with_sizes_copy", _ALL, results=-1),
    **_rules("constant_pad_nd repeat", _ALL),
}
"""By operator."""

_OF_STATIC_SIZES: Final = frozenset(
    [
        "expand_copy",
        "flip",
        "repeat",
        "squeeze_copy.dims",
        "upsample_bilinear2d.vec",
        "upsample_nearest2d.vec",
        "view_copy",
    ]
)
RESIZED: Final = frozenset(RULES) - _OF_STATIC_SIZES
"""Operators whose results have sizes that follow from those of the operands when a graph runs."""
