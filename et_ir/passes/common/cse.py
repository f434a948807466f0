"""Common subexpression elimination: compute equal things once.

Two ops are equal if they are of one class, have equal operands, literals and result types, and no effects.
The operands of a commutative op may be in either order, and sizes of tensors are equal where their types state the same
expression. The later op's results are replaced by the earlier
one's wherever the earlier dominates: in its own block, in blocks it dominates, and inside of regions that may
see outer values. Reads of mutable state are equal if no write is between them in their block.

```mlir
%1 = aten.permute %x {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
%2 = aten.permute %x {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>      // before; after, uses of %1
```

Hashing with scopes along the dominator tree, as LLVM's EarlyCSE: the cost is linear.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Block, Operation, Region
from xdsl.passes import ModulePass
from xdsl.traits import IsolatedFromAbove, MemoryEffectKind, Pure, get_effects

from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.inference import size_of
from et_ir.verification import dominator_tree

__all__ = ["CsePass"]


class _Key:
    """The key of equal ops, hashed once."""

    __slots__ = ("hash", "parts")

    def __init__(self, parts: Hashable):
        self.parts = parts
        self.hash = hash(parts)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.parts == other.parts


class _Scopes:
    """Ops by key, in scopes that end."""

    def __init__(self) -> None:
        self.known: dict[_Key, Operation] = {}
        self.shadowed: list[list[tuple[_Key, Operation | None]]] = []

    def enter(self) -> None:
        self.shadowed.append([])

    def leave(self) -> None:
        for key, before in reversed(self.shadowed.pop()):
            if before is None:
                del self.known[key]
            else:
                self.known[key] = before

    def add(self, key: _Key, op: Operation) -> None:
        self.shadowed[-1].append((key, self.known.get(key)))
        self.known[key] = op


def _key(op: Operation) -> _Key:
    if isinstance(op, SchemaOp) and op.operator.view_form == "sym_size.int":
        size = size_of(op.results[0])
        if size is not None:
            return _Key((type(op), size))
    operands = op.operands
    ids = [id(value) for value in operands]
    if len(ids) == 2 and _commutes(op):
        ids.sort()
    return _Key(
        (
            type(op),
            tuple(ids),
            tuple(sorted(op.properties.items(), key=_name)),
            tuple(sorted(op.attributes.items(), key=_name)) if op.attributes else (),
            tuple(result.type for result in op.results),
        )
    )


def _name(item: tuple[str, object]) -> str:
    return item[0]


def _commutes(op: Operation) -> bool:
    """Whether the operands of an op can change places: those of a sum whose second operand is scaled cannot."""
    if not isinstance(op, SchemaOp) or not op.operator.facts.commutative:
        return False
    return "alpha" not in op.properties or op.arg("alpha") == 1


class _Eliminator:
    def __init__(self) -> None:
        self.scopes = _Scopes()
        self.pure: dict[type[Operation], bool] = {}

    def region(self, region: Region) -> None:
        blocks = list(region.blocks)
        if not blocks:
            return
        if len(blocks) == 1:
            self.scopes.enter()
            self.block(blocks[0])
            self.scopes.leave()
            return
        children = dominator_tree(blocks)
        stack: list[Block | None] = [blocks[0]]
        while stack:
            block = stack.pop()
            if block is None:
                self.scopes.leave()
                continue
            self.scopes.enter()
            self.block(block)
            stack.append(None)
            stack.extend(reversed(children.get(block, [])))

    def block(self, block: Block) -> None:
        reads: dict[_Key, Operation] = {}
        for op in list(block.ops):
            if op.regions:
                reads.clear()
                self._inner(op)
            elif self._is_pure(op):
                key = _key(op)
                found = self.scopes.known.get(key)
                if found is None:
                    self.scopes.add(key, op)
                else:
                    _replace(op, found)
            else:
                effects = None if isinstance(op, UnregisteredOp) else get_effects(op)
                if effects is None or any(e.kind is MemoryEffectKind.WRITE for e in effects):
                    reads.clear()
                elif effects and all(
                    e.kind is MemoryEffectKind.READ and e.value is not None for e in effects
                ):
                    # Only reads of something named: an op that reads the random generator's state changes it
                    # too.
                    found = reads.setdefault(_key(op), op)
                    if found is not op:
                        _replace(op, found)

    def _inner(self, op: Operation) -> None:
        isolated = isinstance(op, UnregisteredOp) or bool(op.get_traits_of_type(IsolatedFromAbove))
        outer = self.scopes
        if isolated:
            self.scopes = _Scopes()
        for region in op.regions:
            self.region(region)
        self.scopes = outer

    def _is_pure(self, op: Operation) -> bool:
        cls = type(op)
        known = self.pure.get(cls)
        if known is None:
            known = self.pure[cls] = cls is not UnregisteredOp and bool(op.get_traits_of_type(Pure))
        return known and bool(op.results)


def _replace(op: Operation, by: Operation) -> None:
    for old, new in zip(op.results, by.results, strict=True):
        old.replace_all_uses_with(new)
    assert op.parent is not None
    op.parent.erase_op(op)


@dataclass(frozen=True)
class CsePass(ModulePass):
    """Compute equal subexpressions once."""

    name = "cse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        eliminator = _Eliminator()
        for region in op.regions:
            eliminator.region(region)
