"""Facts about a plan that all its methods share.

They do not depend on where a method has its memory, and are found once.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from et_schema.errors import Error, ExecutorchError
from et_schema.program import Tensor as TensorTable
from et_schema.program import TensorDataLocation
from et_schema.wording import in_words
from et_vm.load.code import unusual, values_of
from et_vm.run.blueprint import Blueprint, blueprint_of
from et_vm.run.written_inputs import written_positions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from et_schema.program import ExecutionPlan
    from et_schema.pte import PteFile
    from et_vm.kernels.registry import KernelRegistry
    from et_vm.load.instructions import Instruction
    from et_vm.run.prepare import PreparedPlan
    from et_vm.verify.chains import ChainOrder
    from et_vm.verify.flow import Flow

__all__ = ["PlanFacts"]

_SHOWN_NAMES = 3


class PlanFacts:
    """What is known of one plan, whose analysis is `flow`. Threads may share it."""

    def __init__(self, pte: PteFile, plan: ExecutionPlan, flow: Flow) -> None:
        self._pte = pte
        self._plan = plan
        self.flow = flow
        self.chains: ChainOrder | None = None
        """The chains that may run at the same time; None where they run in the order of the file."""
        self._prepared: tuple[KernelRegistry, PreparedPlan] | None = None

    @property
    def instructions(self) -> Sequence[Instruction]:
        """The verified instructions."""
        return self.flow.instructions

    def check_chains(self, where: str) -> None:
        """Find the chains that may run at the same time, of the plan whose table path is `where`.

        Raises InvalidFile for those that wait for what is never there, or touch the same bytes.
        """
        if len(self._plan.chains) > 1:
            # Imported here because starting is part of the time that a run takes.
            from et_vm.verify.chains import chain_order

            self.chains = chain_order(self._pte, self._plan, self.instructions, where)

    @cached_property
    def owned(self) -> frozenset[int]:
        """The registers that a method has to give memory to, if they are tensors without data."""
        return frozenset((*self._plan.inputs, *self.flow.owned_outputs()))

    @cached_property
    def freed(self) -> tuple[int, ...]:
        """The registers that an instruction takes the bytes of."""
        return tuple([one.args[0] for one in unusual(self.instructions) if one.opcode.mnemonic == "free"])

    @cached_property
    def written_inputs(self) -> tuple[int, ...]:
        """Positions of the inputs that nobody planned and an instruction may write."""
        return tuple(written_positions(self._plan, self.instructions))

    @cached_property
    def kept_state(self) -> str | None:
        """What executions leave in the arenas for those that follow, in words; None if nothing."""
        # Imported here because it takes its time, and few need it.
        from et_vm.meta import MethodMeta
        from et_vm.verify.liveness import ByteLiveness, delegate_writes

        meta = MethodMeta(self._plan)
        names = list(
            dict.fromkeys(meta.attribute_tensor_meta(at).name() for at in range(meta.num_attributes()))
        )
        if names:
            more = len(names) - _SHOWN_NAMES
            return ", ".join(names[:_SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")
        delegates = [delegate_writes(self._pte, delegate) for delegate in self._plan.delegates]
        try:
            state = ByteLiveness(self._plan, self.instructions, self.flow.rebound, delegates).state
        except ExecutorchError as error:
            if error.code != Error.OutOfResources:
                raise
            return "any: the plan is too large to tell"
        nbytes = sum(one.end - one.start for one in state)
        return in_words(nbytes, "byte") if nbytes else None

    @cached_property
    def has_external_data(self) -> bool:
        """Whether data files hold data of the plan, which may be others for another method."""
        values = values_of(self._plan)
        special = range(len(self._plan.values)) if values is None else values.special
        for at in special:
            table = self._plan.values[at].val
            info = table.extra_tensor_info if isinstance(table, TensorTable) else None
            if info is not None and info.location == TensorDataLocation.EXTERNAL:
                return True
        return False

    @cached_property
    def blueprint(self) -> Blueprint | None:
        """The tensors that do not have to be made out for each method."""
        return blueprint_of(self._plan, self._pte)

    def prepared_with(self, kernels: KernelRegistry) -> PreparedPlan | None:
        """What another method of the plan has found out, if the registry has still the kernels of that."""
        registry, prepared = self._prepared or (None, None)
        if prepared is None or registry is not kernels:
            return None
        same = all(
            not kernels.is_keyed(name) and kernels.registered(name) is kernel
            for name, kernel in prepared.kernels.items()
        )
        return prepared if same else None

    def keep(self, kernels: KernelRegistry, prepared: PreparedPlan) -> None:
        """Keep what a method has found out, with the kernels of a registry."""
        if not self.has_external_data:
            self._prepared = kernels, prepared
