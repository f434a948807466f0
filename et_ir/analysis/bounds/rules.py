"""Bounds of the shapes that type inference cannot tell: they depend on data, or shrink where an argument grows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

from xdsl.ir import Attribute, SSAValue

from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.inference import size_of
from et_ir.dialects.schema.literals import ELEMENT_TYPES
from et_ir.dialects.schema.tensors import sizes_of, tensor_type
from et_ops.intervals import Interval, Sizes, element_count, largest, smallest

__all__ = ["RULES", "BoundsQuery", "Rule", "broadcast"]


@dataclass(frozen=True)
class BoundsQuery:
    """A call of an operator, with what is known of the sizes of its tensors and of its numbers."""

    op: SchemaOp
    sizes_of: Callable[[SSAValue], Sizes]
    range_of: Callable[[SSAValue], Interval]

    def tensor(self, name: str) -> Sizes:
        """The bounds of a tensor argument."""
        return self.sizes_of(cast(SSAValue, self.op.arg(name)))

    def literal(self, name: str) -> Any:
        """An argument that is no tensor; `None` where it is not given."""
        return self.op.arg(name)

    def range(self, number: int | SSAValue) -> Interval:
        """The range of a number, static or known at run time only."""
        return Interval(number, number) if isinstance(number, int) else self.range_of(number)

    def dim(self, name: str, rank: int) -> int:
        """An argument that names a dimension, counted from the front."""
        return self.literal(name) % max(rank, 1)


Rule = Callable[[BoundsQuery], Sequence[Sizes] | None]

RULES: Final[dict[str, Rule]] = {}
"""Rules by operator name, without `_copy`; each gives the bounds of the results in order."""

_F = TypeVar("_F", bound=Rule)


def bounds(*names: str) -> Callable[[_F], _F]:
    """Register a function as the rule of operators."""

    def register(function: _F) -> _F:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def broadcast(*shapes: Sizes) -> Sizes:
    """Bounds of the shape that tensors broadcast to. Sizes with different bounds may still be the same."""
    rank = max(map(len, shapes), default=0)
    aligned = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(largest(*sizes) for sizes in zip(*aligned, strict=True))


def _replaced(sizes: Sizes, dim: int, size: int | None) -> Sizes:
    return (*sizes[:dim], size, *sizes[dim + 1 :])


# -- sizes that depend on data


@bounds("nonzero", "argwhere")
def nonzero(call: BoundsQuery) -> Sequence[Sizes]:
    sizes = call.tensor("self")
    return [(element_count(sizes), len(sizes))]


@bounds("torchvision.nms")
def nms(call: BoundsQuery) -> Sequence[Sizes]:
    """No more than all boxes."""
    return [call.tensor("scores")]


@bounds("masked_select")
def masked_select(call: BoundsQuery) -> Sequence[Sizes]:
    return [(element_count(broadcast(call.tensor("self"), call.tensor("mask"))),)]


@bounds("_unique2", "unique_consecutive", "unique_dim", "unique_dim_consecutive")
def unique(call: BoundsQuery) -> Sequence[Sizes]:
    """No more distinct elements, or slices, than there are: all may be different."""
    sizes = call.tensor("self")
    if "dim" not in call.op.info().schema.by_name or call.literal("dim") is None:
        count = element_count(sizes)
        return [(count,), sizes, (count,)]
    size = sizes[call.dim("dim", len(sizes))] if sizes else 1
    return [sizes or (1,), (size,), (size,)]


_COUNTED: Final[dict[Attribute, int]] = {
    ELEMENT_TYPES["ui8"]: 2**8,
    ELEMENT_TYPES["i8"]: 2**7,
    ELEMENT_TYPES["i16"]: 2**15,
}
"""The number of non-negative values of types with few of them."""


@bounds("bincount")
def bincount(call: BoundsQuery) -> Sequence[Sizes]:
    count = _COUNTED.get(tensor_type(call.op.operands[0]).element_type)
    return [(largest(count, call.range(call.literal("minlength")).most),)]


@bounds("repeat_interleave.Tensor")
def repeat_interleave(call: BoundsQuery) -> Sequence[Sizes]:
    size: int | SSAValue | None = call.literal("output_size")
    return [(None if size is None else call.range(size).most,)]


# -- parts and joins


@bounds("slice.Tensor")
def slice_(call: BoundsQuery) -> Sequence[Sizes]:
    sizes = call.tensor("self")
    dim = call.dim("dim", len(sizes))
    length = _between(sizes[dim], call.literal("start"), call.literal("end"), call)
    step = call.range(call.literal("step")).least
    if length is not None and step is not None and step > 1:
        length = -(-length // step)
    return [_replaced(sizes, dim, length)]


def _between(
    size: int | None, start: int | SSAValue | None, end: int | SSAValue | None, call: BoundsQuery
) -> int | None:
    """At most how many places there are between two, of which those below 0 count from the end."""
    last = size
    if end is not None:
        most, least = call.range(end).most, call.range(end).least
        if isinstance(end, int) and end < 0:
            last = None if size is None else max(size + end, 0)
        elif least is not None and least >= 0:
            last = smallest(size, most)
    first = 0
    if start is not None:
        least = call.range(start).least
        if isinstance(start, int) and start < 0:
            return smallest(last, -start)
        first = max(least or 0, 0)
    return None if last is None else max(last - first, 0)


@bounds("cat")
def cat(call: BoundsQuery) -> Sequence[Sizes] | None:
    rank = tensor_type(call.op.results[0]).get_num_dims()
    shapes = [call.sizes_of(value) for value in cast("tuple[SSAValue, ...]", call.op.arg("tensors"))]
    # Torch passes over vectors without elements, whatever the rank of the others.
    shapes = [shape for shape in shapes if len(shape) == rank]
    dim = call.dim("dim", rank)
    found: list[int | None] = []
    for place, sizes in enumerate(zip(*shapes, strict=True)):
        if place != dim:
            found.append(smallest(*sizes))
        else:
            found.append(None if None in sizes else sum(size for size in sizes if size is not None))
    return [tuple(found)]


# -- products of matrices: what both operands have is as large as the smaller bound says


@bounds("mm")
def mm(call: BoundsQuery) -> Sequence[Sizes]:
    return [(call.tensor("self")[0], call.tensor("mat2")[1])]


@bounds("addmm")
def addmm(call: BoundsQuery) -> Sequence[Sizes]:
    return [(call.tensor("mat1")[0], call.tensor("mat2")[1])]


@bounds("bmm")
def bmm(call: BoundsQuery) -> Sequence[Sizes]:
    return [_batches(call.tensor("self"), call.tensor("mat2"))]


@bounds("baddbmm")
def baddbmm(call: BoundsQuery) -> Sequence[Sizes]:
    return [_batches(call.tensor("batch1"), call.tensor("batch2"))]


@bounds("grouped.linear")
def grouped_linear(call: BoundsQuery) -> Sequence[Sizes]:
    """More groups leave fewer columns: there are at least as many as are known, and one."""
    (rows, _), (stacked, _) = call.tensor("input"), call.tensor("weight")
    (groups,) = tensor_type(cast(SSAValue, call.op.arg("ends"))).get_shape()
    return [(rows, None if stacked is None else stacked // max(groups, 1))]


def _batches(left: Sizes, right: Sizes) -> Sizes:
    return smallest(left[0], right[0]), left[1], right[2]


# -- shapes that are given


def _given(call: BoundsQuery, name: str) -> list[int | None]:
    """The largest of each size in a list; -1 stays what it is."""
    items = cast("tuple[int | SSAValue, ...]", call.literal(name))
    return [item if isinstance(item, int) else call.range(item).most for item in items]


@bounds("view", "reshape", "_unsafe_view")
def view(call: BoundsQuery) -> Sequence[Sizes]:
    """A size that is not given is as large as the dimensions of the operand that no given one is the size of."""
    name = "shape" if "shape" in call.op.info().schema.by_name else "size"
    found = _given(call, name)
    items = cast("tuple[int | SSAValue, ...]", call.literal(name))
    for place, item in enumerate(items):
        if item == -1 or found[place] is None:
            found[place] = _left(call, [other for other in items if other is not item])
    return [tuple(found)]


def _left(call: BoundsQuery, taken: Sequence[int | SSAValue]) -> int | None:
    """Upper bound of the operand's elements per element of the tensors with the sizes `taken`."""
    operand = cast(SSAValue, call.op.arg("self"))
    left: dict[int, object] = dict(enumerate(sizes_of(tensor_type(operand))))
    count = 1
    for item in taken:
        size = item if isinstance(item, int) else size_of(item)
        dim = next((dim for dim, known in left.items() if known == size), None) if size is not None else None
        if dim is None:
            dim = _read_from(item, operand, left)
        if dim is not None:
            del left[dim]
        else:
            count *= max(call.range(item).least or 1, 1)
    total = element_count(call.tensor("self")[dim] for dim in left)
    return None if total is None else total // count


def _read_from(item: int | SSAValue, operand: SSAValue, left: Iterable[int]) -> int | None:
    """The dimension of an operand that a number has been read from, if it is left."""
    owner = None if isinstance(item, int) else item.owner
    if not isinstance(owner, SchemaOp) or owner.operator.view_form != "sym_size.int":
        return None
    dim: int = owner.arg("dim") % max(tensor_type(operand).get_num_dims(), 1)
    return dim if owner.operands[0] is operand and dim in left else None


@bounds("expand")
def expand(call: BoundsQuery) -> Sequence[Sizes]:
    found, sizes = _given(call, "size"), call.tensor("self")
    lead = len(found) - len(sizes)
    return [tuple(sizes[place - lead] if size == -1 else size for place, size in enumerate(found))]


@bounds("arange.start_step", "arange.start", "arange")
def arange(call: BoundsQuery) -> Sequence[Sizes]:
    """As many numbers as fit between the first and the last that are possible."""
    given = call.op.info().schema.by_name
    ends = [call.literal(name) if name in given else other for name, other in _ARANGE]
    if any(isinstance(end, float) for end in ends):
        return [(None,)]
    start, end, step = (call.range(cast("int | SSAValue", one)) for one in ends)
    if None in (start.least, end.most, step.least) or cast(int, step.least) <= 0:
        return [(None,)]
    span = cast(int, end.most) - cast(int, start.least)
    return [(max(-(-span // cast(int, step.least)), 0),)]


_ARANGE: Final = (("start", 0), ("end", 0), ("step", 1))
