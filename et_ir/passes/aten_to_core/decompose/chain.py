"""Builder of operator decompositions.

A decomposition is a function from an op to the values that take the place of its results. It builds ops with
a `Chain`, which puts them before the op, at its source location, and decomposes those that are not core
themselves:

    @decomposes(Reason.COMMON, aten.SiluOp)
    def silu(b: Chain, op: aten.SiluOp) -> SSAValue:
        return b(aten.MulTensorOp, op.self, b(aten.SigmoidOp, op.self))

It returns `None`, before it has built anything, for an op that it leaves as it is. What no pattern takes is left to
torch's own decomposition, so each pattern gives the reason why it exists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from math import prod
from typing import Any, Final, TypeVar

from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from et_ir.diagnostics import PassReport, diagnose
from et_ir.dialects.aten import AtenOp
from et_ir.dialects.aten import ops as aten
from et_ir.dialects.control import ScanBody, build_scan
from et_ir.dialects.program import FUNCTIONS, ComputeOp, LiteralOp
from et_ir.dialects.schema import compatible
from et_ir.dialects.schema.inference import meta_of
from et_ir.dialects.schema.tensors import may_be_same_type
from et_ops.dtypes import BF16, F16, F32, DType
from et_ops.inference.meta import Meta

__all__ = [
    "DECOMPOSITIONS",
    "REASONS",
    "UNROLL",
    "Chain",
    "Decomposition",
    "Number",
    "Reason",
    "Size",
    "decomposes",
    "is_static",
    "meta",
    "numel",
]

Number = bool | int | float
Size = int | SSAValue
"""A size: a number, or the value that has it at run time."""

UNROLL: Final = 8
"""Steps up to which recurrent layers are unrolled unless an option says otherwise."""

Values = SSAValue | Sequence[SSAValue] | None
Decomposition = Callable[["Chain", Any], Values]

DECOMPOSITIONS: Final[dict[type[AtenOp], Decomposition]] = {}
"""Decompositions by op class."""


class Reason(Enum):
    """Why an operator has a pattern, though torch has decompositions of its own."""

    NONE = "torch has no decomposition, or none for some arguments"
    KERNEL = "torch's is an operator that runtimes have no kernel for, or none for some element types"
    SIZES = "torch's needs sizes that are known only at run time"
    EXACT = "torch's differs from its own kernels for some arguments"
    FEWER = "fewer operators than torch's"
    CHEAPER = "operators whose kernels are faster than those of torch's"
    COMMON = "as torch's, but in most networks: a trace takes milliseconds, and needs torch"


REASONS: Final[dict[type[AtenOp], Reason]] = {}
"""The reason for the decomposition of each op class."""

_F = TypeVar("_F", bound=Decomposition)


def decomposes(reason: Reason, *classes: type[AtenOp]) -> Callable[[_F], _F]:
    """Register a function as the decomposition of op classes, with the reason why they are not left to torch."""

    def register(function: _F) -> _F:
        for cls in classes:
            if cls in DECOMPOSITIONS:
                raise AssertionError(f"{cls.name} has two decompositions")
            DECOMPOSITIONS[cls] = function
            REASONS[cls] = reason
        return function

    return register


def meta(value: SSAValue) -> Meta:
    """Shape and element type of a value."""
    return meta_of(value.type)


def is_static(*values: SSAValue) -> bool:
    """Whether all sizes of the values are known."""
    return all(size >= 0 for value in values for size in meta(value).shape)


def numel(value: SSAValue) -> int:
    """The number of elements of a value whose sizes are known."""
    return prod(meta(value).shape)


class Chain:
    """Builds what takes the place of one op."""

    def __init__(
        self,
        op: AtenOp,
        rewriter: PatternRewriter,
        table: Mapping[type[AtenOp], Decomposition],
        unroll: int = UNROLL,
    ):
        self.op = op
        self.rewriter = rewriter
        self.table = table
        self.unroll = unroll
        """The steps up to which what repeats is left to be unrolled."""
        self.built: set[Operation] = set()

    def __call__(self, cls: type[AtenOp], /, *args: Any, **kwargs: Any) -> SSAValue:
        """The first result of a new op, or of what it decomposes to. Arguments are those of
        `SchemaOp.make`.
        """
        return self.results(cls, *args, **kwargs)[0]

    def results(self, cls: type[AtenOp], /, *args: Any, **kwargs: Any) -> Sequence[SSAValue]:
        """All results of a new op, or of what it decomposes to."""
        op = cls.make(*args, location=self.op.location, **kwargs)
        decomposition = self.table.get(cls)
        if decomposition is not None:
            found = decomposition(self, op)
            if found is not None:
                op.drop_all_references()
                return (found,) if isinstance(found, SSAValue) else found
        self._insert(op)
        return op.results

    def number(self, value: Number) -> SSAValue:
        """A Python number, to stand in a tensor slot, where it promotes as such."""
        return self._insert(LiteralOp(value)).results[0]

    def value(self, size: Size) -> SSAValue:
        """A size, to stand in a tensor slot."""
        return self.number(size) if isinstance(size, int) else size

    def compute(self, function: str, *sizes: Size) -> Size:
        """A size computed from others by a function of `program.compute`."""
        if all(isinstance(size, int) for size in sizes):
            return int(FUNCTIONS[function].apply(*sizes))
        return self._insert(ComputeOp(function, [self.value(size) for size in sizes])).results[0]

    def item(self, tensor: SSAValue) -> SSAValue:
        """The element of a tensor without dimensions, or the first of a vector, as a number."""
        return self(aten.ItemOp, self(aten.SelectIntOp, tensor, 0, 0) if meta(tensor).rank else tensor)

    def scalar(self, value: Number, dtype: DType) -> SSAValue:
        """A tensor without dimensions."""
        return self.full((), value, dtype)

    def full(self, size: Sequence[Size], value: Number, dtype: DType) -> SSAValue:
        """A tensor of equal elements."""
        return self(aten.FullOp, size, value, dtype=dtype)

    def size(self, value: SSAValue, dim: int) -> Size:
        """One size of a tensor."""
        known = meta(value).shape[dim]
        return known if known >= 0 else self(aten.SymSizeIntOp, value, dim % meta(value).rank)

    def sizes(self, value: SSAValue) -> list[Size]:
        """The sizes of a tensor."""
        return [self.size(value, dim) for dim in range(meta(value).rank)]

    def view(self, value: SSAValue, size: Sequence[Size]) -> SSAValue:
        """The value in another shape; itself if it has that shape."""
        if tuple(size) == meta(value).shape and is_static(value):
            return value
        return self(aten.ViewOp, value, size)

    def flat(self, value: SSAValue) -> SSAValue:
        """The elements as a vector; the value itself if it is one."""
        return self.view(value, (numel(value) if is_static(value) else -1,))

    def expand(self, value: SSAValue, size: Sequence[Size]) -> SSAValue:
        """The value, broadcast to sizes of which -1 stands for one to keep; itself if it has that shape."""
        shape = meta(value).shape
        lead = len(size) - len(shape)
        kept = [i >= lead and (s == -1 or s == shape[i - lead]) for i, s in enumerate(size)]
        return value if all(kept) else self(aten.ExpandOp, value, size)

    def permute(self, value: SSAValue, order: Sequence[int]) -> SSAValue:
        """The value with its dimensions reordered; itself if they keep their places."""
        return value if list(order) == list(range(len(order))) else self(aten.PermuteOp, value, order)

    def to(self, value: SSAValue, dtype: DType) -> SSAValue:
        """The value in another element type; itself if it has that type."""
        return value if meta(value).dtype is dtype else self(aten.UnderscoreToCopyOp, value, dtype=dtype)

    def wide(self, value: SSAValue) -> SSAValue:
        """Narrow floats as f32, which torch computes operators of several steps in."""
        return self.to(value, F32) if meta(value).dtype in (F16, BF16) else value

    def scan(
        self,
        states: Sequence[SSAValue],
        sequences: Sequence[SSAValue],
        stacks: Sequence[Attribute],
        body: ScanBody,
    ) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        """The last states, and stacks of the given types, of a loop over the slices of sequences."""
        made = build_scan(self.rewriter, states, sequences, stacks, body)
        last = made.body.block.last_op
        assert last is not None
        for op in (last, made):
            op.location = self.op.location
            self.built.add(op)
        return made.carried, made.stacked

    def _insert(self, op: Operation) -> Operation:
        op.location = self.op.location
        self.built.add(op)
        return self.rewriter.insert(op)

    def fitted(self, value: SSAValue, type: Attribute) -> SSAValue:
        """The value with the type that a result had before.

        Raises `PassReport` if it cannot have that type: the decomposition and the program disagree.
        """
        if may_be_same_type(value.type, type):
            return value
        if not compatible(value.type, type):
            message = f"its result is of {type}, but what it decomposes into gives {value.type}"
            fix = "correct the result type, or the types of the operands"
            raise PassReport("a pattern failed", [diagnose(self.op, message, fix)])
        if isinstance(value, OpResult) and value.op in self.built:
            return self.rewriter.replace_value_with_new_type(value, type)
        alias = aten.AliasOp.make(value, result_types=[type], location=self.op.location)
        return self._insert(alias).results[0]
