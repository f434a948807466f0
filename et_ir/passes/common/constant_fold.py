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

Weights that are kept as integers stay so: an op of `quantized_decomposed` that restores them is not folded, however
small they are, unless `dequantize` says so, and then it is, however large. What quantizes constants is folded as any
other op.

Movement of data, conversion and plain arithmetic are evaluated in numpy, the rest by torch if it is installed
(`et_ir/evaluation`), but for operators whose kernels trust their operands (`et_ops/unchecked.txt`). Random ops,
uninitialized tensors, constants whose bytes are not loaded, and ops that torch fails on are left as they are, and so is
what would take memory or time out of proportion to the constants of the program: see `Budget`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ComplexType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import Pure

from et_ir.data.blob import KEEP, Blob
from et_ir.dialects.edge.promotion import operand_type
from et_ir.dialects.program import GetOp, Globals, LiteralOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import literal_of
from et_ir.dialects.schema.tensors import is_static, is_tensor
from et_ir.evaluation import torch_kernels
from et_ir.evaluation.arrays import has_numpy_dtype, numpy_dtype
from et_ir.evaluation.call import ConstantCall
from et_ir.evaluation.cost import Cost, cost_of, cost_of_all
from et_ir.evaluation.expression import ConstantExpression, ExpressionResult, Leaf, Operand
from et_ir.evaluation.numpy_kernels import HALVES, kernel_for
from et_ops.torch_operators import may_compute

__all__ = ["ConstantFoldPass", "fold_ops"]

_MANY_LEAVES: Final = 64
DECISIONS: Final = 10
"""Limit of the work for decisions on folding, in results of the largest budget."""
# What kernels raise for operands they do not take; such an op fails at run time just so, and is left to it.
_REFUSALS: Final = (TypeError, ValueError, IndexError, RuntimeError, NotImplementedError, AssertionError)


@dataclass(frozen=True)
class Budget:
    """Limits on what one result may take to compute, with all that it is computed from, for a program with `nbytes`
    bytes of constants: a small program may compute small constants only, however large its tensors are in between.
    """

    nbytes: int

    @property
    def most(self) -> Cost:
        """Bytes of operands and results, visits of elements and multiply-adds: 64 MiB and some seconds, and more in
        proportion to the constants.
        """
        return Cost(64 * 2**20 + 16 * self.nbytes, 10**9 + 1000 * self.nbytes)

    def covers(self, cost: Cost) -> bool:
        """Whether a computation stays below the limits."""
        return cost.memory <= self.most.memory and cost.work <= self.most.work


@dataclass(eq=False)
class _Candidate:
    """An op whose operands are constants, and what it computes."""

    op: SchemaOp
    expression: ConstantExpression
    leaves: frozenset[str] | None
    """The constants it is computed from; `None` for more than are worth counting."""


class _Folder:
    def __init__(self, module: ModuleOp, limit: int, torch: bool, dequantize: bool):
        self.module = module
        self.limit = limit
        self.dequantize = dequantize
        self.torch = torch and torch_kernels.is_available()
        self.globals = Globals(module)
        self.values: dict[SSAValue, Leaf | ExpressionResult | int | float] = {}
        self.leaves: dict[str, Leaf] = {}
        self.gets: list[GetOp] = []
        self.candidates: dict[Operation, _Candidate] = {}
        self.interned: dict[Hashable, ConstantExpression] = {}
        self.symbols: dict[tuple[int, int], str] = {}
        self.known_leaves: dict[int, frozenset[str] | None] = {}
        self.refused: set[Operation] = set()
        """Ops that are not folded: their results would make the file larger."""
        self.unfoldable: set[int] = set()
        stored = [op.value.blob for op in self.globals.by_name.values() if op.value is not None]
        self.budget = Budget(sum(blob.nbytes for blob in stored if blob.is_resolved))
        self.costs: dict[int, Cost] = {}
        """What each expression takes to compute, with all before it: at least that, if some is shared."""
        self.left = DECISIONS * self.budget.most.work
        """Work that deciding may still take: small results are computed for it."""
        self.tried: set[tuple[int, int]] = set()
        """The results that have been computed for it."""

    def run(self, ops: Iterable[Operation] | None = None) -> None:
        for op in self._of_methods() if ops is None else ops:
            self._visit(op)
        folded = self._plan()
        for op, candidate in reversed(self.candidates.items()):
            if op in folded:
                self._replace(candidate, folded[op])
        for get in self.gets:
            if get.result.first_use is None:
                Rewriter.erase_op(get)

    def _of_methods(self) -> Iterator[Operation]:
        for method in self.module.body.block.ops:
            if isinstance(method, FuncOp):
                yield from method.walk()

    # -- which ops are constant

    def _visit(self, op: Operation) -> None:
        if type(op) is GetOp:
            found = self.globals.constant_of(op.result)
            if found is not None and found.value is not None and found.value.blob.is_resolved:
                name = found.key
                if name not in self.leaves:
                    self.leaves[name] = Leaf(name, found.type, found.value.blob)
                self.values[op.result] = self.leaves[name]
                self.gets.append(op)
        elif type(op) is LiteralOp:
            number = literal_of(op.value)
            if isinstance(number, int | float):
                self.values[op.result] = number
        elif isinstance(op, SchemaOp):
            values = self.values
            if all(operand in values for operand in op.operands):
                self._add(op)

    def _add(self, op: SchemaOp) -> None:
        is_foldable = op.results and op.get_traits_of_type(Pure) and not op.operator.facts.unspecified
        if op.symbols or not is_foldable:
            return
        cls = op.__class__
        if _restores(op) and not self.dequantize:
            return
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
        promotion = op.operator.facts.promotion
        mixes = promotion is not None and not promotion.to_first
        # Torch's arithmetic reads tensors without dimensions as numbers.
        numbers = any(
            not is_tensor(operand.type) or (mixes and not operand.type.get_num_dims())
            for operand in op.operands
        )
        computed = operand_type(op)
        if computed is not None and not has_numpy_dtype(computed):
            return
        is_complex = any(
            isinstance(value.type.element_type, ComplexType)
            for value in (*op.operands, *op.results)
            if is_tensor(value.type)
        )
        dtype = numpy_dtype(types[0].element_type)
        is_half = dtype in HALVES or (computed is not None and numpy_dtype(computed) in HALVES)
        kernel = kernel_for(
            op.operator.view_form, literals, is_half=is_half, is_complex=is_complex, has_numbers=numbers
        )
        if kernel is None and not (self.torch and _is_torch_operator(op) and may_compute(op.operator)):
            return
        tensors: dict[str, Operand] = {}
        for arg, value in zip(op.info().tensors, op.tensor_operands(), strict=True):
            if isinstance(value, tuple):
                tensors[arg.name] = tuple(
                    None if item is None else cast("Leaf | ExpressionResult", self.values[item])
                    for item in value
                )
            else:
                tensors[arg.name] = None if value is None else self.values[value]
        expression = self._intern(
            op, ConstantExpression(ConstantCall(cls, literals, types, computed), tensors, kernel)
        )
        if not self._is_affordable(expression):
            return
        self.candidates[op] = _Candidate(op, expression, self._leaves_of(expression))
        for index, result in enumerate(op.results):
            self.values[result] = ExpressionResult(expression, index)

    def _intern(self, op: SchemaOp, made: ConstantExpression) -> ConstantExpression:
        def key(operand: Operand) -> Hashable:
            if isinstance(operand, Leaf):
                return operand.symbol
            if isinstance(operand, ExpressionResult):
                return id(operand.expression), operand.index
            if isinstance(operand, tuple):
                return tuple(key(cast("Operand", item)) for item in cast("Sequence[Any]", operand))
            return type(operand), operand

        literals = tuple(sorted(op.properties.items(), key=lambda item: item[0]))
        operands = tuple((name, key(value)) for name, value in made.tensors.items())
        return self.interned.setdefault((type(op), literals, operands, tuple(made.call.types)), made)

    def _is_affordable(self, expression: ConstantExpression) -> bool:
        """Whether the budget covers an expression with all that it is computed from, which it does for each operand."""
        known = self.costs.get(id(expression))
        if known is None:
            known = cost_of(expression)
            operands = [one for one in expression.operands() if isinstance(one, ExpressionResult)]
            for key in {id(one.expression) for one in operands}:
                known = known.plus(self.costs[key])
            if not self.budget.covers(known):
                # Of what several operands share, that was counted several times.
                known = cost_of_all(expression, most=self.budget.most)
            self.costs[id(expression)] = known
        return self.budget.covers(known)

    def _leaves_of(self, expression: ConstantExpression) -> frozenset[str] | None:
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

    def blobs_of(self, candidate: _Candidate, used: Sequence[int]) -> dict[int, Blob] | None:
        """The results of an op as blobs; `None` if its kernel refuses the operands."""
        expression = candidate.expression
        if id(expression) in self.unfoldable:
            return None
        hint = _hint(candidate)
        blobs = {index: expression.blobs.get(index) or expression.blob(index, hint) for index in used}
        work = self.costs[id(expression)].work
        try:
            for index, blob in blobs.items():
                small = blob.nbytes <= KEEP
                if (id(expression), index) in self.tried or not (small or _may_refuse_values(candidate.op)):
                    continue
                if work > self.left:
                    raise RuntimeError("deciding takes too long")
                self.left -= work
                if small:
                    blob.view()
                else:
                    expression.evaluate(index)
                self.tried.add((id(expression), index))
        except _REFUSALS:
            self.unfoldable.add(id(expression))
            expression.blobs.clear()
            return None
        return blobs

    # -- which become constants --------------------------------------------------------------------------------------

    def _plan(self) -> dict[Operation, dict[int, Blob]]:
        """The results that become constants, by op; an op whose results are all unused has none.

        The bytes of a constant that only folded ops use are free for its replacements. Whether that is so is known in
        the end only: where it is not, the ops that used the bytes are kept, and the others are decided on again.
        """
        while True:
            plan = _Plan(self)
            for candidate in reversed(self.candidates.values()):
                plan.decide(candidate)
            refused = {op for leaf in plan.needed for op in plan.takers.get(leaf, ())}
            if not refused:
                return plan.folded
            self.refused |= refused

    def _replace(self, candidate: _Candidate, blobs: dict[int, Blob]) -> None:
        op, expression = candidate.op, candidate.expression
        for index, blob in blobs.items():
            symbol = self.symbols.get((id(expression), index))
            if symbol is None:
                made = self.globals.add_constant(blob.key, expression.call.types[index], blob)
                made.location = op.location
                symbol = self.symbols[id(expression), index] = made.key
            get = GetOp(symbol, op.results[index].type)
            get.location = op.location
            get.result.name_hint = op.results[index].name_hint
            Rewriter.insert_op(get, InsertPoint.before(op))
            op.results[index].replace_all_uses_with(get.result)
        Rewriter.erase_op(op)


class _Plan:
    """One attempt at deciding which ops are folded, from the last to the first: users before what they use."""

    def __init__(self, folder: _Folder):
        self.folder = folder
        self.folded: dict[Operation, dict[int, Blob]] = {}
        self.budget = {name: leaf.blob.nbytes for name, leaf in folder.leaves.items()}
        """The bytes of each constant that results may still replace."""
        self.needed = {
            get.symbol.string_value()
            for get in folder.gets
            if any(use.operation not in folder.candidates for use in get.result.uses)
        }
        """The constants that ops which stay use as they are."""
        self.takers: dict[str, list[Operation]] = {}
        """The ops that replace bytes of a constant."""
        self.counted: set[tuple[int, int]] = set()
        for name in self.needed:
            self.budget[name] = 0

    def decide(self, candidate: _Candidate) -> None:
        op = candidate.op
        used = [index for index, result in enumerate(op.results) if self._is_needed(result)]
        blobs = self.folder.blobs_of(candidate, used) if op not in self.folder.refused else None
        if blobs is not None and self._take(candidate, blobs):
            self.folded[op] = blobs
            return
        for operand in candidate.expression.operands():
            if isinstance(operand, Leaf):
                self.needed.add(operand.symbol)
                self.budget[operand.symbol] = 0

    def _is_needed(self, result: SSAValue) -> bool:
        return any(use.operation not in self.folded for use in result.uses)

    def _take(self, candidate: _Candidate, blobs: dict[int, Blob]) -> bool:
        """Assign bytes of an op's source constants to its large results."""
        key = id(candidate.expression)
        new = [
            i for i, blob in blobs.items() if blob.nbytes > self.folder.limit and (key, i) not in self.counted
        ]
        # What a program is asked to hold restored may make it grow.
        size = 0 if _restores(candidate.op) else sum(blobs[index].nbytes for index in new)
        leaves = candidate.leaves or ()
        if size > sum(self.budget[name] for name in leaves):
            return False
        for name in leaves:
            taken = min(size, self.budget[name])
            if taken:
                self.budget[name] -= taken
                self.takers.setdefault(name, []).append(candidate.op)
            size -= taken
        self.counted.update((key, index) for index in new)
        return True


def fold_ops(module: ModuleOp, ops: Iterable[Operation], limit: int) -> None:
    """Evaluate some ops of a module at compile time, those that restore quantized numbers among them, and the
    `program.get` that they read, all in the order of the program. Results of more than `limit` bytes stay.
    """
    _Folder(module, limit, torch=True, dequantize=True).run(ops)


def _restores(op: SchemaOp) -> bool:
    """Whether an op makes floats of quantized numbers."""
    name = op.name.partition(".")[2]
    return name.startswith(("quantized_decomposed.dequantize_", "quantized_decomposed.embedding_"))


def _may_refuse_values(op: SchemaOp) -> bool:
    """Whether a kernel may refuse operands for the numbers in them: indices out of range."""
    return (op.operator.family or "").startswith("indexing.")


def _is_torch_operator(op: SchemaOp) -> bool:
    name = op.name.partition(".")[2].removeprefix("quantized_decomposed.")
    return name == op.schema().qualified_name


def _hint(candidate: _Candidate) -> str:
    """A readable name for a result: of the constant it comes from, if it is one, and of the operator."""
    name = candidate.op.operator.view_form.partition(".")[0].strip("_")
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
    dequantize: bool = False
    """Whether quantized constants are restored at compile time: faster programs, in files up to four times as large."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _Folder(op, self.limit, self.torch, self.dequantize).run()
        if self.dequantize:
            # What moves restored weights has constants for operands only now.
            _Folder(op, self.limit, self.torch, dequantize=False).run()
