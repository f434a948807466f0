"""Evaluate at compile time what depends on constants only.

```mlir
%w = program.get @"fc.weight" : tensor<128x64xf32>
%wt = aten.permute %w {dims = [1, 0]} : (tensor<128x64xf32>) -> tensor<64x128xf32>        // before

%wt = program.get @"fc.weight_permute" : tensor<64x128xf32>                               // after
```

A chain of ops is folded as one: only values that other ops use become constants. The file must not grow by
it, so a result becomes a constant if it has at most `limit` bytes, or no more bytes than the constants it is
computed from and that nothing else needs any more; otherwise its op stays, and its operands are considered in
its place. Constants are computed when their bytes are needed and not kept, so folding the weights of a model
takes no memory. Equal ops share a constant, also across methods.

Movement of data, conversion and plain arithmetic are evaluated in numpy, the rest by torch if it is installed
(`et_ir/evaluation`). Random ops, uninitialised tensors, constants whose bytes are not loaded, and ops that
torch fails on are left as they are.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import Pure

from et_ir.data.blob import KEEP
from et_ir.dialects.aten.inference.meta import read_args
from et_ir.dialects.aten.inference.pointwise import promoted
from et_ir.dialects.edge.promotion import PROMOTIONS, computation_dtype
from et_ir.dialects.program import GetOp, Globals, LiteralOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import literal_of
from et_ir.dialects.schema.tensors import is_static, is_tensor
from et_ir.evaluation import torch_kernels
from et_ir.evaluation.arrays import has_numpy_dtype
from et_ir.evaluation.call import Call, Kernel
from et_ir.evaluation.expression import Expression, Leaf, Operand, Part
from et_ir.evaluation.numpy_kernels import KERNELS, sequence_kernel
from et_ir.passes.counterparts import operator_name

__all__ = ["ConstantFoldPass"]

_UNINITIALISED: Final = ("empty", "new_empty", "dim_order_ops._empty")
_MANY_LEAVES: Final = 64
# What kernels raise for operands they do not take; such an op fails at run time just so, and is left to it.
_REFUSALS: Final = (TypeError, ValueError, IndexError, RuntimeError, NotImplementedError, AssertionError)


@dataclass(eq=False)
class _Candidate:
    """An op whose operands are constants, and what it computes."""

    op: SchemaOp
    expression: Expression
    leaves: frozenset[str] | None
    """The constants it is computed from; `None` for more than are worth counting."""


class _Folder:
    def __init__(self, module: ModuleOp, limit: int, torch: bool):
        self.module = module
        self.limit = limit
        self.torch = torch and torch_kernels.is_available()
        self.globals = Globals(module)
        self.values: dict[SSAValue, Leaf | Part | int | float] = {}
        self.leaves: dict[str, Leaf] = {}
        self.gets: list[GetOp] = []
        self.candidates: dict[Operation, _Candidate] = {}
        self.interned: dict[Hashable, Expression] = {}
        self.symbols: dict[tuple[int, int], str] = {}
        self.known_leaves: dict[int, frozenset[str] | None] = {}
        self.credit: dict[str, int] = {}

    def run(self) -> None:
        for method in self.module.body.block.ops:
            if isinstance(method, FuncOp):
                for op in method.walk():
                    self._visit(op)
        self._give_credit()
        for candidate in reversed(self.candidates.values()):
            self._decide(candidate)
        for get in self.gets:
            if get.result.first_use is None:
                Rewriter.erase_op(get)

    # -- which ops are constant
    # --------------------------------------------------------------------------------------

    def _visit(self, op: Operation) -> None:
        if isinstance(op, GetOp):
            found = self.globals.constant_of(op.result)
            if found is not None and found.value is not None and found.value.blob.is_resolved:
                name = found.key
                if name not in self.leaves:
                    self.leaves[name] = Leaf(name, found.type, found.value.blob)
                self.values[op.result] = self.leaves[name]
                self.gets.append(op)
        elif isinstance(op, LiteralOp):
            number = literal_of(op.value)
            if isinstance(number, int | float):
                self.values[op.result] = number
        elif isinstance(op, SchemaOp):
            values = self.values
            if all(operand in values for operand in op.operands):
                self._add(op)

    def _add(self, op: SchemaOp) -> None:
        name = operator_name(type(op))
        if op.symbols or not op.results or not op.get_traits_of_type(Pure) or name.startswith(_UNINITIALISED):
            return
        cls = op.__class__
        types: list[TensorType[Attribute]] = []
        for result in op.results:
            if (
                not is_tensor(result.type)
                or not is_static(result.type)
                or not has_numpy_dtype(result.type.element_type)
            ):
                return
            types.append(result.type)
        literals = {arg.name: op.arg(arg.name) for arg in op.info().literals}
        kernel = self._kernel(name, literals)
        if kernel is None and not (self.torch and _is_torch_operator(op)):
            return
        tensors: dict[str, Operand] = {}
        for arg, value in zip(op.info().tensors, op.tensor_operands(), strict=True):
            if isinstance(value, tuple):
                tensors[arg.name] = tuple(
                    None if item is None else cast("Leaf | Part", self.values[item]) for item in value
                )
            else:
                tensors[arg.name] = None if value is None else self.values[value]
        expression = self._intern(op, Expression(Call(cls, literals, types, _computed(op)), tensors, kernel))
        self.candidates[op] = _Candidate(op, expression, self._leaves_of(expression))
        for index, result in enumerate(op.results):
            self.values[result] = Part(expression, index)

    @staticmethod
    def _kernel(name: str, literals: dict[str, Any]) -> Kernel | None:
        if name in ("arange", "arange.start", "arange.start_step"):
            return sequence_kernel([literals.get(n) for n in ("start", "end", "step")])
        return KERNELS.get(name)

    def _intern(self, op: SchemaOp, made: Expression) -> Expression:
        def key(operand: Operand) -> Hashable:
            if isinstance(operand, Leaf):
                return operand.symbol
            if isinstance(operand, Part):
                return id(operand.expression), operand.index
            if isinstance(operand, tuple):
                return tuple(key(cast("Operand", item)) for item in cast("Sequence[Any]", operand))
            return type(operand), operand

        literals = tuple(sorted(op.properties.items(), key=lambda item: item[0]))
        operands = tuple((name, key(value)) for name, value in made.tensors.items())
        return self.interned.setdefault((type(op), literals, operands, tuple(made.call.types)), made)

    def _leaves_of(self, expression: Expression) -> frozenset[str] | None:
        found: set[str] = set()
        for operand in expression.operands():
            if isinstance(operand, Leaf):
                found.add(operand.symbol)
                continue
            inner = self.known_leaves.get(id(operand.expression))
            if inner is None:
                return None
            found |= inner
        result = frozenset(found) if len(found) <= _MANY_LEAVES else None
        self.known_leaves[id(expression)] = result
        return result

    # -- which become constants
    # --------------------------------------------------------------------------------------

    def _give_credit(self) -> None:
        """A constant that only foldable ops use makes room for what replaces it."""
        kept = {
            get.symbol.string_value()
            for get in self.gets
            if any(use.operation not in self.candidates for use in get.result.uses)
        }
        self.credit = {name: 0 if name in kept else leaf.blob.nbytes for name, leaf in self.leaves.items()}

    def _decide(self, candidate: _Candidate) -> None:
        """Replace an op by constants, or keep it. All of its users have been decided on before."""
        op, expression = candidate.op, candidate.expression
        used = [index for index, result in enumerate(op.results) if result.first_use is not None]
        if not used:
            Rewriter.erase_op(op)
            return
        symbols = self._symbols_for(candidate, used)
        if symbols is None:
            for operand in expression.operands():
                if isinstance(operand, Leaf):
                    self.credit[operand.symbol] = 0
            return
        for index, symbol in symbols.items():
            get = GetOp(symbol, op.results[index].type)
            get.location = op.location
            Rewriter.insert_op(get, InsertPoint.before(op))
            get.result.name_hint = op.results[index].name_hint
            op.results[index].replace_all_uses_with(get.result)
        Rewriter.erase_op(op)

    def _symbols_for(self, candidate: _Candidate, used: Sequence[int]) -> dict[int, str] | None:
        """The constants for an op's results, made if need be; `None` if they would take too much room."""
        expression = candidate.expression
        found = {i: s for i in used if (s := self.symbols.get((id(expression), i))) is not None}
        missing = [index for index in used if index not in found]
        hint = _hint(candidate)
        blobs = {index: expression.blob(index, hint) for index in missing}
        large = sum(blob.nbytes for blob in blobs.values() if blob.nbytes > self.limit)
        if large > self._room(candidate):
            expression.blobs.clear()
            return None
        try:
            for blob in blobs.values():
                if blob.nbytes <= KEEP:
                    blob.view()
        except _REFUSALS:
            expression.blobs.clear()
            return None
        self._spend(candidate, large)
        for index, blob in blobs.items():
            symbol = self.globals.add_constant(hint, expression.call.types[index], blob)
            symbol.location = candidate.op.location
            found[index] = self.symbols[id(expression), index] = symbol.key
        return found

    def _room(self, candidate: _Candidate) -> int:
        return sum(self.credit[name] for name in candidate.leaves or ())

    def _spend(self, candidate: _Candidate, nbytes: int) -> None:
        for name in candidate.leaves or ():
            spent = min(nbytes, self.credit[name])
            self.credit[name] -= spent
            nbytes -= spent


def _is_torch_operator(op: SchemaOp) -> bool:
    return op.name.partition(".")[2] == op.schema().qualified_name


def _computed(op: SchemaOp) -> Attribute | None:
    """The element type that an op converts its operands to, for operators that do."""
    promotion = PROMOTIONS.get(op.name.partition(".")[2])
    if promotion is not None:
        dtype = computation_dtype(op, promotion)
        return None if dtype is None else dtype.attr
    arguments = op.info().schema.by_name
    if "self" not in arguments or "other" not in arguments:
        return None
    given = dict(zip(arguments, read_args(op), strict=True))
    return promoted(given["self"], given["other"]).attr


def _hint(candidate: _Candidate) -> str:
    """A readable name for a result: of the constant it comes from, if it is one, and of the operator."""
    name = operator_name(type(candidate.op)).partition(".")[0].strip("_")
    leaves = candidate.leaves
    return f"{next(iter(leaves))}_{name}" if leaves is not None and len(leaves) == 1 else name


@dataclass(frozen=True)
class ConstantFoldPass(ModulePass):
    """Evaluate what depends on constants only."""

    name = "constant-fold"

    limit: int = KEEP
    """Bytes up to which a result becomes a constant even if that makes the program larger."""
    torch: bool = True
    """Whether torch evaluates what numpy cannot."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _Folder(op, self.limit, self.torch).run()
