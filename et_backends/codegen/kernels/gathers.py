"""Gather and scatter kernels: places are computed, or read from tensors.

Places of the result are rows of elements that follow each other in the source too: one element at least. Of some
operators, sizes may be known at run time only. An index that is out of range is reported as an invalid argument of the
call, and that of element 0 is used in its stead, so that no access is outside of a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from math import inf, prod
from typing import Final, TypeAlias, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.dialect.types import memref_type
from et_backends.codegen.elements import element_of, is_float, width_of
from et_backends.codegen.kernels.host import Host, Number, Operand
from et_backends.codegen.kernels.pointwise import copy_kernel
from et_backends.codegen.kernels.pointwise_rules import anchor_of, operator_name
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of
from et_backends.codegen.sizes import Size, count_of, normal, product, shape_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import ui8
from et_ir.dialects.schema.tensors import is_tensor, tensor_type

__all__ = [
    "GATHERS",
    "SCATTERS",
    "gather_kernel",
    "is_taken",
    "scatter_kernel",
    "sized_gather_kernel",
    "takes_any_size",
]

VECTORS: Final = 4

_Read: TypeAlias = Callable[[int, Index, Index, bool], Index]
"""The index at a place of a tensor of indices, given its number, the place, what it is below, and whether it wraps."""


@dataclass(frozen=True)
class _Code:
    """Values for the code of a kernel: indices, and sizes that are known at run time only."""

    b: LoopBuilder
    read: _Read
    sizes: Mapping[Size, Index]

    def size(self, size: Size) -> Index:
        """A size as the kernel has it."""
        return size if isinstance(size, int) else self.sizes[size]

    def flat(self, at: Sequence[Index], sizes: Sequence[Size]) -> Index:
        """The number of a place in row-major order."""
        place: Index = 0
        for index, size in zip(at, sizes, strict=True):
            place = self.b.add(self.b.mul(place, self.size(size)), index)
        return place

    def count(self, sizes: Sequence[Size]) -> Index:
        """The number of places in dimensions of these sizes."""
        many: Index = 1
        for size in sizes:
            many = self.b.mul(many, self.size(size))
        return many

    def split(self, place: Index, width: int) -> list[Index]:
        """A place as that of a row of so many elements, and of the element in it."""
        return [self.b.quotient(place, width), self.b.remainder(place, width)]

    def places(self, row: Index, sizes: Sequence[Size]) -> list[Index]:
        """The place of a row, by dimension."""
        if not sizes:
            return []
        at: list[Index] = []
        rest = row
        for size in reversed(sizes[1:]):
            at.append(self.b.remainder(rest, self.size(size)))
            rest = self.b.quotient(rest, self.size(size))
        return [rest, *reversed(at)]


_Place: TypeAlias = Callable[[_Code, Sequence[Index]], Index]
"""The row of one tensor for the place of a row in the other."""


@dataclass(frozen=True)
class _Rows:
    """Rows of `inner` elements, which are at `sizes` in one tensor, and in another of `count` where `place` says."""

    sizes: Sequence[Size]
    inner: Size
    count: Size
    place: _Place
    indices: Sequence[SSAValue] = field(default_factory=tuple[SSAValue, ...])
    apart: int = 0
    """Dimensions of `sizes`, from the first on, in which places of different rows are never the same."""


@dataclass(frozen=True)
class _Lookup:
    """Rows of a tensor by one tensor of indices, in the place of a dimension."""

    dim: int
    index: SSAValue
    wraps: bool
    """Whether indices below 0 count from the end."""


def _lookup(op: SchemaOp) -> _Lookup | None:
    """The lookup that an op is; None where it is none."""
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


def takes_any_size(op: SchemaOp) -> bool:
    """Whether there is code for an operator of `GATHERS` or `SCATTERS` whatever its sizes are."""
    return operator_name(op) in _ANY_SIZE


# -- places


def _mapped(
    result: Sequence[Size],
    source: Sequence[Size],
    moved: Sequence[int],
    move: Callable[[_Code, int, Index], Index],
) -> _Rows:
    """A place of the source for each of the result, dimension by dimension; `moved` are those that `move` changes."""
    end = max(moved, default=-1) + 1

    def place(code: _Code, at: Sequence[Index]) -> Index:
        if not end:
            return 0
        there = [move(code, dim, index) if dim in moved else index for dim, index in enumerate(at)]
        return code.flat(there, source[:end])

    return _Rows(result[:end] or [1], product(result[end:]), product(source[:end]), place)


def _embedding(op: SchemaOp) -> _Rows:
    count, inner = tensor_type(op.arg("weight")).get_shape()
    indices: SSAValue = op.arg("indices")
    return _Rows(
        [prod(tensor_type(indices).get_shape())],
        inner,
        count,
        lambda code, at: code.read(0, at[0], count, False),
        [indices],
    )


def _index_select(op: SchemaOp) -> _Rows:
    shape = tensor_type(op.operands[0]).get_shape() or (1,)
    dim = int(op.arg("dim")) % len(shape)
    index: SSAValue = op.arg("index")

    def place(code: _Code, at: Sequence[Index]) -> Index:
        return code.b.add(code.b.mul(at[0], shape[dim]), code.read(0, at[1], shape[dim], False))

    count, before = prod(tensor_type(index).get_shape()), prod(shape[:dim])
    return _Rows([before, count], prod(shape[dim + 1 :]), before * shape[dim], place, [index])


def _by_elements(op: SchemaOp) -> _Rows:
    """Of `gather` and `scatter`: an index for each element."""
    shape = shape_of(op.operands[0]) or (1,)
    index: SSAValue = op.arg("index")
    sizes = shape_of(index) or (1,)
    dim = int(op.arg("dim")) % len(shape)

    def place(code: _Code, at: Sequence[Index]) -> Index:
        found = list(at)
        found[dim] = code.read(0, code.flat(at, sizes), code.size(shape[dim]), False)
        return code.flat(found, shape)

    return _Rows(sizes, 1, product(shape), place, [index])


def _advanced(op: SchemaOp) -> _Rows:
    """Of `index` and `index_put`: tensors of indices, broadcast, for some dimensions."""
    shape = shape_of(op.operands[0])
    given: Sequence[SSAValue | None] = op.arg("indices")
    by_dim = {dim: value for dim, value in enumerate(given) if value is not None}
    shapes = [shape_of(value) for value in by_dim.values()]
    rank = max(map(len, shapes))
    padded: list[tuple[Size, ...]] = [(1,) * (rank - len(one)) + one for one in shapes]
    common = [next((size for size in sizes if size != 1), 1) for sizes in zip(*padded, strict=True)]
    dims = list(by_dim)
    # Dimensions of indices stand where those that they are for are, or first if these are apart.
    first = dims[0] if dims == list(range(dims[0], dims[-1] + 1)) else 0
    end = dims[-1] + 1
    others = [dim for dim in range(end) if dim not in by_dim]
    sizes = [shape[dim] for dim in others]
    sizes[first:first] = common

    def place(code: _Code, at: Sequence[Index]) -> Index:
        inside = at[first : first + rank]
        rest = iter([*at[:first], *at[first + rank :]])
        found: list[Index] = []
        for dim in range(end):
            if dim not in by_dim:
                found.append(next(rest))
                continue
            number = dims.index(dim)
            here = [0 if size == 1 else index for index, size in zip(inside, padded[number], strict=True)]
            found.append(code.read(number, code.flat(here, padded[number]), code.size(shape[dim]), True))
        return code.flat(found, shape[:end])

    return _Rows(
        sizes or [1], product(shape[end:]), product(shape[:end]), place, list(by_dim.values()), first
    )


def _flip(op: SchemaOp) -> _Rows:
    shape = shape_of(op.operands[0])
    dims = [int(dim) % len(shape) for dim in op.arg("dims")]

    def move(code: _Code, dim: int, index: Index) -> Index:
        return code.b.sub(code.b.sub(code.size(shape[dim]), 1), index)

    return _mapped(shape, shape, dims, move)


def _roll(op: SchemaOp) -> _Rows:
    shape = shape_of(op.operands[0])
    dims = [int(dim) % len(shape) for dim in op.arg("dims")]
    if not dims:
        # Of all elements in order.
        shape, dims = (product(shape),), [0]
    shifts: dict[int, int] = {}
    for dim, shift in zip(dims, op.arg("shifts"), strict=True):
        shifts[dim] = shifts.get(dim, 0) + int(shift)

    def move(code: _Code, dim: int, index: Index) -> Index:
        size, shift = code.size(shape[dim]), -shifts[dim]
        distance = code.b.remainder(abs(shift), size)
        moved = code.b.add(index, distance if shift >= 0 else code.b.sub(size, distance))
        return code.b.remainder(moved, size)

    return _mapped(shape, shape, dims, move)


def _repeat(op: SchemaOp) -> _Rows:
    result, source = shape_of(op.results[0]), shape_of(op.operands[0])
    padded: list[Size] = [1] * (len(result) - len(source)) + list(source)
    moved = [dim for dim, times in enumerate(op.arg("repeats")) if int(times) != 1]

    def move(code: _Code, dim: int, index: Index) -> Index:
        return code.b.remainder(index, code.size(padded[dim]))

    return _mapped(result, padded, moved, move)


def _strided(op: SchemaOp) -> _Rows:
    """Elements at places that are sums of strides."""
    sizes, strides = [[int(one) for one in op.arg(name)] for name in ("size", "stride")]
    offset = int(op.arg("storage_offset") or 0)
    count = prod(tensor_type(op.operands[0]).get_shape())
    return _Rows(sizes or [1], 1, count, lambda code, at: _sum_of(code.b, at, strides, offset))


def _diagonal(op: SchemaOp) -> _Rows:
    shape = shape_of(op.operands[0])
    one, other = (int(op.arg(name)) % len(shape) for name in ("dim1", "dim2"))
    offset = int(op.arg("offset"))
    first = {one: max(-offset, 0), other: max(offset, 0)}

    def place(code: _Code, at: Sequence[Index]) -> Index:
        *outer, number = at
        rest = iter(outer)
        there = [code.b.add(number, first[dim]) if dim in first else next(rest) for dim in range(len(shape))]
        return code.flat(there, shape)

    return _Rows(shape_of(op.results[0]), 1, product(shape), place)


def _unfold(op: SchemaOp) -> _Rows:
    """Windows along a dimension, whose elements are the last one of the result."""
    shape = shape_of(op.operands[0])
    along, step = int(op.arg("dimension")) % len(shape), int(op.arg("step"))

    def place(code: _Code, at: Sequence[Index]) -> Index:
        *there, within = at
        there[along] = code.b.add(code.b.mul(there[along], step), within)
        return code.flat(there, shape)

    return _Rows(shape_of(op.results[0]), 1, product(shape), place)


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


def _start(code: _Code, op: SchemaOp, size: Size) -> Index:
    """The first place of a slice. Of one that starts past the end there are no elements."""
    start = 0 if op.arg("start") is None else int(op.arg("start"))
    return start if start >= 0 else code.b.max(code.b.sub(code.size(size), -start), 0)


def _slice(op: SchemaOp) -> _Rows:
    """Elements of a dimension, with steps between them: of the source, or for `slice_scatter` of the result."""
    scatters = operator_name(op) == "slice_scatter"
    source = shape_of(op.operands[0])
    part = shape_of(op.arg("src") if scatters else op.results[0])
    only = int(op.arg("dim")) % len(source)
    step = int(op.arg("step"))

    def move(code: _Code, dim: int, index: Index) -> Index:
        return code.b.add(code.b.mul(index, step), _start(code, op, source[dim]))

    return _mapped(part, source, [only], move)


def _select(op: SchemaOp) -> _Rows:
    shape = shape_of(op.operands[0])
    only = int(op.arg("dim")) % len(shape)
    part = list(shape)
    part[only] = 1
    chosen = int(op.arg("index"))

    def move(code: _Code, dim: int, index: Index) -> Index:
        place = chosen if chosen >= 0 else code.b.sub(code.size(shape[dim]), -chosen)
        return code.b.add(index, place)

    return _mapped(part, shape, [only], move)


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
    "unfold_copy": _unfold,
}
"""Operators whose result has elements of their first operand: by the place of each."""

SCATTERS: Final[dict[str, Callable[[SchemaOp], _Rows]]] = {
    "index_put": _advanced,
    "scatter.src": _by_elements,
    "scatter.value": _by_elements,
    "scatter_add": _by_elements,
    "scatter_reduce.two": _by_elements,
    "select_scatter": _select,
    "slice_scatter": _slice,
}
"""Operators whose result is their first operand, with other elements at the places that are given."""


_ANY_SIZE: Final = frozenset(
    {
        "diagonal_copy",
        "embedding",
        "flip",
        "gather",
        "index.Tensor",
        "index_put",
        "index_select",
        "repeat",
        "roll",
        "scatter.src",
        "scatter.value",
        "scatter_add",
        "scatter_reduce.two",
        "select_scatter",
        "slice_copy.Tensor",
        "slice_scatter",
        "unfold_copy",
    }
)
"""Operators of `GATHERS` and `SCATTERS` whose sizes may be known at run time only."""


@dataclass(frozen=True)
class _Reduction:
    """How values for one place are combined with what is there, and with each other."""

    floats: Callable[[SSAValue, SSAValue], Operation]
    integers: Callable[[SSAValue, SSAValue], Operation]
    of_none: float
    """The value of no elements: of integers, the nearest that the type holds."""

    def identity(self, element: Attribute) -> int | float:
        """The value of no elements of a type."""
        if is_float(element):
            return self.of_none
        most = 2 ** (width_of(element) - 1)
        return int(max(-most, min(most - 1, self.of_none)))


_SUM: Final = _Reduction(arith.AddfOp, arith.AddiOp, 0.0)
_REDUCTIONS: Final = {
    "sum": _SUM,
    "prod": _Reduction(arith.MulfOp, arith.MuliOp, 1.0),
    "amax": _Reduction(arith.MaximumfOp, arith.MaxSIOp, -inf),
    "amin": _Reduction(arith.MinimumfOp, arith.MinSIOp, inf),
}


def _reduction(op: SchemaOp) -> _Reduction | None:
    """How an operator of `SCATTERS` combines values; None where the last one is kept, and for means."""
    match operator_name(op):
        case "scatter_add":
            return _SUM
        case "index_put" if op.arg("accumulate"):
            return _SUM
        case "scatter_reduce.two":
            return _REDUCTIONS.get(str(op.arg("reduce")))
        case _:
            return None


def is_taken(op: SchemaOp) -> bool:
    """Whether there is code for the arguments of an operator of `GATHERS` or `SCATTERS`."""
    name = operator_name(op)
    known = [
        "start",
        *([] if name == "slice_scatter" else ["end"]),  # the part says where it ends
        "step",
        "repeats",
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
    tensors = [value for value in op.operands if is_tensor(value.type)]
    if len(tensors) < len(op.operands) and name != "slice_scatter":
        return False
    static = all(tensor_type(value).has_static_shape() for value in tensors)
    if not static and not takes_any_size(op):
        return False
    if not tensor_type(op.operands[0]).get_shape() and name not in ("gather", "scatter.src", "scatter.value"):
        return False
    if name == "as_strided_copy" and not _is_inside(op):
        return False
    lookup = _lookup(op)
    indices = _rows(op).indices if lookup is None else [lookup.index]
    if not all(element_of(value) in (i32, i64) for value in indices):
        return False
    if name in ("index.Tensor", "index_put") and not _broadcasts(op):
        return False
    if _reduction(op) is None:
        return name != "scatter_reduce.two"
    # A maximum of bytes without a sign is none of these.
    untaken = {i1, ui8} if name == "scatter_reduce.two" else {i1}
    return element_of(op.operands[0]) not in untaken


def _broadcasts(op: SchemaOp) -> bool:
    """Whether it is known in which dimensions tensors of indices, and values for their places, are broadcast.

    A size that is known at run time only may be 1 there, or another one than that of the places, which is an error.
    """
    rows = _rows(op)
    given: Sequence[SSAValue | None] = op.arg("indices")
    dims = [dim for dim, value in enumerate(given) if value is not None]
    shapes = [shape_of(value) for value in rows.indices]
    rank = max(map(len, shapes))
    first = dims[0] if dims == list(range(dims[0], dims[-1] + 1)) else 0
    broadcast = [(rows.sizes[first : first + rank], shape) for shape in shapes]
    if operator_name(op) == "index_put":
        places = [*rows.sizes, *shape_of(op.operands[0])[dims[-1] + 1 :]]
        broadcast.append((places, shape_of(op.arg("values"))))
    return all(
        size in (1, of)
        for sizes, shape in broadcast
        for of, size in zip(reversed(sizes), reversed(shape), strict=False)
    )


def _rows(op: SchemaOp) -> _Rows:
    name = operator_name(op)
    return (GATHERS.get(name) or SCATTERS[name])(op)


# -- loops


def gather_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel that reads its elements from places."""
    op, outside = anchor_of(kernel), kernel.outside()
    rows = _rows(op)
    count = product(rows.sizes)
    numbers = _numbers(op, rows)
    operands = [
        *map(Number, numbers),
        Operand(host.buffer(outside[op.operands[0]]), [rows.count, rows.inner]),
        *_index_operands(host, rows, outside),
        Operand(host.buffer(kernel.outputs[0]), [count, rows.inner]),
    ]

    def build(b: LoopBuilder, arguments: Sequence[SSAValue]) -> None:
        given, (x, *indices, y) = arguments[: len(numbers)], arguments[len(numbers) :]
        code = _Code(b, _reader(b, op, indices), dict(zip(numbers, given, strict=True)))
        with b.parallel(count if isinstance(count, int) else b.dim(y, 0)) as row:
            place = rows.place(code, code.places(row, rows.sizes))
            inner = rows.inner if isinstance(rows.inner, int) else b.dim(y, 1)
            with _where_some(b, rows, x):
                _copy(b, host.lanes, x, place, y, row, inner)

    host.call(operator_name(op).partition(".")[0].removesuffix("_copy"), operands, build)


def _numbers(op: SchemaOp, rows: _Rows) -> list[Size]:
    """The sizes of an op that its kernel is told, as they are known at run time only: each once."""
    tensors = [value for value in op.operands if is_tensor(value.type)]
    every = [*rows.sizes, rows.inner, *(size for value in tensors for size in shape_of(value))]
    return list(dict.fromkeys(size for size in every if not isinstance(size, int)))


def _where_some(b: LoopBuilder, rows: _Rows, table: SSAValue) -> AbstractContextManager[object]:
    """A branch for tables of rows that may have none: then there is none in the stead of what is out of range."""
    if isinstance(rows.count, int):
        return nullcontext()
    return b.if_(b.below(0, b.dim(table, 0)))


def sized_gather_kernel(host: Host, kernel: KernelOp) -> None:
    """The same for rows that a tensor of indices names, where sizes are known at run time only."""
    op, outside = anchor_of(kernel), kernel.outside()
    lookup = _lookup(op)
    if lookup is None:
        gather_kernel(host, kernel)
        return
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
    """Lower a kernel that writes elements to places of a copy, or in place where the result has its source's memory.

    Rows whose places may be the same are written one after the other. In place, nothing is written if an index is out
    of range, or an invalid argument of the call is known.
    """
    op, outside = anchor_of(kernel), kernel.outside()
    name = operator_name(op)
    rows = _rows(op)
    source, result = outside[op.operands[0]], kernel.outputs[0]
    in_place = result in host.in_place
    if not in_place:
        copy_kernel(host, host.buffer(source), host.buffer(result), count_of(result))
    numbers = _numbers(op, rows)
    values: SSAValue | None = None
    for argument in ("values", "src"):
        if argument in op.schema().by_name:
            values = op.arg(argument)
    operands = [*map(Number, numbers), *_index_operands(host, rows, outside)]
    sizes: Sequence[Size] = []
    width = None
    if values is not None:
        sizes = shape_of(values)
        width = _whole_rows(op, rows, sizes)
        count = count_of(values)
        whole = [normal(count // width), width] if width is not None else [count]
        operands.append(Operand(host.buffer(outside[values]), whole))
    operands.append(Operand(host.buffer(result), [rows.count, rows.inner]))
    reduction = _reduction(op)
    replaces = name == "scatter_reduce.two" and not op.arg("include_self")
    outer, rest = rows.sizes[: rows.apart], rows.sizes[rows.apart :]

    def build(b: LoopBuilder, arguments: Sequence[SSAValue]) -> None:
        given, (*indices, y) = arguments[: len(numbers)], arguments[len(numbers) :]
        x = indices.pop() if values is not None else None
        element = b.element_type(y)
        known = dict(zip(numbers, given, strict=True))
        code = _Code(b, _reader(b, op, indices, checks=not in_place), known)

        def write(at: Sequence[Index]) -> None:
            place = rows.place(code, at)
            if x is not None and width is not None and reduction is None:
                row = b.quotient(_value_at(code, op, rows, sizes, at, 0), width)
                _copy(b, host.lanes, x, row, y, place, width)
                return
            with b.for_(0, code.size(rows.inner)) as inner:
                if x is None:
                    value = b.number(op.arg("value"), element)
                else:
                    read = _value_at(code, op, rows, sizes, at, inner.index)
                    value = b.element(x, [read] if width is None else code.split(read, width))
                if reduction is not None:
                    before = b.element(y, [place, inner.index])
                    combine = reduction.floats if is_float(element) else reduction.integers
                    value = b.value(combine(before, value))
                b.set_element(value, y, [place, inner.index])

        def sequence(row: Index) -> None:
            """Write the rows of a place of the outer dimensions."""
            if reduction is not None and replaces:
                # What is there is none of the values.
                start = b.number(reduction.identity(element), element)
                with b.for_(0, code.count(rest)) as loop, _where_some(b, rows, y):
                    place = rows.place(code, [*code.places(row, outer), *code.places(loop.index, rest)])
                    b.set_element(start, y, [place, 0])
            with b.for_(0, code.count(rest)) as loop, _where_some(b, rows, y):
                write([*code.places(row, outer), *code.places(loop.index, rest)])

        valid = _is_valid(b, op, indices, rows, known) if in_place else None
        with b.parallel(code.count(outer)) as row, nullcontext() if valid is None else b.if_(valid):
            sequence(row)

    host.call(name.partition(".")[0], operands, build)


def _is_valid(
    b: LoopBuilder, op: SchemaOp, indices: Sequence[SSAValue], rows: _Rows, known: Mapping[Size, Index]
) -> SSAValue:
    """Whether nothing is reported, and all indices are in range. Those that are not are reported."""
    beyond: list[SSAValue] = []
    code = _Code(b, _reader(b, op, indices, found=beyond), known)
    start = b.index(b.choose(b.reported(), 1, 0))
    if not indices:
        return b.below(start, 1)
    with b.for_(0, code.count(rows.sizes), 1, [start]) as loop:
        rows.place(code, code.places(loop.index, rows.sizes))
        wrong = loop.args[0]
        for one in beyond:
            wrong = b.index(b.choose(one, 1, wrong))
        loop.next = [wrong]
    return b.below(loop.results[0], 1)


def _whole_rows(op: SchemaOp, rows: _Rows, sizes: Sequence[Size]) -> int | None:
    """The number of elements of a row whose values follow each other in their tensor, as these do; None if not so."""
    if not isinstance(rows.inner, int) or rows.inner == 1:
        return None
    name = operator_name(op)
    if name != "index_put":
        return rows.inner if name in ("slice_scatter", "select_scatter") else None
    given: Sequence[SSAValue | None] = op.arg("indices")
    tail = shape_of(op.operands[0])[1 + max(dim for dim, value in enumerate(given) if value is not None) :]
    return rows.inner if tuple(sizes[len(sizes) - len(tail) :]) == tail else None


def _value_at(
    code: _Code, op: SchemaOp, rows: _Rows, sizes: Sequence[Size], at: Sequence[Index], inner: Index
) -> Index:
    """Where the value for an element is: in a tensor that is broadcast, or as large as that of indices at least."""
    b, name = code.b, operator_name(op)
    if name in ("slice_scatter", "select_scatter"):
        return b.add(b.mul(code.flat(at, rows.sizes), code.size(rows.inner)), inner)
    if name != "index_put":
        return code.flat(at, sizes or [1])
    # Of as many dimensions as are indexed and inside, broadcast.
    given: Sequence[SSAValue | None] = op.arg("indices")
    end = 1 + max(dim for dim, value in enumerate(given) if value is not None)
    tail = shape_of(op.operands[0])[end:]
    trailing: list[Index] = []
    rest = inner
    for size in reversed(tail[1:]):
        trailing.append(b.remainder(rest, code.size(size)))
        rest = b.quotient(rest, code.size(size))
    whole = [*at, *([rest, *reversed(trailing)] if tail else [])]
    used = whole[len(whole) - len(sizes) :]
    return code.flat([0 if size == 1 else index for index, size in zip(used, sizes, strict=True)], sizes)


def _index_operands(host: Host, rows: _Rows, outside: dict[SSAValue, SSAValue]) -> list[Operand]:
    return [Operand(host.buffer(outside[value]), [count_of(value)]) for value in rows.indices]


def _reader(
    b: LoopBuilder,
    op: SchemaOp,
    indices: Sequence[SSAValue],
    *,
    checks: bool = True,
    found: list[SSAValue] | None = None,
) -> _Read:
    """Reads indices; `checks` them, and adds to `found` the conditions that they are out of range."""
    message = f"aten::{operator_name(op)}: an index is out of range"

    def read(number: int, at: Index, size: Index, wraps: bool) -> Index:
        value = b.element(indices[number], [at])
        if memref_type(indices[number]).element_type != i64:
            value = b.value(arith.ExtSIOp(value, i64))
        # Compared as it is given: a place may have 32 bits.
        count = b.to_i64(size)
        if wraps:
            below = b.value(arith.CmpiOp(value, b.to_i64(0), "slt"))
            value = b.value(arith.SelectOp(below, b.value(arith.AddiOp(value, count)), value))
        # Without a sign, what is below 0 is large.
        beyond = b.value(arith.CmpiOp(value, count, "uge"))
        if checks:
            b.check(beyond, message)
        if found is not None:
            found.append(beyond)
        return b.choose(beyond, 0, b.value(arith.IndexCastOp(value, IndexType())))

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
