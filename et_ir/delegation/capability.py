"""Partitioner of backends that state their capability. A backend says only what it takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from et_ir.delegation.dependences import Dependences
from et_ir.delegation.grouping import NO_COLOUR, group
from et_ir.delegation.partitioner import Partitioner
from et_ir.delegation.specs import DelegationSpec, PartitionResult
from et_ir.delegation.state import owned_state
from et_ir.delegation.support import OperatorSupport, number_refusal, supports_what_is_in
from et_ir.delegation.tags import tag
from et_ir.diagnostics import Diagnostic, PassReport, diagnose
from et_ir.dialects.control import ControlOp
from et_ir.dialects.program import LoadOp, OverwriteOp, StoreOp
from et_schema.user_code import raised
from et_schema.wording import in_words

__all__ = ["CapabilityPartitioner"]


class CapabilityPartitioner(Partitioner):
    """Makes partitions, as large as they get, of what `support` takes and of the patterns that `patterns` finds.

    Partitions are convex, in the method's body and in those of control flow: see `grouping.py`.
    """

    delegation_spec: DelegationSpec
    """Delegation spec of the partitions."""
    takes_control_flow: bool = False
    """Whether the backend runs `control` ops whose regions have only what it takes."""
    takes_state: bool = False
    """Whether a partition may own a mutable buffer that nothing else uses."""
    takes_numbers: bool = False
    """Whether a partition may have inputs that are numbers."""
    min_ops: int = 1
    """Smaller partitions are not worth a call."""

    def __init__(self, delegation_spec: DelegationSpec | None = None, support: OperatorSupport | None = None):
        if delegation_spec is not None:
            self.delegation_spec = delegation_spec
        self._support = support

    def support(self, method: FuncOp) -> OperatorSupport:
        """Ops of one method that the backend supports."""
        if self._support is None:
            raise NotImplementedError(
                f"{type(self).__name__} defines no supported operators: override `support`"
            )
        return self._support

    def patterns(self, method: FuncOp) -> Iterable[Sequence[Operation]]:
        """Sets of ops that the backend takes together or not at all: each within one block, and in its order. An op
        in several of them is in the first.
        """
        return ()

    def refuse_partition(self, ops: Sequence[Operation]) -> Diagnostic | None:
        """Why a partition is not worth it, None if it is."""
        if len(ops) < self.min_ops:
            return Diagnostic(
                "partition too small", f"{in_words(len(ops), 'op')}, at least {self.min_ops} required"
            )
        return None

    def refuse_control_flow(self, op: ControlOp) -> Diagnostic | None:
        """Why the backend does not run an op with regions, whatever is in these; None if it does."""
        return None if self.takes_control_flow else Diagnostic("control flow")

    def partition(self, method: FuncOp) -> PartitionResult:
        finder = _Finder(self, method)
        for region in method.regions:
            for block in region.blocks:
                finder.block(block)
        tags = dict.fromkeys(finder.tags, self.delegation_spec)
        return PartitionResult(method, tags, finder.refusals, finder.failures)


class _Finder:
    """The partitions of one method."""

    def __init__(self, partitioner: CapabilityPartitioner, method: FuncOp):
        self.partitioner = partitioner
        self.support = partitioner.support(method)
        self.tags: list[str] = []
        self.refusals: dict[Operation, Diagnostic] = {}
        self.failures: list[PassReport] = []
        self.prefix = f"{method.sym_name.data}_"
        self.owned = owned_state(method) if partitioner.takes_state else frozenset[str]()
        self.in_pattern: dict[Operation, int] = {}
        self.patterns: list[list[Operation]] = []
        for ops in partitioner.patterns(method):
            if not any(op in self.in_pattern for op in ops):
                self.in_pattern.update(dict.fromkeys(ops, len(self.patterns)))
                self.patterns.append(list(ops))

    def block(self, block: Block) -> None:
        """Tag what the backend takes of a block, and of the blocks in those ops that it does not take."""
        graph = Dependences(block)
        colours: list[int] = []
        for op in graph.ops:
            refusal = self._refusal(op)
            colours.append(NO_COLOUR if refusal is not None else 0)
            if refusal is not None:
                self.refusals[op] = refusal
                if isinstance(op, ControlOp):
                    for region in op.regions:
                        self.block(region.block)
        # Sizes are no nodes: each partition computes those that it needs.
        named = [[op for op in ops if op in graph.index or op.parent is not block] for ops in self.patterns]
        here = [ops for ops in named if ops and ops[0] in graph.index]
        patterns = [[graph.index[op] for op in ops] for ops in here]
        users: dict[SSAValue, list[int]] = {}
        for number, arguments in enumerate(graph.arguments):
            for value in arguments:
                users.setdefault(value, []).append(number)
        found = group(graph.before, colours, patterns, list(users.values()))
        for number in found.parted:
            for op in here[number]:
                self.refusals[op] = Diagnostic("a path leaves the pattern and re-enters it")
        for nodes in found.groups:
            self._group([graph.ops[node] for node in nodes])

    def _refusal(self, op: Operation) -> Diagnostic | None:
        if isinstance(op, LoadOp | StoreOp):
            if op.symbol.string_value() in self.owned:
                return None
            return Diagnostic("mutable state", f"@{op.symbol.string_value()}")
        if isinstance(op, OverwriteOp):
            return Diagnostic("writes to an input")
        if isinstance(op, ControlOp):
            numbers = number_refusal(op, takes_numbers=self.partitioner.takes_numbers)
            refusal = self.partitioner.refuse_control_flow(op)
            return refusal or numbers or supports_what_is_in(self.support, op)
        numbers = number_refusal(op, takes_numbers=self.partitioner.takes_numbers)
        if numbers is not None:
            return numbers
        return None if op in self.in_pattern else self._asked(op)

    def _asked(self, op: Operation) -> Diagnostic | None:
        try:
            return self.support.refusal(op)
        except PassReport:
            raise
        except (Exception, SystemExit) as error:
            who = type(self.partitioner).__name__
            finding = diagnose(
                op,
                f"{who} raised {raised(error)}",
                f"fix the partitioner, or compile without the backend {self.partitioner.delegation_spec.backend_id}",
            )
            failure = PassReport("a partitioner failed", [finding])
            failure.__cause__ = error
            self.failures.append(failure)
            return Diagnostic("the partitioner failed", finding.message)

    def _group(self, ops: list[Operation]) -> None:
        everything, ops = ops, _without_lone_state(ops)
        lone = Diagnostic("mutable state", "its reads and writes are not in one partition")
        self.refusals.update(dict.fromkeys(set(everything) - set(ops), lone))
        computing = [op for op in ops if not isinstance(op, LoadOp | StoreOp)]
        if not computing:
            self.refusals.update(dict.fromkeys(ops, Diagnostic("mutable state", "its value is unused")))
            return
        refusal = self.partitioner.refuse_partition(computing)
        if refusal is not None:
            self.refusals.update(dict.fromkeys(ops, refusal))
            return
        name = f"{self.prefix}{len(self.tags)}"
        self.tags.append(name)
        tag(ops, name)


def _without_lone_state(ops: list[Operation]) -> list[Operation]:
    """The ops of a group, with loads and stores only of the buffers that are both read and written in it."""
    read = {op.symbol.string_value() for op in ops if isinstance(op, LoadOp)}
    written = {op.symbol.string_value() for op in ops if isinstance(op, StoreOp)}
    return [
        op for op in ops if not isinstance(op, LoadOp | StoreOp) or op.symbol.string_value() in read & written
    ]
