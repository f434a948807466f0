"""Control flow of which more is known than its op says.

```mlir
%t = program.literal true
%r = control.cond %t : i1 -> (tensor<4xf32>) {       // before
  %a = aten.relu %x : tensor<4xf32>
  control.yield %a : tensor<4xf32>
} else {
  control.yield %x : tensor<4xf32>
}

%r = aten.relu %x : tensor<4xf32>                     // after
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from et_ir.dialects.control import CondOp, MapOp, ScanOp, WhileOp, YieldOp
from et_ir.dialects.program import Globals, LiteralOp
from et_ir.dialects.schema.literals import literal_of
from et_ir.dialects.schema.tensors import may_be_same_type
from et_ir.rewriting import op_type_rewrite_pattern

__all__ = ["patterns"]


class KnownPredicate(RewritePattern):
    """A condition that is known: the branch that is taken stands for it."""

    def __init__(self, symbols: Globals):
        self.symbols = symbols

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CondOp, rewriter: PatternRewriter) -> None:
        known = self._value(op.predicate)
        if known is None:
            return
        region = op.then_region if known else op.else_region
        end = _end(region)
        values = list(end.values)
        if [value.type for value in values] != [output.type for output in op.outputs]:
            return  # what follows may rely on what the results' types say
        rewriter.erase(end)
        rewriter.inline_block(region.block, InsertPoint.before(op))
        rewriter.replace(op, (), values)

    def _value(self, predicate: SSAValue) -> bool | None:
        if isinstance(predicate.owner, LiteralOp):
            return bool(literal_of(predicate.owner.value))
        symbol = self.symbols.constant_of(predicate)
        if symbol is None or symbol.value is None or not symbol.value.blob.is_resolved:
            return None
        return bool(symbol.value.blob.view()[0])


class BranchesAlike(RewritePattern):
    """A result that is the same value in both branches is that value; one that nobody uses is no result."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CondOp, rewriter: PatternRewriter) -> None:
        branches = [list(_end(region).values) for region in (op.then_region, op.else_region)]
        same: dict[int, SSAValue] = {
            index: a
            for index, (a, b) in enumerate(zip(*branches, strict=True))
            if a is b and may_be_same_type(a.type, op.outputs[index].type)
        }
        kept = [
            index
            for index, output in enumerate(op.outputs)
            if index not in same and output.first_use is not None
        ]
        if len(kept) == len(op.outputs):
            return
        for region in (op.then_region, op.else_region):
            _keep(region, kept, rewriter)
        regions = [op.detach_region(region) for region in list(op.regions)]
        made = CondOp(op.predicate, [op.outputs[index].type for index in kept], *regions)
        results = _results(made.outputs, kept, len(op.outputs), same)
        rewriter.replace(op, made, results)


class UnchangedState(RewritePattern):
    """Replacement of loop-invariant iteration arguments by their initial values."""

    roots = (WhileOp, ScanOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, WhileOp | ScanOp)
        inits = list(op.inits)
        yielded = _end(op.body).values
        blocks = [region.block for region in op.regions]
        same = {
            index: init
            for index, init in enumerate(inits)
            if yielded[index] is op.body.block.args[index]
            and may_be_same_type(init.type, yielded[index].type)
        }
        if not same:
            return
        kept = [index for index in range(len(inits)) if index not in same]
        items = range(len(inits), len(yielded))
        for block in blocks:
            for index in reversed(list(same)):
                argument = block.args[index]
                argument.replace_all_uses_with(same[index])
                block.erase_arg(argument)
        _keep(op.body, [*kept, *items], rewriter)
        regions = [op.detach_region(region) for region in list(op.regions)]
        if isinstance(op, WhileOp):
            made: WhileOp | ScanOp = WhileOp([inits[index] for index in kept], *regions)
            results = _results(made.outputs, kept, len(inits), same)
        else:
            stacks = [output.type for output in op.stacked]
            made = ScanOp([inits[index] for index in kept], list(op.sequences), stacks, *regions)
            results = [*_results(made.carried, kept, len(inits), same), *made.stacked]
        rewriter.replace(op, made, results)


class UnusedStack(RewritePattern):
    """Items that nobody uses are not stacked."""

    roots = (MapOp, ScanOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, MapOp | ScanOp)
        stacked = list(op.outputs if isinstance(op, MapOp) else op.stacked)
        used = [index for index, stack in enumerate(stacked) if stack.first_use is not None]
        if len(used) == len(stacked):
            return
        before = len(op.inits) if isinstance(op, ScanOp) else 0
        _keep(op.body, [*range(before), *(before + index for index in used)], rewriter)
        types = [stacked[index].type for index in used]
        body = op.detach_region(op.body)
        if isinstance(op, MapOp):
            mapped = MapOp(list(op.sequences), types, body)
            rewriter.replace(op, mapped, _results(mapped.outputs, used, len(stacked), {}))
        else:
            scanned = ScanOp(list(op.inits), list(op.sequences), types, body)
            rest = _results(scanned.stacked, used, len(stacked), {})
            rewriter.replace(op, scanned, [*scanned.carried, *rest])


def _end(region: Region) -> YieldOp:
    return cast(YieldOp, region.block.last_op)


def _keep(region: Region, indices: Sequence[int], rewriter: PatternRewriter) -> None:
    """Yield some of what a region yields."""
    end = _end(region)
    rewriter.replace(end, YieldOp([end.values[index] for index in indices]))


def _results(
    made: Sequence[SSAValue], kept: Sequence[int], count: int, others: dict[int, SSAValue]
) -> list[SSAValue | None]:
    """The replacement of each of `count` results: a new result, another value, or nothing."""
    found: list[SSAValue | None] = [others.get(index) for index in range(count)]
    for index, value in zip(kept, made, strict=True):
        found[index] = value
    return found


def patterns(symbols: Globals) -> list[RewritePattern]:
    """All patterns of this module; what is constant is looked up among the symbols."""
    return [KnownPredicate(symbols), BranchesAlike(), UnchangedState(), UnusedStack()]
