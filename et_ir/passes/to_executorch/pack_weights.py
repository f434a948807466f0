"""Pack weights of 4 and 2 bits, and look up quantized tables.

| now | becomes |
|---|---|
| `embedding` of a restored table | `embedding_byte`, `embedding_4bit` or `embedding_2bit` of its integers |
| a matrix of 4 or 2 bits, restored by channel or by group | the same operators, of all rows |

```mlir
%w = program.get @weight : tensor<64x32xi8>                                                             // before
%0 = edge.quantized_decomposed.dequantize_per_channel_group %w, %s, none {quant_min = -8, quant_max = 7, …} : …

%w = program.get @weight_4bit : tensor<64x16xui8>                                                       // after
%i = program.get @rows_64 : tensor<64xi64>
%0 = edge.quantized_decomposed.embedding_4bit %w, %s, none, %i {weight_quant_min = -8, weight_quant_max = 7} : …
```

A constant of 8-bit integers within [-8, 7] takes half of a byte an element in the file and in memory, one within
[-2, 1] a quarter. The kernels restore rows as `dequantize_per_channel_group` does, to the bit: `(q - zero_point) *
scale` in float32. Only for targets that have these kernels, such as `et-vm` and `stock-1.5-quantized`.

Where a row is no whole number of bytes, as of an odd number of 4-bit integers, two or four rows of a matrix are one row
with a scale for each, and the result is viewed as rows again. Rows that are looked up cannot share a byte: a group of
zeros behind each is cut off what is found.

Runs behind the passes that match on operators which dequantize, such as partitioners.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.analysis.quantization import DEQUANTIZE, Granularity, Quantization, dequantized, quantization_of
from et_ir.data import Blob
from et_ir.dialects.edge import OP_BY_NAME, EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.program import GetOp, GlobalOp, Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.evaluation.arrays import Array, array_of, element_type_of
from et_ir.passes.common.dce import erase_dead_ops
from et_ir.rewriting import op_type_rewrite_pattern, rewrite
from et_ir.targets.lookup import DEFAULT
from et_ir.targets.rewriting import target_of
from et_ops.dtypes import F32, I8, I64

__all__ = ["PackWeightsPass"]

_NAMES: Final = {2: "embedding_2bit", 4: "embedding_4bit", 8: "embedding_byte"}
_NAMESPACE: Final = "quantized_decomposed"


class _Form(NamedTuple):
    """How the rows of a matrix are bytes."""

    bits: int
    """Of an element."""
    merged: int = 1
    """Rows of the matrix that make a row of whole bytes; zeros follow the last if there are too few."""
    added: int = 0
    """Groups of zeros behind each row, or elements if a row has one scale."""


@dataclass
class _Packer:
    """Packed forms of the constants of a module, each made once."""

    symbols: Globals
    kernels: frozenset[str]
    made: dict[tuple[object, ...], GlobalOp]

    def form_of(self, weight: GlobalOp, quantization: Quantization, *, by_index: bool) -> _Form | None:
        """The form with the fewest bits that holds the elements and that there is a kernel for; None if there is none.
        Rows that are looked up `by_index` stay rows.
        """
        array = array_of(weight.type, weight.value.blob) if weight.value is not None else np.zeros(1)
        rows, columns = weight.type.get_shape()
        for bits, name in _NAMES.items():
            half = 1 << (bits - 1)
            limited = quantization.quant_min >= -half and quantization.quant_max < half
            inside = bits == 8 or (array.size > 0 and bool(array.min() >= -half) and bool(array.max() < half))
            if not limited or not inside or f"{_NAMESPACE}::{name}.out" not in self.kernels:
                continue
            merged, added = 1, 0
            if by_index:
                group = quantization.group or 1
                added = next(more for more in range(8) if (columns + more * group) * bits % 8 == 0)
                columns_packed, rows_packed = columns + added * group, rows
            else:
                merged = next(count for count in (1, 2, 4) if columns * count * bits % 8 == 0)
                columns_packed, rows_packed = columns, -(-rows // merged) * merged
            if bits == 8 or rows_packed * columns_packed * bits // 8 < rows * columns:
                return _Form(bits, merged, added)
        return None

    def packed(self, weight: GlobalOp, form: _Form, group: int) -> GlobalOp:
        """The integers of a matrix, several to a byte: 4-bit ones with the lower column in the high half, 2-bit ones
        from the low end; each plus half of its range.
        """
        bits = form.bits

        def pack() -> Array:
            assert weight.value is not None
            array = _arranged(array_of(weight.type, weight.value.blob), form, group, 0)
            shifts = (4, 0) if bits == 4 else (0, 2, 4, 6)
            raised = (
                (array + np.int8(1 << (bits - 1))).astype(np.uint8).reshape(array.shape[0], -1, 8 // bits)
            )
            parts = [raised[:, :, at] << np.uint8(shift) for at, shift in enumerate(shifts)]
            return np.bitwise_or.reduce(parts)

        return self._once((weight.key, form, form.added * group), f"{weight.key}_{bits}bit", pack)

    def rows(self, count: int) -> GlobalOp:
        """The indices of all rows."""
        return self._once(("", count), f"rows_{count}", lambda: np.arange(count, dtype=np.int64))

    def floats(self, key: str, numbers: Array, form: _Form, filler: float) -> GlobalOp:
        """Scales, or zero points in the type of these, of the rows of a form."""

        def arrange() -> Array:
            # Of a row with one scale, what is added has that too.
            if form.merged == 1 and (not form.added or numbers.ndim == 1):
                return numbers.astype(np.float32)
            return _arranged(numbers.reshape(len(numbers), -1), form, 1, filler).astype(np.float32)

        # By the numbers: a matrix may be restored with several scales.
        return self._once((numbers.tobytes(), numbers.shape, form, filler), key, arrange)

    def _once(self, key: tuple[object, ...], name: str, make: Callable[[], Array]) -> GlobalOp:
        if key not in self.made:
            array = np.ascontiguousarray(make())
            type = TensorType(element_type_of(array.dtype), list(array.shape))
            self.made[key] = self.symbols.add_constant(name, type, Blob.of("", array.tobytes()))
        return self.made[key]


def _arranged(matrix: Array, form: _Form, group: int, filler: float) -> Array:
    """The rows of a form; `filler` is what is added, of a group so many elements."""
    more = (0, -len(matrix) % form.merged), (0, form.added * group)
    padded = np.pad(matrix, more, constant_values=filler)
    return padded.reshape(len(padded) // form.merged, -1)


class _Lookup(RewritePattern):
    """Replace an op by the lookup of rows of the constant matrix that another op dequantizes."""

    def __init__(self, packer: _Packer):
        self.packer = packer

    def rows_of(self, dequantize: SchemaOp, indices: SSAValue | None, most: int) -> list[Operation] | None:
        """Ops of which the last gives rows of a dequantized constant, all of them without `indices`; `None` where no
        kernel does that. `most` is the largest number of bits.
        """
        by_index = indices is not None
        packer = self.packer
        weight = packer.symbols.constant_of(dequantize.operands[0])
        if weight is None or weight.value is None or not weight.value.blob.is_resolved:
            return None
        shape = weight.type.get_shape()
        if len(shape) != 2 or dtype_of(weight.type.element_type) is not I8:
            return None
        quantization = quantization_of(dequantize, packer.symbols)
        scales, zero_points = quantization.scales, quantization.zero_points
        by_row = quantization.granularity is Granularity.CHANNEL and quantization.axis == 0
        if (
            scales is None
            or zero_points is None
            or not (by_row or quantization.granularity is Granularity.GROUP)
        ):
            return None
        types = [tensor_type(dequantize.operands[1]), tensor_type(dequantize.results[0])]
        if any(dtype_of(type.element_type) is not F32 for type in types) or (
            types[0].get_shape() != scales.shape
        ):
            return None
        form = packer.form_of(weight, quantization, by_index=by_index)
        if form is None or form.bits > most:
            return None
        bits, group = form.bits, quantization.group or 1

        ops: list[Operation] = []

        def read(symbol: GlobalOp) -> SSAValue:
            get = GetOp(symbol.key, symbol.type)
            ops.append(get)
            return get.result

        zeros = None
        if np.any(zero_points):
            owner = dequantize.operands[2].owner
            key = owner.symbol.string_value() if isinstance(owner, GetOp) else f"{weight.key}_zero_points"
            zeros = read(packer.floats(f"{key}_f32", zero_points, form, 0))
        half = 1 << (bits - 1)
        rows = -(-shape[0] // form.merged)
        named = read(packer.rows(rows)) if indices is None else indices
        packed = dequantize.operands[0] if bits == 8 else read(packer.packed(weight, form, group))
        factors = dequantize.operands[1]
        if form.merged > 1 or (form.added and not by_row):
            factors = read(packer.floats(f"{weight.key}_scales", scales, form, 1))
        kind = OP_BY_NAME[f"{_NAMESPACE}.{_NAMES[bits]}"]
        ops.append(kind.make(packed, factors, zeros, -half, half - 1, named))
        if form.merged > 1:
            ops.append(OP_BY_NAME["view_copy"].make(ops[-1], [rows * form.merged, shape[1]]))
            if rows * form.merged > shape[0]:
                ops.append(OP_BY_NAME["slice_copy.Tensor"].make(ops[-1], 0, 0, shape[0]))
        elif form.added:
            ops.append(OP_BY_NAME["slice_copy.Tensor"].make(ops[-1], -1, 0, shape[1]))
        return ops


class _Table(_Lookup):
    """Look up integers, and restore the rows that are found."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.EmbeddingOp, rewriter: PatternRewriter, /) -> None:
        table, indices = op.operands[0], op.operands[1]
        dequantize = dequantized(table)
        if dequantize is None or dtype_of(tensor_type(indices).element_type) is not I64:
            return
        found = self.rows_of(dequantize, indices, 8)
        if found is not None:
            rewriter.replace(op, found)


class _Matrix(_Lookup):
    """Restore packed integers of 4 and 2 bits."""

    roots = tuple(kind for kind in DEQUANTIZE if issubclass(kind, EdgeOp))

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        found = self.rows_of(op, None, 4)
        if found is not None:
            rewriter.replace(op, found)


@dataclass(frozen=True)
class PackWeightsPass(ModulePass):
    """Pack weights of few bits into bytes."""

    name = "pack-weights"

    target: str = DEFAULT
    """The runtime whose kernels there are."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        packer = _Packer(Globals(op), target_of(self).kernels, {})
        changed = rewrite(op, [_Table(packer)])
        erase_dead_ops(op)  # tables that are only looked up are restored no more
        changed = rewrite(op, [_Matrix(packer)]) or changed
        if changed:
            erase_dead_ops(op)
            packer.symbols.drop_unused()
