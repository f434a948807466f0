"""Gather and scatter kernels: places are computed, or read from tensors.

Places of the result are rows of elements that follow each other in the source too: one element at least. Of sizes that
are known at run time only, there is code for rows that a tensor of indices names. An index that
is out of range is reported as an invalid argument of the call, and that of element 0 is used in its stead, so that no
access is outside of a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Final, TypeAlias, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i1, i32, i64
from xdsl.ir import SSAValue

from et_ir.backends.native.elements import element_of, is_float
from et_ir.backends.native.kernels.host import Host, Number, Operand
from et_ir.backends.native.kernels.pointwise import copy_kernel
from et_ir.backends.native.kernels.pointwise_rules import anchor_of, operator_name
from et_ir.backends.native.loop_builder import Index, LoopBuilder, vector_of
from et_ir.backends.native.sizes import count_of, product, shape_of
from et_ir.dialects.native import KernelOp
from et_ir.dialects.native.types import memref_type
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor, tensor_type

__all__ = [
    "GATHERS",
    "SCATTERS",
    "gather_kernel",
    "is_taken",
    "looks_up_rows",
    "scatter_kernel",
    "sized_gather_kernel",
]

VECTORS: Final = 4

_Read: TypeAlias = Callable[[int, Index, Index, bool], Index]
"""The index at a place of a tensor of indices, given its number, the place, what it is below, and whether it wraps."""
_Place: TypeAlias = Callable[[LoopBuilder, Sequence[Index], _Read], Index]
"""The row of one tensor for the place of a row in the other."""


@dataclass(frozen=True)
class _Rows:
    """Rows of `inner` elements, which are at `sizes` in one tensor, and in another where `place` says."""

    sizes: Sequence[int]
    inner: int
    place: _Place
    indices: Sequence[SSAValue] = field(default_factory=tuple[SSAValue, ...])


@dataclass(frozen=True)
class _Lookup:
    """Rows of a tensor by one tensor of indices, in the place of a dimension."""

    dim: int
    index: SSAValue
    wraps: bool
    """Whether indices below 0 count from the end."""


def _lookup(op: SchemaOp) -> _Lookup | None:
    """What an op looks up; None where it does something else."""
    rank = tensor_type(op.operands[0]).get_num_dims()
    match operator_name(op):
        case "embedding":
            return _Lookup(0, op.arg("indices"), wraps=False)
        case "index_select" if rank:
            return _Lookup(int(op.arg("dim")) % rank, op.arg("index"), wraps=False)
        case "index.Tensor":
            given: Sequence[SSAValue | None] = op.arg("indices")
            ((dim, index), *others) = [(dim, one) for dim, one in enumerate(given) if one is not None]
            return None if others else _Lookup(dim, index, wraps=True)
        case _:
            return None


def looks_up_rows(op: SchemaOp) -> bool:
    """Whether there is code for an operator of `GATHERS` whatever its sizes are."""
    return _lookup(op) is not None


# -- places


def _flat(b: LoopBuilder, at: Sequence[Index], sizes: Sequence[int]) -> Index:
    """The number of a place in row-major order."""
    place: Index = 0
    for index, size in zip(at, sizes, strict=True):
        place = b.add(b.mul(place, size), index)
    return place


def _mapped(
    result: Sequence[int],
    source: Sequence[int],
    moved: Sequence[int],
    move: Callable[[LoopBuilder, int, Index], Index],
) -> _Rows:
    """A place of the source for each of the result, dimension by dimension; `moved` are those that `move` changes."""
    end = max(moved, default=-1) + 1

    def place(b: LoopBuilder, at: Sequence[Index], _: _Read) -> Index:
        there = [move(b, dim, index) if dim in moved else index for dim, index in enumerate(at)]
        return _flat(b, there, source[:end])

    return _Rows(result[:end] or [1], prod(result[end:]), place if end else lambda _, __, ___: 0)


def _embedding(op: SchemaOp) -> _Rows:
    count, inner = tensor_type(op.arg("weight")).get_shape()
    indices: SSAValue = op.arg("indices")
    return _Rows(
        [prod(tensor_type(indices).get_shape())],
        inner,
        lambda _, at, read: read(0, at[0], count, False),
        [indices],
    )


def _index_select(op: SchemaOp) -> _Rows:
    shape = tensor_type(op.operands[0]).get_shape() or (1,)
    dim = int(op.arg("dim")) % len(shape)
    index: SSAValue = op.arg("index")

    def place(b: LoopBuilder, at: Sequence[Index], read: _Read) -> Index:
        return b.add(b.mul(at[0], shape[dim]), read(0, at[1], shape[dim], False))

    count = prod(tensor_type(index).get_shape())
    return _Rows([prod(shape[:dim]), count], prod(shape[dim + 1 :]), place, [index])


def _by_elements(op: SchemaOp) -> _Rows:
    """Of `gather` and `scatter`: an index for each element."""
    shape = tensor_type(op.operands[0]).get_shape() or (1,)
    index: SSAValue = op.arg("index")
    sizes = tensor_type(index).get_shape() or (1,)
    dim = int(op.arg("dim")) % len(shape)

    def place(b: LoopBuilder, at: Sequence[Index], read: _Read) -> Index:
        found = list(at)
        found[dim] = read(0, _flat(b, at, sizes), shape[dim], False)
        return _flat(b, found, shape)

    return _Rows(sizes, 1, place, [index])


def _advanced(op: SchemaOp) -> _Rows:
    """Of `index` and `index_put`: tensors of indices, broadcast, for some dimensions."""
    shape = tensor_type(op.operands[0]).get_shape()
    given: Sequence[SSAValue | None] = op.arg("indices")
    by_dim = {dim: value for dim, value in enumerate(given) if value is not None}
    shapes = [tensor_type(value).get_shape() for value in by_dim.values()]
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(one)) + tuple(one) for one in shapes]
    common = [max(sizes) for sizes in zip(*padded, strict=True)]
    dims = list(by_dim)
    # Dimensions of indices stand where those that they are for are, or first if these are apart.
    first = dims[0] if dims == list(range(dims[0], dims[-1] + 1)) else 0
    end = dims[-1] + 1
    others = [dim for dim in range(end) if dim not in by_dim]
    sizes = [shape[dim] for dim in others]
    sizes[first:first] = common

    def place(b: LoopBuilder, at: Sequence[Index], read: _Read) -> Index:
        inside = at[first : first + rank]
        rest = iter([*at[:first], *at[first + rank :]])
        found: list[Index] = []
        for dim in range(end):
            if dim not in by_dim:
                found.append(next(rest))
                continue
            number = dims.index(dim)
            here = [0 if size == 1 else index for index, size in zip(inside, padded[number], strict=True)]
            found.append(read(number, _flat(b, here, padded[number]), shape[dim], True))
        return _flat(b, found, shape[:end])

    return _Rows(sizes or [1], prod(shape[end:]), place, list(by_dim.values()))


def _flip(op: SchemaOp) -> _Rows:
    shape = tensor_type(op.operands[0]).get_shape()
    dims = [int(dim) % len(shape) for dim in op.arg("dims")]
    return _mapped(shape, shape, dims, lambda b, dim, index: b.sub(shape[dim] - 1, index))


def _roll(op: SchemaOp) -> _Rows:
    shape: Sequence[int] = tensor_type(op.operands[0]).get_shape()
    dims = [int(dim) % len(shape) for dim in op.arg("dims")]
    if not dims:
        # Of all elements in order.
        shape, dims = [prod(shape)], [0]
    shifts: dict[int, int] = {}
    for dim, shift in zip(dims, op.arg("shifts"), strict=True):
        shifts[dim] = shifts.get(dim, 0) + int(shift)

    def move(b: LoopBuilder, dim: int, index: Index) -> Index:
        return b.remainder(b.add(index, -shifts[dim] % shape[dim]), shape[dim])

    return _mapped(shape, shape, dims, move)


def _repeat(op: SchemaOp) -> _Rows:
    result = tensor_type(op.results[0]).get_shape()
    source = tensor_type(op.operands[0]).get_shape()
    padded = [1] * (len(result) - len(source)) + list(source)
    moved = [dim for dim, size in enumerate(result) if size != padded[dim]]
    return _mapped(result, padded, moved, lambda b, dim, index: b.remainder(index, padded[dim]))


def _strided(op: SchemaOp) -> _Rows:
    """Elements at places that are sums of strides."""
    sizes, strides = [[int(one) for one in op.arg(name)] for name in ("size", "stride")]
    offset = int(op.arg("storage_offset") or 0)
    return _Rows(sizes or [1], 1, lambda b, at, _: _sum_of(b, at, strides, offset))


def _diagonal(op: SchemaOp) -> _Rows:
    shape = tensor_type(op.operands[0]).get_shape()
    one, other = (int(op.arg(name)) % len(shape) for name in ("dim1", "dim2"))
    offset = int(op.arg("offset"))
    strides = [prod(shape[dim + 1 :]) for dim in range(len(shape))]
    kept = [strides[dim] for dim in range(len(shape)) if dim not in (one, other)]
    start = offset * strides[other] if offset >= 0 else -offset * strides[one]
    steps = [*kept, strides[one] + strides[other]]
    sizes = tensor_type(op.results[0]).get_shape()
    return _Rows(sizes, 1, lambda b, at, _: _sum_of(b, at, steps, start))


def _sum_of(b: LoopBuilder, at: Sequence[Index], strides: Sequence[int], start: int) -> Index:
    place: Index = start
    for index, stride in zip(at, strides, strict=False):
        place = b.add(place, b.mul(index, stride))
    return place


def _is_inside(op: SchemaOp) -> bool:
    """Whether all places of an `as_strided_copy` are in its source."""
    sizes, strides = [[int(one) for one in op.arg(name)] for name in ("size", "stride")]
    first = int(op.arg("storage_offset") or 0)
    last = first + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    return min(strides, default=0) >= 0 <= first and last < prod(tensor_type(op.operands[0]).get_shape())


def _start(op: SchemaOp, size: int) -> int:
    start = 0 if op.arg("start") is None else int(op.arg("start"))
    return min(max(start + size if start < 0 else start, 0), size)


def _slice(op: SchemaOp) -> _Rows:
    """Elements of a dimension, with steps between them: of the source, or for `slice_scatter` of the result."""
    scatters = operator_name(op) == "slice_scatter"
    source = tensor_type(op.operands[0]).get_shape()
    part = tensor_type(op.arg("src") if scatters else op.results[0]).get_shape()
    only = int(op.arg("dim")) % len(source)
    start, step = _start(op, source[only]), int(op.arg("step"))
    return _mapped(part, source, [only], lambda b, _, index: b.add(b.mul(index, step), start))


def _select(op: SchemaOp) -> _Rows:
    shape = tensor_type(op.operands[0]).get_shape()
    only = int(op.arg("dim")) % len(shape)
    part = list(shape)
    part[only] = 1
    chosen = int(op.arg("index")) % shape[only]
    return _mapped(part, shape, [only], lambda b, _, index: b.add(index, chosen))


GATHERS: Final[dict[str, Callable[[SchemaOp], _Rows]]] = {
    "as_strided_copy": _strided,
    "diagonal_copy": _diagonal,
    "embedding": _embedding,
    "flip": _flip,
    "gather": _by_elements,
    "index.Tensor": _advanced,
    "index_select": _index_select,
    "repeat": _repeat,
    "roll": _roll,
    "slice_copy.Tensor": _slice,
}
"""Operators whose result has elements of their first operand: by the place of each."""

SCATTERS: Final[dict[str, Callable[[SchemaOp], _Rows]]] = {
    "index_put": _advanced,
    "scatter.src": _by_elements,
    "scatter.value": _by_elements,
    "scatter_add": _by_elements,
    "select_scatter": _select,
    "slice_scatter": _slice,
}
"""Operators whose result is their first operand, with other elements at the places that are given."""


def is_taken(op: SchemaOp) -> bool:
    """Whether there is code for the arguments of an operator of `GATHERS` or `SCATTERS`."""
    name = operator_name(op)
    known = [
        "start",
        "end",
        "step",
        "shifts",
        "size",
        "stride",
        "storage_offset",
        *(["index"] if name == "select_scatter" else []),
    ]
    for arg in known:
        given: object = op.arg(arg) if arg in op.schema().by_name else None
        numbers = cast("Sequence[object]", given) if isinstance(given, Sequence) else [given]
        if any(isinstance(one, SSAValue) for one in numbers):
            return False
    if not all(is_tensor(value.type) for value in op.operands):
        return False
    if not all(tensor_type(value).has_static_shape() for value in op.operands):
        lookup = _lookup(op)
        return lookup is not None and element_of(lookup.index) in (i32, i64)
    if not tensor_type(op.operands[0]).get_shape() and name not in ("gather", "scatter.src", "scatter.value"):
        return False
    if name == "as_strided_copy" and not _is_inside(op):
        return False
    if not all(element_of(value) in (i32, i64) for value in _rows(op).indices):
        return False
    if name in ("index_put", "scatter_add"):
        adds = name == "scatter_add" or op.arg("accumulate")
        return not adds or element_of(op.operands[0]) != i1
    return True


def _rows(op: SchemaOp) -> _Rows:
    name = operator_name(op)
    return (GATHERS.get(name) or SCATTERS[name])(op)


# -- loops


def gather_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel that reads its elements from places."""
    op, outside = anchor_of(kernel), kernel.outside()
    rows = _rows(op)
    count = prod(rows.sizes)
    source = outside[op.operands[0]]
    elements = prod(tensor_type(source).get_shape())
    operands = [
        Operand(host.buffer(source), [elements // rows.inner, rows.inner]),
        *_index_operands(host, rows, outside),
        Operand(host.buffer(kernel.outputs[0]), [count, rows.inner]),
    ]

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, *indices, y = buffers
        with b.parallel(count) as row:
            at = _places(b, row, rows.sizes)
            place = rows.place(b, at, _reader(b, op, indices))
            _copy(b, host.lanes, x, place, y, row, rows.inner)

    host.call(operator_name(op).partition(".")[0].removesuffix("_copy"), operands, build)


def sized_gather_kernel(host: Host, kernel: KernelOp) -> None:
    """The same for rows that a tensor of indices names, where sizes are known at run time only."""
    op, outside = anchor_of(kernel), kernel.outside()
    lookup = _lookup(op)
    assert lookup is not None
    shape = shape_of(op.operands[0])
    size, before, inner = shape[lookup.dim], product(shape[: lookup.dim]), product(shape[lookup.dim + 1 :])
    count = count_of(lookup.index)
    operands = [
        Number(size),
        Operand(host.buffer(outside[op.operands[0]]), [product((before, size)), inner]),
        Operand(host.buffer(outside[lookup.index]), [count]),
        Operand(host.buffer(kernel.outputs[0]), [product((before, count)), inner]),
    ]

    def build(b: LoopBuilder, arguments: Sequence[SSAValue]) -> None:
        size, x, indices, y = arguments
        read = _reader(b, op, [indices])
        many = b.dim(indices, 0)
        with b.parallel(b.dim(y, 0)) as row:
            index = read(0, b.remainder(row, many), size, lookup.wraps)
            # A tensor without rows has none in the stead of what is out of range.
            with b.if_(b.below(0, size)):
                place = b.add(b.mul(b.quotient(row, many), size), index)
                _copy(b, host.lanes, x, place, y, row, b.dim(y, 1))

    host.call(f"{operator_name(op).partition('.')[0]}_rows", operands, build)


def scatter_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel that writes elements to places of a copy: one after the other, as places may be the same."""
    op, outside = anchor_of(kernel), kernel.outside()
    name = operator_name(op)
    rows = _rows(op)
    source, result = outside[op.operands[0]], kernel.outputs[0]
    elements = prod(tensor_type(result).get_shape())
    copy_kernel(host, host.buffer(source), host.buffer(result), elements)
    count = prod(rows.sizes)
    values: SSAValue | None = None
    for argument in ("values", "src"):
        if argument in op.schema().by_name:
            values = op.arg(argument)
    operands = [*_index_operands(host, rows, outside)]
    sizes: Sequence[int] = []
    if values is not None:
        sizes = tensor_type(values).get_shape()
        operands.append(Operand(host.buffer(outside[values]), [prod(sizes)]))
    operands.append(Operand(host.buffer(result), [elements // rows.inner, rows.inner]))
    adds = name == "scatter_add" or (name == "index_put" and bool(op.arg("accumulate")))

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        *indices, y = buffers
        x = indices.pop() if values is not None else None
        element = b.element_type(y)
        with b.parallel(1), b.for_(0, count) as loop:
            at = _places(b, loop.index, rows.sizes)
            place = rows.place(b, at, _reader(b, op, indices))
            with b.for_(0, rows.inner) as inner:
                if x is None:
                    value = b.number(op.arg("value"), element)
                else:
                    value = b.element(x, [_value_at(b, op, rows, sizes, at, inner.index)])
                if adds:
                    before = b.element(y, [place, inner.index])
                    add = arith.AddfOp if is_float(element) else arith.AddiOp
                    value = b.value(add(before, value))
                b.set_element(value, y, [place, inner.index])

    host.call(name.partition(".")[0], operands, build)


def _value_at(
    b: LoopBuilder, op: SchemaOp, rows: _Rows, sizes: Sequence[int], at: Sequence[Index], inner: Index
) -> Index:
    """Where the value for an element is: in a tensor that is broadcast, or as large as that of indices at least."""
    name = operator_name(op)
    if name in ("slice_scatter", "select_scatter"):
        return b.add(b.mul(_flat(b, at, rows.sizes), rows.inner), inner)
    if name != "index_put":
        return _flat(b, at, sizes or [1])
    # Of as many dimensions as are indexed and inside, broadcast.
    given: Sequence[SSAValue | None] = op.arg("indices")
    end = 1 + max(dim for dim, value in enumerate(given) if value is not None)
    tail = tensor_type(op.operands[0]).get_shape()[end:]
    trailing: list[Index] = []
    rest = inner
    for size in reversed(tail[1:]):
        trailing.append(b.remainder(rest, size))
        rest = b.quotient(rest, size)
    whole = [*at, *([rest, *reversed(trailing)] if tail else [])]
    used = whole[len(whole) - len(sizes) :]
    return _flat(b, [0 if size == 1 else index for index, size in zip(used, sizes, strict=True)], sizes)


def _index_operands(host: Host, rows: _Rows, outside: dict[SSAValue, SSAValue]) -> list[Operand]:
    return [
        Operand(host.buffer(outside[value]), [prod(tensor_type(value).get_shape())]) for value in rows.indices
    ]


def _places(b: LoopBuilder, row: Index, sizes: Sequence[int]) -> list[Index]:
    """The place of a row, by dimension."""
    at: list[Index] = []
    rest = row
    for size in reversed(sizes[1:]):
        at.append(b.remainder(rest, size))
        rest = b.quotient(rest, size)
    return [rest, *reversed(at)]


def _reader(b: LoopBuilder, op: SchemaOp, indices: Sequence[SSAValue]) -> _Read:
    """Reads indices, and checks them."""
    message = f"aten::{operator_name(op)}: an index is out of range"

    def read(number: int, at: Index, size: Index, wraps: bool) -> Index:
        value = b.element(indices[number], [at])
        if memref_type(indices[number]).element_type != i64:
            value = b.value(arith.ExtSIOp(value, i64))
        index = b.value(arith.IndexCastOp(value, IndexType()))
        if wraps:
            below = b.below(index, 0)
            index = b.value(arith.SelectOp(below, b.index(b.add(index, size)), index))
        # Without a sign, what is below 0 is large.
        beyond = b.value(arith.CmpiOp(index, b.index(size), "uge"))
        b.check(beyond, message)
        return b.value(arith.SelectOp(beyond, b.index(0), index))

    return read


def _copy(
    b: LoopBuilder, lanes: int, x: SSAValue, source: Index, y: SSAValue, target: Index, inner: Index
) -> None:
    """Copy a row."""
    if isinstance(inner, int) and inner == 1:
        b.set_element(b.element(x, [source, 0]), y, [target, 0])
        return
    element = b.element_type(x)
    width = lanes * VECTORS
    whole = b.multiple_below(inner, width)
    with b.for_(0, whole, width) as loop:
        value = b.load(x, [source, loop.index], vector_of(width, element=element))
        b.store(value, y, [target, loop.index])
    with b.for_(whole, inner, lanes) as loop:
        mask = b.mask(b.sub(inner, loop.index), lanes)
        b.masked_store(b.load_row(x, [source, loop.index], mask, lanes), y, [target, loop.index], mask)
