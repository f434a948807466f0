"""Calls of kernels as dispatches: invocations, push constants, and a bound of the iterations of loops.

All numbers that a call depends on are known when it is compiled: sizes of buffers, and index arithmetic on them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue

from et_backends.codegen.dialect.types import memref_type
from et_backends.vulkan.dialect import DispatchOp
from et_backends.vulkan.format.blob import MAX_WORDS
from et_ir.diagnostics import PassReport, diagnose

__all__ = ["MOST_STEPS", "Specialized", "parallel_loop", "refused", "replace_calls"]

MOST_STEPS: Final = 2**31 - 1
"""The number of iterations where there is no smaller bound."""

Specialized: TypeAlias = "dict[str, dict[tuple[int, ...] | None, str]]"
"""Names of shaders specialized for the numbers of a call, by kernel and numbers; of kernels with too many to push."""


def refused(op: Operation, text: str, fix: str) -> PassReport:
    """The error for what cannot be converted."""
    return PassReport("kernels cannot be converted to shaders", [diagnose(op, text, fix)])


def replace_calls(function: FuncOp, kernels: Mapping[str, FuncOp], specialized: Specialized) -> None:
    """Replace the calls in the function of a partition by dispatches. Raises PassReport for a call of unknown sizes."""
    block = function.body.block
    for call in list(block.ops):
        if not isinstance(call, CallOp):
            continue
        kernel = kernels.get(call.callee.string_value())
        if kernel is None:
            raise refused(call, f"'{call.callee.string_value()}' is no kernel", "call a private function")
        buffers: list[SSAValue] = []
        words: list[int] = []
        sizes: dict[SSAValue, list[int]] = {}
        numbers: dict[SSAValue, int] = {}
        for value, argument in zip(call.arguments, kernel.body.block.args, strict=True):
            if isinstance(value.type, MemRefType):
                buffers.append(value)
                known = _sizes_of(value)
                sizes[argument] = known
                words += [
                    size
                    for size, told in zip(known, memref_type(argument).get_shape(), strict=True)
                    if told < 0
                ]
            else:
                numbers[argument] = _known(value, {}, {})
                words.append(numbers[argument])
        count = _iterations(kernel, sizes, numbers)
        if count:
            steps = _most_steps(kernel, sizes, numbers)
            name = kernel.sym_name.data
            if len(words) > MAX_WORDS:
                names = specialized.setdefault(name, {})
                name = names.setdefault(tuple(words), f"{name}_sizes_{len(names)}")
                words = []
            made = DispatchOp(name, buffers, words, count, steps)
            made.attributes.update(call.attributes)
            block.insert_op_before(made, call)
        call.detach()
        call.erase()


def _sizes_of(buffer: SSAValue) -> list[int]:
    """The sizes of a buffer in the function of a partition."""
    shape = memref_type(buffer).get_shape()
    owner = buffer.owner
    if all(size >= 0 for size in shape):
        return list(shape)
    assert isinstance(owner, memref.ReinterpretCastOp | memref.ViewOp)
    given = iter(owner.sizes)
    return [size if size >= 0 else _known(next(given), {}, {}) for size in shape]


def _iterations(kernel: FuncOp, sizes: Mapping[SSAValue, Sequence[int]], numbers: dict[SSAValue, int]) -> int:
    """The number of iterations of a kernel's parallel loop in a call."""
    loop = parallel_loop(kernel)
    start, end, step = (
        _known(bounds[0], sizes, numbers) for bounds in (loop.lowerBound, loop.upperBound, loop.step)
    )
    return max(0, -(-(end - start) // step))


def parallel_loop(kernel: FuncOp) -> scf.ParallelOp:
    """The parallel loop of a kernel. Raises PassReport for a kernel with another number of them."""
    loops = [op for op in kernel.body.block.ops if isinstance(op, scf.ParallelOp)]
    if len(loops) != 1 or len(loops[0].lowerBound) != 1:
        raise refused(
            kernel,
            f"'{kernel.sym_name.data}' has {len(loops)} parallel loops, not one of one dimension",
            "run split-parallel-loops",
        )
    return loops[0]


def _most_steps(kernel: FuncOp, sizes: Mapping[SSAValue, Sequence[int]], numbers: dict[SSAValue, int]) -> int:
    """An upper bound of the iterations of all sequential loops that an invocation runs through."""
    loop = parallel_loop(kernel)
    start, end = (_known(bounds[0], sizes, numbers) for bounds in (loop.lowerBound, loop.upperBound))
    spans = _Spans(sizes, numbers, {loop.body.block.args[0]: (start, max(start, end - 1))})
    return _steps(loop.body.block, spans)


def _steps(block: Block, spans: _Spans) -> int:
    total = 0
    for op in block.ops:
        if isinstance(op, scf.ForOp):
            (first, _), (_, end), (step, _) = (spans.of(value) for value in (op.lb, op.ub, op.step))
            count = max(0, -(-spans.most_between(op.lb, op.ub) // max(step, 1)))
            spans.known[op.body.block.args[0]] = (first, max(first, end - 1))
            total += count * (1 + _steps(op.body.block, spans))
        else:
            total += sum(_steps(inner, spans) for region in op.regions for inner in region.blocks)
    return min(total, MOST_STEPS)


@dataclass(frozen=True)
class _Spans:
    """The least and the greatest number that indices may be, in a call."""

    sizes: Mapping[SSAValue, Sequence[int]]
    numbers: dict[SSAValue, int]
    known: dict[SSAValue, tuple[int, int]]

    def of(self, value: SSAValue) -> tuple[int, int]:
        """The span of an index."""
        found = self.known.get(value)
        if found is None:
            found = self.known[value] = self._computed(value)
        return found

    def most_between(self, start: SSAValue, end: SSAValue) -> int:
        """The greatest difference of two indices, of which the second may be computed of the first."""
        found = self.of(end)[1] - self.of(start)[0]
        owner = end.owner
        if end is start:
            return 0
        if isinstance(start.owner, arith.AddiOp):
            for one, other in ((start.owner.lhs, start.owner.rhs), (start.owner.rhs, start.owner.lhs)):
                found = min(found, self.most_between(one, end) - self.of(other)[0])
        if isinstance(owner, arith.MinSIOp):
            found = min(found, *(self.most_between(start, operand) for operand in owner.operands))
        if isinstance(owner, arith.AddiOp):
            for one, other in ((owner.lhs, owner.rhs), (owner.rhs, owner.lhs)):
                found = min(found, self.most_between(start, one) + self.of(other)[1])
        return found

    def _computed(self, value: SSAValue) -> tuple[int, int]:
        owner = value.owner
        if value in self.numbers:
            return self.numbers[value], self.numbers[value]
        if isinstance(owner, arith.ConstantOp | memref.DimOp) and isinstance(value.type, IndexType):
            number = _known(value, self.sizes, self.numbers)
            return number, number
        if isinstance(owner, arith.SelectOp):
            spans = self.of(owner.lhs), self.of(owner.rhs)
            return min(low for low, _ in spans), max(high for _, high in spans)
        if isinstance(owner, scf.ForOp):
            return self._carried(owner, owner.results.index(value))
        apply = _ARITHMETIC.get(type(owner)) if isinstance(owner, Operation) else None
        if apply is None or not isinstance(owner, Operation):
            return -MOST_STEPS, MOST_STEPS
        (a, b), (c, d) = (self.of(operand) for operand in owner.operands)
        if isinstance(owner, arith.RemUIOp):
            return 0, max(0, d - 1)
        if isinstance(owner, arith.DivUIOp):
            a, b, c, d = max(a, 0), max(b, 0), max(c, 1), max(d, 1)
        ends = [apply(x, y) for x in (a, b) for y in (c, d)]
        if isinstance(owner, arith.SubiOp):
            return min(ends), max(min(ends), self.most_between(owner.rhs, owner.lhs))
        return min(ends), max(ends)

    def _carried(self, loop: scf.ForOp, index: int) -> tuple[int, int]:
        """The span of a result of a loop: one that holds the initial value and, by induction, each later one."""
        argument = loop.body.block.args[1 + index]
        yielded = cast("scf.YieldOp", loop.body.block.last_op).operands[index]
        guess = self.of(loop.iter_args[index])
        for _ in range(2):
            # Spans that rest on the guess are known to `body` alone.
            body = _Spans(self.sizes, self.numbers, {**self.known, argument: guess})
            low, high = body.of(yielded)
            if guess[0] <= low and high <= guess[1]:
                return guess
            guess = min(guess[0], low), max(guess[1], high)
        return -MOST_STEPS, MOST_STEPS


_ARITHMETIC: Final[dict[type[Operation], Callable[[int, int], int]]] = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
    arith.DivUIOp: lambda a, b: a // b,
    arith.RemUIOp: lambda a, b: a % b,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
}
"""Index arithmetic on numbers that are not negative."""


def _known(value: SSAValue, sizes: Mapping[SSAValue, Sequence[int]], numbers: dict[SSAValue, int]) -> int:
    """The number that an index is, given the sizes of buffers and other indices."""
    if value in numbers:
        return numbers[value]
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    if isinstance(owner, memref.DimOp) and owner.source in sizes:
        return sizes[owner.source][_known(owner.index, sizes, numbers)]
    if isinstance(owner, memref.DimOp):
        return _sizes_of(owner.source)[_known(owner.index, sizes, numbers)]
    if isinstance(owner, Operation) and type(owner) in _ARITHMETIC:
        a, b = (_known(operand, sizes, numbers) for operand in owner.operands)
        numbers[value] = _ARITHMETIC[type(owner)](a, b)
        return numbers[value]
    place = owner if isinstance(owner, Operation) else cast("Operation", owner.parent_op())
    raise refused(place, "an index is not known when the program is compiled", "use fixed sizes")
