"""Scans: cumulative sums and products, and the places of extremes, element after element along one dimension.

Vectors are of elements beside each other, whose scans have nothing to do with one another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType, f32, f64, i1, i64
from xdsl.ir import SSAValue

from et_backends.codegen.dialect import CompareOp, KernelOp, SelectOp, YieldOp
from et_backends.codegen.dialect.types import vector_type
from et_backends.codegen.elements import element_of, in_registers, is_float
from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.integer_rules import converted
from et_backends.codegen.kernels.pointwise_rules import anchor_of, operator_name
from et_backends.codegen.loop_builder import Index, LoopBuilder
from et_backends.codegen.sizes import Size, product, shape_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import ui8

__all__ = ["SCANS", "is_taken", "scan_kernel", "scanned_size"]

_Load: TypeAlias = Callable[[Index], SSAValue]
_Store: TypeAlias = Callable[[int, SSAValue, Index], None]
"""Writes a vector of a result, by its number, at a place of the dimension."""


@dataclass(frozen=True)
class _Scan:
    """A scan as it is built: along `count` elements of one dimension."""

    b: LoopBuilder
    op: SchemaOp
    count: Index
    load: _Load
    store: _Store


def _cumulative(
    combine: Callable[[LoopBuilder, SSAValue, SSAValue], SSAValue], neutral: float
) -> Callable[[_Scan], None]:
    def build(scan: _Scan) -> None:
        b, element = scan.b, element_of(scan.op.results[0])
        first = vector_type(scan.load(0))
        # In f64, as torch's.
        wide = f64 if element == f32 else in_registers(element)
        type = VectorType(wide, first.get_shape())
        with b.for_(0, scan.count, 1, [b.splat(neutral, type)]) as loop:
            value = converted(b, scan.load(loop.index), element_of(scan.op.operands[0]), element)
            if wide == f64:
                value = b.value(arith.ExtFOp(value, type))
            total = combine(b, loop.args[0], value)
            loop.next = [total]
            if wide == f64:
                narrow = VectorType(f32, first.get_shape())
                total = b.value(arith.TruncFOp.build(operands=[total], result_types=[narrow]))
            scan.store(0, total, loop.index)

    return build


def _add(b: LoopBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.value((arith.AddfOp if is_float(vector_type(x).element_type) else arith.AddiOp)(x, y))


def _mul(b: LoopBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.value((arith.MulfOp if is_float(vector_type(x).element_type) else arith.MuliOp)(x, y))


def _extreme(largest: bool, results: Sequence[int]) -> Callable[[_Scan], None]:
    """The extreme and its first place, which are results 0 and 1 of `results`; a NaN is beyond all numbers."""

    def build(scan: _Scan) -> None:
        b = scan.b
        first = scan.load(0)
        type = vector_type(first)
        floats = is_float(type.element_type)
        places = VectorType(i64, type.get_shape())
        with b.for_(1, scan.count, 1, [first, b.splat(0, places)]) as loop:
            best, place = loop.args
            value = scan.load(loop.index)
            predicate = ("o" if floats else "s") + ("gt" if largest else "lt")
            better = b.value(CompareOp(predicate, value, best))
            if floats:
                news = b.both(b.value(CompareOp("uno", value, value)), b.value(CompareOp("ord", best, best)))
                better = b.value(arith.OrIOp(better, news))
            here = b.broadcast(b.to_i64(loop.index), places)
            loop.next = [b.value(SelectOp(better, value, best)), b.value(SelectOp(better, here, place))]
        for number, result in enumerate(results):
            scan.store(number, loop.results[result], 0)

    return build


SCANS: Final[dict[str, Callable[[_Scan], None]]] = {
    "argmax": _extreme(True, [1]),
    "argmin": _extreme(False, [1]),
    "cumprod": _cumulative(_mul, 1),
    "cumsum": _cumulative(_add, 0),
    "max.dim": _extreme(True, [0, 1]),
    "min.dim": _extreme(False, [0, 1]),
}
"""Rules by operator."""


def is_taken(op: SchemaOp) -> bool:
    """Whether there is code for the element types of an operator of `SCANS`."""
    elements = [element_of(op.operands[0]), element_of(op.results[0])]
    if operator_name(op).startswith("cum"):
        return elements[1] not in (i1, ui8)
    return elements[0] not in (i1, ui8)


def _sizes(op: SchemaOp) -> tuple[Size, Size, Size]:
    """The sizes of the dimensions before, of and after that of a scan."""
    shape = shape_of(op.operands[0]) or (1,)
    dim = op.arg("dim")
    if dim is None:
        shape, dim = (product(shape),), 0
    dim = int(dim) % len(shape)
    return product(shape[:dim]), shape[dim], product(shape[dim + 1 :])


def scanned_size(op: SchemaOp) -> Size:
    """The number of elements that there must be one of at least: those that an extreme is of; 1 for other scans."""
    return 1 if operator_name(op).startswith("cum") else _sizes(op)[1]


def scan_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a scan."""
    op, outside = anchor_of(kernel), kernel.outside()
    last = kernel.body.block.last_op
    assert isinstance(last, YieldOp)
    made = dict(zip(last.operands, kernel.outputs, strict=True))
    source = op.operands[0]
    sizes = outer, count, inner = _sizes(op)
    whole = operator_name(op).startswith("cum")
    numbers = [number for number, result in enumerate(op.results) if result in made]
    operands = [Operand(host.buffer(outside[source]), sizes)]
    for number in numbers:
        target = host.buffer(made[op.results[number]])
        operands.append(Operand(target, [outer, count if whole else 1, inner]))
    element = in_registers(element_of(source))
    width = min(inner, host.lanes) if isinstance(inner, int) else host.lanes

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, *targets = buffers
        # Those that are known are numbers: a mask of all lanes is none.
        before, along, after = (
            size if isinstance(size, int) else b.dim(x, dim) for dim, size in enumerate(sizes)
        )
        blocks = b.ceildiv(after, width)
        with b.parallel(b.mul(before, blocks)) as number:
            row, column = b.quotient(number, blocks), b.mul(b.remainder(number, blocks), width)
            fills = isinstance(after, int) and after % width == 0
            mask = None if fills else b.mask(b.sub(after, column), width)

            def load(place: Index) -> SSAValue:
                return b.load_row(x, [row, place, column], mask, width, element)

            def store(number: int, value: SSAValue, place: Index) -> None:
                if number not in numbers:
                    return
                target = targets[numbers.index(number)]
                if mask is None:
                    b.store(value, target, [row, place, column])
                else:
                    b.masked_store(value, target, [row, place, column], mask)

            SCANS[operator_name(op)](_Scan(b, op, along, load, store))

    host.call(operator_name(op).partition(".")[0], operands, build)
