"""Merging of kernels that differ in numbers only.

Layers of different sizes have the same loops, with other bounds and distances. One function with these as arguments is
compiled once, and is in the file once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FunctionType, IndexType, IntegerAttr, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.memref import DimOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

__all__ = ["MergeKernelsPass", "merge_kernels"]


@dataclass(frozen=True)
class MergeKernelsPass(ModulePass):
    """Merge functions that differ in index constants.

    The constants that differ become arguments, unless innermost loops would read more than a few: there an address with
    a constant distance is free, and one with a distance that is known at run time only takes a register. Divisors there
    stay constants too.

    Before:

    ```mlir
    func.func private @pad_0(%x: memref<?xf32>) { ... arith.subi %row, %c1 : index ... }
    func.func private @pad_1(%x: memref<?xf32>) { ... arith.subi %row, %c3 : index ... }
    func.func @forward(...) {
      func.call @pad_0(%a) : (memref<?xf32>) -> ()
      func.call @pad_1(%b) : (memref<?xf32>) -> ()
    ```

    After:

    ```mlir
    func.func private @pad_0(%x: memref<?xf32>, %n: index) { ... arith.subi %row, %n : index ... }
    func.func @forward(...) {
      func.call @pad_0(%a, %c1) : (memref<?xf32>, index) -> ()
      func.call @pad_0(%b, %c3) : (memref<?xf32>, index) -> ()
    ```
    """

    name = "merge-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        merge_kernels(op)


def merge_kernels(module: ModuleOp) -> None:
    """As the pass."""
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp) and not op.is_declaration]
    calls: dict[str, list[CallOp]] = {function.sym_name.data: [] for function in functions}
    callees: dict[str, list[str]] = {}
    for function in functions:
        inner = [op for op in function.walk() if isinstance(op, CallOp)]
        callees[function.sym_name.data] = [call.callee.string_value() for call in inner]
        for call in inner:
            calls.setdefault(call.callee.string_value(), []).append(call)
    constants = _Constants()
    private = {function.sym_name.data: function for function in functions if _is_private(function)}
    # Those that are called come first: what they take more is more constants of their callers.
    for names in _by_depth(callees):
        alike: dict[Hashable, list[_Outline]] = {}
        for name in names:
            if name in private:
                outline = _outline(private[name])
                alike.setdefault(outline.code, []).append(outline)
        for outlines in (some for every in alike.values() for some in _mergeable(every)):
            _merge(outlines, calls, constants)


def _is_private(function: FuncOp) -> bool:
    return function.sym_visibility is not None and function.sym_visibility.data == "private"


def _by_depth(callees: dict[str, list[str]]) -> Iterator[list[str]]:
    """The names of functions: those that call none, those that call these, and so on. No function calls itself."""
    left = dict(callees)
    while left:
        ready = [name for name, called in left.items() if not any(one in left for one in called)]
        if not ready:
            return
        yield ready
        for name in ready:
            del left[name]


@dataclass
class _Outline:
    """A function without the numbers that may become arguments."""

    function: FuncOp
    code: Hashable = None
    """A key that functions which can be merged share."""
    places: list[tuple[Operation, int]] = field(default_factory=list[tuple[Operation, int]])
    """The operands that are such numbers, as ops and the place there."""
    numbers: list[int] = field(default_factory=list[int])
    innermost: list[bool] = field(default_factory=list[bool])
    """Whether each is read in an innermost loop."""


def _mergeable(outlines: Sequence[_Outline]) -> list[Sequence[_Outline]]:
    """Functions of the same code, by those that are merged: several each."""
    if len(outlines) == 1:
        return []
    inner = [place for place, is_inner in enumerate(outlines[0].innermost) if is_inner]
    columns = {tuple(one.numbers[place] for one in outlines) for place in inner}
    if sum(len(set(column)) > 1 for column in columns) <= INNERMOST_ARGUMENTS:
        return [outlines]
    alike: dict[tuple[int, ...], list[_Outline]] = {}
    for one in outlines:
        alike.setdefault(tuple(one.numbers[place] for place in inner), []).append(one)
    return [some for some in alike.values() if len(some) > 1]


def _outline(function: FuncOp) -> _Outline:
    """The code of a function, with its values numbered, and the constants that it may take as arguments."""
    made = _Outline(function)
    values: dict[SSAValue, int] = {}

    def define(defined: Sequence[SSAValue]) -> tuple[Attribute, ...]:
        for value in defined:
            values[value] = len(values)
        return tuple(value.type for value in defined)

    def operands(op: Operation, innermost: bool) -> tuple[Hashable, ...]:
        found: list[Hashable] = []
        for place, operand in enumerate(op.operands):
            number = _index_constant(operand.owner)
            if number is None:
                found.append(values[operand])
            elif op.__class__ is DimOp or (innermost and op.__class__ in _DIVISIONS):
                found.append(("number", number))
            else:
                found.append("number")
                made.places.append((op, place))
                made.numbers.append(number)
                made.innermost.append(innermost)
        return tuple(found)

    def code(block: Block, innermost: bool) -> Hashable:
        arguments = define(block.args)
        ops: list[Hashable] = []
        for op in block.ops:
            if _index_constant(op) is not None:
                continue
            within = innermost or (op.__class__ in _LOOPS and not _has_loops(op))
            read = operands(op, innermost)
            regions = tuple(tuple(code(inner, within) for inner in region.blocks) for region in op.regions)
            results = define(op.results)
            properties, attributes = tuple(op.properties.items()), tuple(op.attributes.items())
            ops.append((op.name, read, properties, attributes, results, regions))
        return arguments, tuple(ops)

    made.code = code(function.body.block, False)
    return made


INNERMOST_ARGUMENTS: Final = 2
"""Numbers that innermost loops may read of arguments."""

_LOOPS: Final = (scf.ForOp, scf.ParallelOp)
_DIVISIONS: Final = (arith.DivUIOp, arith.RemUIOp, arith.DivSIOp, arith.RemSIOp)


def _has_loops(op: Operation) -> bool:
    """Whether there are loops in a loop, or calls of functions that may have some."""
    return any(inner is not op and inner.__class__ in (*_LOOPS, CallOp) for inner in op.walk())


def _index_constant(op: Operation | Block) -> int | None:
    """The number that an op defines as a constant of type `index`; None for other ops."""
    if op.__class__ is not arith.ConstantOp:
        return None
    assert isinstance(op, arith.ConstantOp)
    if not isinstance(op.result.type, IndexType):
        return None
    assert isinstance(op.value, IntegerAttr)
    return op.value.value.data


def _merge(outlines: Sequence[_Outline], calls: dict[str, list[CallOp]], constants: _Constants) -> None:
    """Call the first of some functions in place of all, with the numbers that differ as arguments."""
    kept = outlines[0].function
    block = kept.body.block
    arguments: dict[tuple[int, ...], SSAValue] = {}
    columns = zip(*(one.numbers for one in outlines), strict=True)
    for (op, place), column in zip(outlines[0].places, columns, strict=True):
        if len(set(column)) > 1:
            if column not in arguments:
                arguments[column] = block.insert_arg(IndexType(), len(block.args))
            op.operands[place] = arguments[column]
    for op in list(block.ops):
        if _index_constant(op) is not None and op.results[0].first_use is None:
            block.erase_op(op)
    kept.function_type = FunctionType.from_lists(block.arg_types, [])
    symbol, *others = (one.function.sym_name.data for one in outlines)
    made: list[CallOp] = []
    for number, name in enumerate((symbol, *others)):
        for call in calls.pop(name):
            given = [constants.value(call, column[number]) for column in arguments]
            made.append(CallOp(symbol, [*call.arguments, *given], []))
            made[-1].attributes = dict(call.attributes)
            assert call.parent is not None
            call.parent.insert_op_before(made[-1], call)
            call.parent.erase_op(call)
    calls[symbol] = made
    for one in outlines[1:]:
        assert one.function.parent is not None
        one.function.parent.erase_op(one.function, safe_erase=False)


class _Constants:
    """Numbers at the start of functions, each there once."""

    def __init__(self) -> None:
        self._known: dict[Block, dict[int, SSAValue]] = {}

    def value(self, call: CallOp, number: int) -> SSAValue:
        """A number in the function that a call is in."""
        block = call.parent
        while (
            block is not None and (outer := block.parent_op()) is not None and not isinstance(outer, FuncOp)
        ):
            block = outer.parent
        assert block is not None
        known = self._known.get(block)
        if known is None:
            known = self._known[block] = {}
            for op in block.ops:
                found = _index_constant(op)
                if found is None:
                    break
                known[found] = op.results[0]
        if number not in known:
            made = arith.ConstantOp(IntegerAttr.from_index_int_value(number), IndexType())
            assert block.first_op is not None
            block.insert_op_before(made, block.first_op)
            known[number] = made.result
        return known[number]
