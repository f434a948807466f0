"""Operators preserved for backends, and their decomposition where no partition takes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from et_ir.delegation.errors import BackendError
from et_ir.delegation.partitioner import KeepFilter, Partitioners, all_partitioners
from et_ir.diagnostics import PassReport, diagnose
from et_ir.dialects.aten import OP_BY_NAME, AtenOp
from et_ir.dialects.backend import PartitionOp
from et_ir.dialects.edge import EdgeOp
from et_ir.driver.method_passes import PythonPass
from et_schema.diagnostics import did_you_mean
from et_schema.user_code import raised

if TYPE_CHECKING:
    from torch._ops import OpOverload

__all__ = ["DecomposeRefusedPass", "KeptOperators"]


@dataclass(frozen=True)
class KeptOperators:
    """The operators that some partitioners want whole, by aten name, with what each says of single ops."""

    wanted: Mapping[str, Sequence[KeepFilter | None]]

    @staticmethod
    def of(partitioners: Partitioners) -> KeptOperators:
        """Operators that partitioners want kept. Raises `ValueError` for an unknown operator, and `BackendError` for a
        partitioner that fails.
        """
        wanted: dict[str, list[KeepFilter | None]] = {}
        for partitioner in all_partitioners(partitioners):
            who = f"{type(partitioner).__name__}.ops_to_not_decompose"
            try:
                operators, keep = partitioner.ops_to_not_decompose()
                names = [_name(operator) for operator in operators]
            except (Exception, SystemExit) as error:
                text = f"{who} must return operators and a filter: {raised(error)}"
                raise BackendError(text) from error
            for name in names:
                if name not in OP_BY_NAME:
                    raise ValueError(f"{who}: unknown operator '{name}'{did_you_mean(name, OP_BY_NAME)}")
                wanted.setdefault(name, []).append(keep)
        return KeptOperators(wanted)

    @property
    def names(self) -> list[str]:
        """The operators, as passes take them: `preserve`."""
        return sorted(self.wanted)

    def decompose_refused(self, module: ModuleOp) -> None:
        """Decompose what is kept by operator at the aten level, but that no partitioner wants kept."""
        refused = {
            op
            for op in module.walk()
            if isinstance(op, AtenOp) and not self._keeps(op.name.removeprefix("aten."), op)
        }
        _decompose(module, refused, self.names)

    def copies(self, module: ModuleOp, copy: ModuleOp) -> dict[Operation, Operation]:
        """The kept ops of a module of the edge level by their copies in one that was just cloned from it."""
        return {
            copied: op
            for op, copied in zip(module.walk(), copy.walk(), strict=True)
            if isinstance(op, EdgeOp) and _aten_name(op) in self.wanted
        }

    def decompose_left(
        self, module: ModuleOp, partitioned: ModuleOp, copies: Mapping[Operation, Operation]
    ) -> bool:
        """Decompose the kept ops of a module whose copies no partition has; returns whether any was decomposed.

        What they come down to may be at the aten level, as are those that stay.
        """
        left = [copies[op] for op in partitioned.walk() if op in copies and not _is_partitioned(op)]
        chosen = {_as_aten(op) for op in left if not OP_BY_NAME[_aten_name(op)].operator.is_core}
        _decompose(module, chosen, self.names)
        # An op may be left by its decomposition, as one of sizes that are not known.
        return not chosen <= set(module.walk())

    def _keeps(self, name: str, op: Operation) -> bool:
        filters = self.wanted.get(name)
        try:
            return filters is None or any(keep is None or keep(op) for keep in filters)
        except (Exception, SystemExit) as error:
            text = f"a filter of ops_to_not_decompose raised {raised(error)}"
            finding = diagnose(op, text, "fix the partitioner, or compile without it")
            raise PassReport("a partitioner failed", [finding]) from error


@dataclass(frozen=True)
class DecomposeRefusedPass(PythonPass):
    """Decompose what is kept by operator, but that no partitioner wants kept."""

    name = "decompose-refused"

    kept: KeptOperators

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.kept.decompose_refused(op)


def _is_partitioned(op: Operation) -> bool:
    at = op.parent_op()
    while at is not None and not isinstance(at, PartitionOp):
        at = at.parent_op()
    return at is not None


def _aten_name(op: Operation) -> str:
    """The operator of an op as the aten level calls it: a view where the edge level copies."""
    name = op.name.partition(".")[2]
    return name if name in OP_BY_NAME else op.operator.view_form if isinstance(op, EdgeOp) else ""


def _as_aten(op: Operation) -> Operation:
    """Put the operator of the aten level into the place of an op of the edge level."""
    new = OP_BY_NAME[_aten_name(op)].create(
        operands=op.operands,
        result_types=op.result_types,
        properties=op.properties,
        attributes=op.attributes,
    )
    new.location = op.location
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(new, op)
    for old, result in zip(op.results, new.results, strict=True):
        result.name_hint = old.name_hint
        old.replace_all_uses_with(result)
    block.erase_op(op)
    return new


def _name(operator: str | type[Operation] | OpOverload) -> str:
    """The aten name of an operator given by name, op class or torch's overload."""
    if isinstance(operator, str):
        text = operator
    elif isinstance(operator, type):
        text = operator.name.partition(".")[2]
    else:
        text = operator.name()
    return text.removeprefix("aten::").removeprefix("aten.").removesuffix(".default")


def _decompose(module: ModuleOp, chosen: Collection[Operation], preserve: Sequence[str]) -> None:
    if not chosen:
        return
    from et_ir.dialects.program import Globals
    from et_ir.passes.aten_to_core.decompose import DecomposeChosen
    from et_ir.passes.aten_to_core.decompose_traced import TracedDecomposition
    from et_ir.rewriting import rewrite

    kept = frozenset(preserve)
    rewrite(module, [DecomposeChosen(chosen, kept)])
    left = {op for op in module.walk() if op in chosen}
    if left:
        # Those without a pattern, or with one that leaves them: torch may know how.
        rewrite(module, [TracedDecomposition(Globals(module), kept, left)])
