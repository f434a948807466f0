"""Move quantization across operators that only move elements, and cancel what meets.

```mlir
%1 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, zero_point = 3, …}      // before
%2 = edge.view_copy %1 {size = [8]} : (tensor<2x4xf32>) -> tensor<8xf32>
%3 = edge.quantized_decomposed.quantize_per_tensor %2 {scale = 0.5, zero_point = 3, …}

%3 = edge.view_copy %x {size = [8]} : (tensor<2x4xi8>) -> tensor<8xi8>                        // after
```

Integers of 8 bits are moved, a quarter of the bytes, and operators that compute stand between the `dequantize` and
the `quantize` that make integer operators of them.

- `dequantize` sinks below moves, splits, concatenations of one quantization, and maximum pools, whose order of elements
  it keeps; not where it would restore more elements than before, unless for what may compute in integers.
- `quantize` is hoisted above moves, not where it would quantize more elements than before.
- `quantize` of `dequantize` of one quantization is nothing, where the integers are within its limits; with a clamp of
  real numbers in between, a clamp of integers.

Sizes are read of integers. Only quantization with one scale that is known at compile time moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.analysis.activation_bounds import activation_bounds
from et_ir.analysis.quantization import (
    QUANTIZE,
    Granularity,
    Quantization,
    dequantized,
    quantization_of,
    quantized,
)
from et_ir.dialects.edge import OP_BY_NAME, EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.program import Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.dtypes import attr_of, dtype_of
from et_ir.dialects.schema.tensors import is_tensor, may_be_same_type
from et_ir.passes.common.dce import erase_dead_ops
from et_ir.rewriting import rewrite
from et_ops.dtypes import DType
from et_ops.library import rearranging_copies

__all__ = ["MOVES", "PropagateQuantizationPass", "has_one_scale", "move_of_integers", "stored"]

_SAME: Final = ("dim_order_ops._clone_dim_order", *sorted(rearranging_copies()))
"""Moves that give as many elements as they take."""
_FEWER: Final = ("select_copy.int", "slice_copy.Tensor")
_PARTS: Final = ("split_copy.Tensor", "split_with_sizes_copy", "unbind_copy.int")
_MORE: Final = ("constant_pad_nd", "expand_copy", "repeat", "upsample_nearest2d.vec")

_LEAST_SCALE: Final = float(np.finfo(np.float32).tiny)


def _classes(*names: str) -> tuple[type[EdgeOp], ...]:
    return tuple(OP_BY_NAME[name] for name in names)


_SINKS: Final = _classes(*_SAME, *_FEWER)
_SPLITS: Final = _classes(*_PARTS)
_HOISTS: Final = _classes(*_SAME, *_MORE)
MOVES: Final = (*_SINKS, *_HOISTS)
"""Op classes that only move elements of their first operand, and may repeat or leave out some, or add a number."""
_TAKERS: Final = (*QUANTIZE, *_SINKS, *_SPLITS, *_classes("addmm", "convolution", "linear", "mean.dim", "mm"))


def has_one_scale(how: Quantization) -> bool:
    """Whether a quantization is by tensor, with a positive scale of normal size, and known at compile time."""
    return (
        how.granularity is Granularity.TENSOR
        and not how.is_dynamic
        and _LEAST_SCALE <= how.scale <= 1 / _LEAST_SCALE
    )


def stored(number: float, how: Quantization) -> int:
    """The integer that a real number, or an infinity, is stored as."""
    if number in (inf, -inf):
        return how.quant_max if number > 0 else how.quant_min
    level = float(np.rint(number / how.scale)) + how.zero_point
    return int(min(max(level, how.quant_min), how.quant_max))


def _retyped(type: Attribute, dtype: DType) -> Attribute:
    """A tensor type with another element type, of the same sizes and layout."""
    assert is_tensor(type)
    return TensorType(attr_of(dtype), type.get_shape(), type.encoding)


def _moved(op: EdgeOp, operands: Sequence[SSAValue], dtype: DType) -> EdgeOp:
    """A move of operands of another element type. What a pool has beside its maxima, their places, keeps its type."""
    return type(op).create(
        operands=operands,
        result_types=[
            _retyped(result.type, dtype) if index == 0 or op.operator.moves else result.type
            for index, result in enumerate(op.results)
        ],
        properties=op.properties,
    )


def move_of_integers(move: EdgeOp, integers: SSAValue, how: Quantization) -> EdgeOp | None:
    """A move of `MOVES`, of integers in place of the real numbers that they stand for; None where it adds a number that
    is known at run time only.
    """
    if not isinstance(move, edge.ConstantPadNdOp):
        return _moved(move, [integers, *move.operands[1:]], how.dtype)
    if isinstance(move.arg("value"), SSAValue):
        return None
    value = stored(float(move.arg("value") or 0), how)
    types = [_retyped(move.results[0].type, how.dtype)]
    return edge.ConstantPadNdOp.make(integers, move.arg("pad"), value, result_types=types)


def _again(op: SchemaOp, value: SSAValue, result: Attribute) -> SchemaOp:
    """`quantize` or `dequantize` of another tensor, with a result of the element type of `result`."""
    assert is_tensor(result)
    made = _retyped(value.type, dtype_of(result.element_type))
    return type(op).create(operands=[value, *op.operands[1:]], result_types=[made], properties=op.properties)


@dataclass
class _Pattern(RewritePattern):
    """A pattern that asks for quantizations."""

    symbols: Globals

    def one_scale(self, op: SchemaOp | None) -> Quantization | None:
        if op is None:
            return None
        how = quantization_of(op, self.symbols)
        return how if has_one_scale(how) else None


def _only_use(value: SSAValue) -> bool:
    return value.has_one_use()


def _may_be_integers(value: SSAValue) -> bool:
    """Whether all that reads a value may come to compute in integers."""
    return all(isinstance(use.operation, _TAKERS) for use in value.uses)


class SinkBelowMove(_Pattern):
    """A move of restored numbers, or a split."""

    roots = (*_SINKS, *_SPLITS)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, EdgeOp)
        restored = dequantized(op.operands[0])
        how = self.one_scale(restored)
        if restored is None or how is None:
            return
        if not _only_use(op.operands[0]) and not all(map(_may_be_integers, op.results)):
            return
        move = _moved(op, [restored.operands[0], *op.operands[1:]], how.dtype)
        again = [
            _again(restored, result, old.type) for result, old in zip(move.results, op.results, strict=True)
        ]
        rewriter.replace(op, [move, *again], [one.results[0] for one in again])


class SinkBelowPool(_Pattern):
    """A maximum pool of restored numbers, without indices."""

    roots = (edge.MaxPool2dWithIndicesOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, EdgeOp)
        restored = dequantized(op.operands[0])
        how = self.one_scale(restored)
        if restored is None or how is None or op.results[1].first_use is not None:
            return
        pool = _moved(op, [restored.operands[0], *op.operands[1:]], how.dtype)
        again = _again(restored, pool.results[0], op.results[0].type)
        rewriter.replace(op, [pool, again], [again.results[0], pool.results[1]])


class SinkBelowConcatenation(_Pattern):
    """A concatenation of numbers that are restored with one scale."""

    roots = (edge.CatOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, EdgeOp)
        values = op.arg("tensors")
        restored = [dequantized(value) for value in values]
        found = [self.one_scale(one) for one in restored]
        first = found[0] if found else None
        if first is None or any(how is None or not how.equals(first) for how in found):
            return
        if not all(_only_use(value) for value in values):
            return
        operands = [one.operands[0] for one in restored if one is not None]
        joined = _moved(op, [*operands, *op.operands[len(values) :]], first.dtype)
        assert restored[0] is not None
        rewriter.replace(op, [joined, _again(restored[0], joined.results[0], op.results[0].type)])


class SizeOfIntegers(_Pattern):
    """A size of restored numbers, which would be restored for it alone."""

    roots = tuple(cls for cls in OP_BY_NAME.values() if cls.operator.facts.reads_sizes)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        restored = dequantized(op.operands[0])
        if restored is not None:
            op.operands[0] = restored.operands[0]
            rewriter.notify_op_modified(op)


class HoistAboveMove(_Pattern):
    """Quantization of moved numbers."""

    roots = QUANTIZE

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        move = op.operands[0].owner
        how = self.one_scale(op)
        if how is None or not isinstance(move, _HOISTS) or not _only_use(op.operands[0]):
            return
        before = _again(op, move.operands[0], op.results[0].type)
        after = move_of_integers(move, before.results[0], how)
        if after is None:
            return
        rewriter.replace(op, [before, after], [after.results[0]])


class HoistAboveConcatenation(_Pattern):
    """Quantization of a concatenation, as that of each part."""

    roots = QUANTIZE

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        joined = op.operands[0].owner
        how = self.one_scale(op)
        if how is None or not isinstance(joined, edge.CatOp) or not _only_use(op.operands[0]):
            return
        values = joined.arg("tensors")
        before = [_again(op, value, op.results[0].type) for value in values]
        rest = joined.operands[len(values) :]
        after = _moved(joined, [*(one.results[0] for one in before), *rest], how.dtype)
        rewriter.replace(op, [*before, after], [after.results[0]])


class Cancel(_Pattern):
    """Quantization of numbers that were restored from integers of the same quantization, maybe clamped."""

    roots = QUANTIZE

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        how = self.one_scale(op)
        source = op.operands[0]
        clamp = source.owner if isinstance(source.owner, Operation) else None
        bounds = None if clamp is None else activation_bounds(clamp)
        if clamp is not None and bounds is not None:
            source = clamp.operands[0]
        restored = dequantized(source)
        before = self.one_scale(restored)
        if how is None or restored is None or before is None or not before.equals(how):
            return
        integers = restored.operands[0]
        if not may_be_same_type(integers.type, op.results[0].type):
            return
        if bounds is not None:
            limits = stored(bounds[0], how), stored(bounds[1], how)
            made = edge.ClampOp.make(integers, *limits, result_types=[op.results[0].type])
            rewriter.replace(op, [made], [made.results[0]])
        elif self._within(integers, how):
            rewriter.replace(op, [], [integers])

    def _within(self, integers: SSAValue, how: Quantization) -> bool:
        """Whether integers are known to be within the limits of a quantization."""
        info = np.iinfo(f"{'u' if how.dtype.name.startswith('ui') else ''}int{how.dtype.bits}")
        if how.quant_min <= info.min and info.max <= how.quant_max:
            return True
        made = quantized(integers)
        known = None if made is None else self.one_scale(made)
        return known is not None and how.quant_min <= known.quant_min and known.quant_max <= how.quant_max


@dataclass(frozen=True)
class PropagateQuantizationPass(ModulePass):
    """Move quantization across data movement."""

    name = "propagate-quantization"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = Globals(op)
        patterns = (
            Cancel,
            HoistAboveMove,
            HoistAboveConcatenation,
            SinkBelowMove,
            SinkBelowPool,
            SinkBelowConcatenation,
            SizeOfIntegers,
        )
        rewrite(op, [pattern(symbols) for pattern in patterns], recursive=True)
        erase_dead_ops(op)
