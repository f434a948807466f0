"""The walk over a method that derives the bounds of its values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, cast

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from et_ir.analysis.bounds.rules import RULES, BoundsQuery, broadcast
from et_ir.analysis.bounds.sources import sources
from et_ir.dialects.backend import PartitionOp
from et_ir.dialects.control import CondOp, ControlOp, MapOp, ScanOp, WhileOp, YieldOp
from et_ir.dialects.edge.layout import is_dim_order_op
from et_ir.dialects.program import ComputeOp, LiteralOp, RangeOp
from et_ir.dialects.schema import DYNAMIC, SchemaOp
from et_ir.dialects.schema.inference import read_args, size_of
from et_ir.dialects.schema.literals import ELEMENT_TYPES, literal_of
from et_ir.dialects.schema.sizes import method_ranges
from et_ir.dialects.schema.tensors import is_tensor, sizes_of, tensor_type
from et_ops.inference.meta import Meta
from et_ops.intervals import ANY, Interval, Sizes, computed, element_count, largest, smallest
from et_ops.sizes import Expression

__all__ = ["SizeBounds"]

_NUMBERS: Final[dict[Attribute, Interval]] = {
    i1: Interval(0, 1),
    ELEMENT_TYPES["ui8"]: Interval(0, 255),
    ELEMENT_TYPES["i8"]: Interval(-128, 127),
}
"""The range of a number read from a tensor, where that makes a size worth planning for."""


class SizeBounds:
    """The bounds of the values of a block, derived in one walk."""

    def __init__(self, block: Block):
        method = block.parent_op()
        self._ranges = {} if method is None else dict(method_ranges(method))
        """The ranges of the types' symbols, derived for those that the method does not bound."""
        self._sizes: dict[SSAValue, Sizes] = {}
        self._numbers: dict[SSAValue, Interval] = {}
        self._stated: dict[SSAValue, Interval] = {}
        self._caps: dict[tuple[SSAValue, int], int] = {}
        ops = list(block.walk())
        for op in ops:
            if isinstance(op, RangeOp):
                self._state(op)
        for op in reversed(ops):
            if isinstance(op, SchemaOp) and len(op.results) == 1:
                self._cap_sources(op)
        for argument in block.args:
            self.settle(argument, None)
        self.block(block)

    def sizes(self, value: SSAValue) -> Sizes:
        """The largest size of each dimension of a tensor, `None` where none is known."""
        found = self._sizes.get(value)
        return self._known(value.type) if found is None else found

    def number(self, value: SSAValue) -> Interval:
        """The range of a number."""
        return self._numbers.get(value, ANY)

    def block(self, block: Block) -> None:
        """Derive the bounds of what the ops of a block compute; its arguments have theirs."""
        for op in block.ops:
            if isinstance(op, ControlOp):
                _control(self, op)
            elif isinstance(op, PartitionOp):
                self._partition(op)
            else:
                self._op(op)

    def _partition(self, op: PartitionOp) -> None:
        """Bounds of a partition's arguments and results, which are those outside."""
        for value, argument in zip(op.inputs, op.body.block.args, strict=True):
            self.settle(argument, self.sizes(value) if is_tensor(value.type) else None, self.number(value))
        self.block(op.body.block)
        end = op.body.block.last_op
        for value, output in zip(() if end is None else end.operands, op.outputs, strict=True):
            self.settle(output, self.sizes(value) if is_tensor(value.type) else None, self.number(value))

    def settle(self, value: SSAValue, found: Sizes | None, number: Interval = ANY) -> None:
        """Note the bounds of a value, which its type and what is stated of it may make tighter."""
        type = value.type
        if not is_tensor(type):
            self._numbers[value] = number & self._stated.get(value, ANY)
            return
        if type.has_static_shape():
            return
        known = self._known(type)
        if found is None or len(found) != len(known):
            found = (None,) * len(known)
        self._sizes[value] = sizes = tuple(
            size if size is not None else smallest(bound, self._caps.get((value, dim)))
            for dim, (size, bound) in enumerate(zip(known, found, strict=True))
        )
        for size, stated, most in zip(sizes_of(type), known, sizes, strict=True):
            if (
                stated is None
                and most is not None
                and isinstance(size, Expression)
                and size.symbol is not None
            ):
                self._ranges[size.symbol] = self._ranges.get(size.symbol, ANY) & Interval(None, most)

    def _known(self, type: Attribute) -> Sizes:
        """The bounds that a type states."""
        if not is_tensor(type):
            return ()
        return tuple(
            size.interval(self._ranges).most if isinstance(size, Expression) else size
            for size in sizes_of(type)
        )

    # -- what the program states

    def _state(self, op: RangeOp) -> None:
        number = op.number
        self._stated[number] = self._stated.get(number, ANY) & Interval(op.least, op.most)
        owner = number.owner
        if isinstance(owner, SchemaOp) and op.most is not None and owner.operator.view_form == "sym_size.int":
            self._cap(owner.operands[0], owner.arg("dim"), op.most)

    def _cap(self, tensor: SSAValue, dim: int, most: int) -> None:
        if is_tensor(tensor.type):
            key = tensor, dim % max(tensor.type.get_num_dims(), 1)
            self._caps[key] = min(most, self._caps.get(key, most))

    def _cap_sources(self, op: SchemaOp) -> None:
        """Propagation of a result's stated bounds to everything of the same size."""
        result = op.results[0]
        if not is_tensor(result.type):
            return
        if result.type.has_static_shape():
            return
        for dim, known in enumerate(self._known(result.type)):
            most = smallest(known, self._caps.get((result, dim)))
            if most is not None:
                for tensor, place in sources(op, dim):
                    self._cap(tensor, place, most)

    # -- what follows

    def _op(self, op: Operation) -> None:
        if isinstance(op, LiteralOp):
            number = literal_of(op.value)
            if isinstance(number, int | float) and math.isfinite(number):
                self._numbers[op.result] = Interval(math.floor(number), math.ceil(number))
            return
        if isinstance(op, ComputeOp):
            numbers = [self.number(value) for value in op.inputs]
            self._numbers[op.result] = computed(op.function.data, *numbers)
        found: Sequence[Sizes] | None = None
        if isinstance(op, SchemaOp):
            if any(not is_tensor(result.type) for result in op.results):
                self._number_op(op)
            elif any(None in self._known(result.type) for result in op.results):
                found = self._shapes(op)
        for index, result in enumerate(op.results):
            sizes = None if found is None or index >= len(found) else found[index]
            self.settle(result, sizes, self.number(result))

    def _number_op(self, op: SchemaOp) -> None:
        """The range of a number that an operator gives."""
        name = op.operator.view_form
        found = ANY
        if name == "sym_size.int":
            dim: int = op.arg("dim")
            found = Interval(0, self.sizes(op.operands[0])[dim])
            expression = size_of(op.results[0])
            if expression is not None:
                found &= expression.interval(self._ranges)
        elif name == "sym_numel":
            found = Interval(0, element_count(self.sizes(op.operands[0])))
        elif name in ("_local_scalar_dense", "item"):
            found = _NUMBERS.get(tensor_type(op.operands[0]).element_type, ANY)
        self._numbers[op.results[0]] = found

    def _shapes(self, op: SchemaOp) -> Sequence[Sizes] | None:
        """The bounds of an operator's results, `None` where nothing tells them."""
        rule = RULES.get(op.operator.view_form)
        if rule is not None:
            return rule(BoundsQuery(op, self.sizes, self.number))
        tensors = [self.sizes(value) for value in op.operands if is_tensor(value.type)]
        if is_dim_order_op(op):
            return tensors[:1] if tensors else [self._given(op, "size")]
        if op.operator.is_pointwise:
            return [broadcast(*tensors)] * len(op.results)
        return self._inferred(op)

    def _given(self, op: SchemaOp, name: str) -> Sizes:
        items: Sequence[object] = op.arg(name)
        return tuple(
            item if isinstance(item, int) else self.number(cast(SSAValue, item)).most for item in items
        )

    def _inferred(self, op: SchemaOp) -> Sequence[Sizes] | None:
        """The shapes that an operator gives for operands as large as they get: no shape shrinks as others grow,
        but in what has a rule of its own.
        """
        rule = op.operator.shape_rule
        if rule is None:
            return None
        try:
            found: Any = rule(*(self._at_most(op, arg) for arg in self._arguments(op)))
        except (ValueError, IndexError, ZeroDivisionError):
            # Operands that the operator takes together may have bounds that it does not.
            return None
        if isinstance(found, Meta):
            found = (found,)
        if not isinstance(found, Sequence) or not all(
            isinstance(m, Meta) for m in cast("Sequence[Any]", found)
        ):
            return None
        metas = cast("Sequence[Meta]", found)
        return [tuple(size if size >= 0 else None for size in meta.shape) for meta in metas]

    def _arguments(self, op: SchemaOp) -> list[tuple[str, Any]]:
        names = [arg.name for arg in op.info().schema.args]
        return list(zip(names, read_args(op), strict=True))

    def _at_most(self, op: SchemaOp, argument: tuple[str, Any]) -> Any:
        """An argument of a shape rule, with the largest sizes in the place of those that are not known."""
        name, value = argument
        if name == "weight" and "conv" in op.name:
            # The larger the kernel, the fewer places it fits in.
            return value
        if op.info().schema.by_name[name].type.is_tensor:
            given = op.arg(name)
            if isinstance(given, tuple):
                values = cast("tuple[SSAValue | None, ...]", given)
                return tuple(map(self._largest_meta, values, cast("tuple[Meta | None, ...]", value)))
            return self._largest_meta(cast("SSAValue | None", given), value)
        given = op.arg(name)
        if isinstance(given, tuple):
            items = cast("tuple[object, ...]", given)
            return tuple(
                self._largest(cast(SSAValue, item)) if isinstance(item, SSAValue) else item for item in items
            )
        if isinstance(given, SSAValue) and not isinstance(value, Meta):
            return self._largest(cast(SSAValue, given))
        return value

    def _largest(self, number: SSAValue) -> int:
        most = self.number(number).most
        return DYNAMIC if most is None else most

    def _largest_meta(self, value: SSAValue | None, meta: Meta | None) -> Meta | None:
        if value is None or meta is None or not is_tensor(value.type):
            return meta
        return meta._replace(shape=tuple(DYNAMIC if size is None else size for size in self.sizes(value)))


# -- control flow: a result of branches is as large as the larger of the two. What goes round a loop is as large as what
# it starts with, if what the body yields is never larger; if it may be, nothing is known of it but what is stated.


def _control(bounds: SizeBounds, op: ControlOp) -> None:
    """Derive the bounds of what an op of the dialect `control` computes, and of all that is in it."""
    match op:
        case CondOp():
            for region in op.regions:
                bounds.block(region.block)
            branches = [_yielded(region.block) for region in op.regions]
            for output, first, second in zip(op.outputs, *branches, strict=True):
                bounds.settle(
                    output,
                    _larger(bounds.sizes(first), bounds.sizes(second)),
                    _hull(bounds.number(first), bounds.number(second)),
                )
        case WhileOp():
            _loop(bounds, [op.condition.block, op.body.block], op.inits, op.outputs, ())
        case MapOp():
            _loop(bounds, [op.body.block], (), (), op.sequences)
            _stacks(bounds, op.outputs, op.sequences, _yielded(op.body.block))
        case ScanOp():
            _loop(bounds, [op.body.block], op.inits, op.carried, op.sequences)
            _stacks(bounds, op.stacked, op.sequences, _yielded(op.body.block)[len(op.inits) :])
        case _:
            raise AssertionError(f"nothing is known of the bounds of {op.name}")


def _yielded(block: Block) -> tuple[SSAValue, ...]:
    last = block.last_op
    assert isinstance(last, YieldOp)
    return tuple(last.values)


def _larger(first: Sizes, second: Sizes) -> Sizes | None:
    if len(first) != len(second):
        return None
    return tuple(largest(a, b) for a, b in zip(first, second, strict=True))


def _hull(first: Interval, second: Interval) -> Interval:
    """The numbers between those of two intervals."""
    a, b = first.least, second.least
    least = None if a is None or b is None else min(a, b)
    return Interval(least, largest(first.most, second.most))


def _loop(
    bounds: SizeBounds,
    blocks: Sequence[Block],
    inits: Sequence[SSAValue],
    results: Sequence[SSAValue],
    sequences: Sequence[SSAValue],
) -> None:
    """Derive the bounds of a loop's blocks, which take what is carried and slices; the last yields what is carried."""
    body = blocks[-1]
    carried: list[Sizes | None] = [bounds.sizes(value) for value in inits]

    def derive() -> None:
        for block in blocks:
            for argument, sizes in zip(block.args[: len(inits)], carried, strict=True):
                bounds.settle(argument, sizes)
            for argument, sequence in zip(block.args[len(inits) :], sequences, strict=False):
                bounds.settle(argument, bounds.sizes(sequence)[1:])
            bounds.block(block)

    derive()
    grown = False
    for index, (argument, value) in enumerate(zip(body.args[: len(inits)], _yielded(body), strict=False)):
        if is_tensor(argument.type) and _larger(bounds.sizes(argument), bounds.sizes(value)) != bounds.sizes(
            argument
        ):
            carried[index] = None
            grown = True
    if grown:
        derive()
    for result, argument in zip(results, body.args, strict=False):
        bounds.settle(result, bounds.sizes(argument))


def _stacks(
    bounds: SizeBounds, stacked: Sequence[SSAValue], sequences: Sequence[SSAValue], items: Sequence[SSAValue]
) -> None:
    for stack, item in zip(stacked, items, strict=True):
        bounds.settle(stack, (bounds.sizes(sequences[0])[0], *bounds.sizes(item)))
