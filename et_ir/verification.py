"""Verification of a whole module: every op, every block, and SSA dominance, which xDSL does not check.

All problems are collected, where xDSL's own `verify` stops at the first. Cost is linear in the module:
dominance is checked on one walk over the dominator tree with a scope of visible values, not by a query per
use.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator
from xdsl.utils.exceptions import VerifyException

from et_ir.diagnostics import Diagnostic, diagnose
from et_ir.dialects.discardable import discardable_faults
from et_schema.diagnostics import Report
from et_schema.user_code import raised, user_place

__all__ = ["InvalidModule", "check_module", "dominator_tree", "verify_module"]


class InvalidModule(Report, VerifyException):
    """A module does not verify; `diagnostics` lists every violation in program order."""


def verify_module(module: ModuleOp) -> None:
    """Raise `InvalidModule` with every problem of the module, if there is any."""
    InvalidModule.raise_if("the module does not verify", check_module(module))


def check_module(module: ModuleOp) -> Iterator[Diagnostic]:
    """The problems of a module in program order; see `verify_module`."""
    yield from _check_op(module, set())


def _check_op(op: Operation, visible: set[SSAValue]) -> Iterator[Diagnostic]:
    for index, operand in enumerate(op.operands):
        if operand not in visible:
            yield diagnose(
                op, f"[dominance_c1] operand {index} {_describe(operand)} does not dominate this use"
            )
    try:
        op.verify_()
    except VerifyException as error:
        yield diagnose(op, str(error))
    except Exception as error:
        if not user_place(error):
            raise
        yield diagnose(op, f"its verifier raised {raised(error)}")
    if op.attributes:
        for fault in discardable_faults(op):
            yield diagnose(op, fault)
    if op.regions:
        inner: set[SSAValue] = set() if _isolated(op) else visible
        for region in op.regions:
            yield from _check_region(region, op, inner)


def _isolated(op: Operation) -> bool:
    return not isinstance(op, UnregisteredOp) and bool(op.get_traits_of_type(IsolatedFromAbove))


def _describe(value: SSAValue) -> str:
    name = f"%{value.name_hint}" if value.name_hint else "(unnamed)"
    if isinstance(value, BlockArgument):
        return f"{name}, an argument of another block,"
    return f"{name}, a result of '{value.owner.name}'," if isinstance(value.owner, Operation) else name


def _check_region(region: Region, parent: Operation, visible: set[SSAValue]) -> Iterator[Diagnostic]:
    blocks = list(region.blocks)
    if not blocks:
        return
    if len(blocks) == 1:
        yield from _check_block(blocks[0], parent, visible, alone=True, defined=[])
        return
    children = dominator_tree(blocks)
    # A block's values are visible in the blocks it dominates: enter on the way down, leave on the way up.
    stack: list[tuple[Block, list[SSAValue] | None]] = [(blocks[0], None)]
    while stack:
        block, defined = stack.pop()
        if defined is not None:
            visible.difference_update(defined)
            continue
        mine: list[SSAValue] = []
        yield from _check_block(block, parent, visible, alone=False, defined=mine, keep=True)
        stack.append((block, mine))
        stack.extend((child, None) for child in reversed(children.get(block, [])))


def _check_block(
    block: Block,
    parent: Operation,
    visible: set[SSAValue],
    *,
    alone: bool,
    defined: list[SSAValue],
    keep: bool = False,
) -> Iterator[Diagnostic]:
    defined.extend(block.args)
    visible.update(block.args)
    last = block.last_op
    needs_terminator = not alone or not (isinstance(parent, UnregisteredOp) or parent.has_trait(NoTerminator))
    if last is None and needs_terminator:
        yield diagnose(parent, "[block_c1] has an empty block that needs a terminator")
    for op in block.ops:
        yield from _check_op(op, visible)
        if op is not last and op.has_trait(IsTerminator, value_if_unregistered=False):
            yield diagnose(op, "[block_c2] is a terminator in the middle of its block")
        for successor in op.successors:
            if successor.parent is not block.parent:
                yield diagnose(op, "[block_c3] branches to a block of another region")
        defined.extend(op.results)
        visible.update(op.results)
    if last is not None and needs_terminator and not last.has_trait(IsTerminator):
        yield diagnose(last, "[block_c1] ends its block, but is not a terminator")
    if not keep:
        visible.difference_update(defined)


def dominator_tree(blocks: Sequence[Block]) -> dict[Block, list[Block]]:
    """Children in the dominator tree, by Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm"
    (2001).

    Blocks that the entry cannot reach are in no list.
    """
    order: list[Block] = []
    seen = {blocks[0]}
    stack: list[tuple[Block, Iterator[Block]]] = [(blocks[0], _successors(blocks[0]))]
    while stack:
        block, rest = stack[-1]
        following = next((b for b in rest if b not in seen), None)
        if following is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, _successors(following)))
    number = {block: i for i, block in enumerate(order)}
    predecessors: dict[Block, list[Block]] = {block: [] for block in order}
    for block in order:
        for successor in _successors(block):
            if successor in predecessors:
                predecessors[successor].append(block)
    entry = blocks[0]
    idom: dict[Block, Block] = {entry: entry}

    def intersect(a: Block, b: Block) -> Block:
        while a is not b:
            while number[a] < number[b]:
                a = idom[a]
            while number[b] < number[a]:
                b = idom[b]
        return a

    changed = True
    while changed:
        changed = False
        for block in reversed(order):
            if block is entry:
                continue
            known = [p for p in predecessors[block] if p in idom]
            best = known[0]
            for other in known[1:]:
                best = intersect(best, other)
            if idom.get(block) is not best:
                idom[block] = best
                changed = True
    children: dict[Block, list[Block]] = {}
    for block in reversed(order):
        if block is not entry:
            children.setdefault(idom[block], []).append(block)
    return children


def _successors(block: Block) -> Iterator[Block]:
    return iter(block.last_op.successors) if block.last_op is not None else iter(())
