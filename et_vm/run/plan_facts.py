"""Facts about a plan that do not depend on where a method of it has its memory: found once, for all its methods."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from et_schema.program import Tensor as TensorTable
from et_schema.program import TensorDataLocation
from et_vm.run.written_inputs import written_positions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from et_schema.program import ExecutionPlan
    from et_vm.kernels.registry import KernelRegistry, Prepare
    from et_vm.load.instructions import Instruction
    from et_vm.run.prepare import PreparedPlan
    from et_vm.run.register_file import Blueprint
    from et_vm.verify.flow import Flow

__all__ = ["PlanFacts"]


class _Prepared(NamedTuple):
    registry: KernelRegistry
    kernels: dict[str, Prepare]
    plan: PreparedPlan
    registers: Blueprint


class PlanFacts:
    """What is known of one plan, whose analysis is `flow`. Threads may share it."""

    def __init__(self, plan: ExecutionPlan, flow: Flow) -> None:
        self._plan = plan
        self.flow = flow
        self._prepared: _Prepared | None = None

    @property
    def instructions(self) -> Sequence[Instruction]:
        """The verified instructions."""
        return self.flow.instructions

    @cached_property
    def owned(self) -> frozenset[int]:
        """The registers that a method has to give memory to, if they are tensors without data."""
        return frozenset((*self._plan.inputs, *self.flow.owned_outputs()))

    @cached_property
    def freed(self) -> tuple[int, ...]:
        """The registers that an instruction takes the bytes of."""
        return tuple([one.args[0] for one in self.instructions if one.opcode.mnemonic == "free"])

    @cached_property
    def written_inputs(self) -> tuple[int, ...]:
        """Positions of the inputs that nobody planned and an instruction may write."""
        return tuple(written_positions(self._plan, self.instructions))

    @cached_property
    def has_external_data(self) -> bool:
        """Whether data files hold data of the plan, which may be others for another method."""
        infos = (
            value.val.extra_tensor_info for value in self._plan.values if isinstance(value.val, TensorTable)
        )
        return any(info is not None and info.location == TensorDataLocation.EXTERNAL for info in infos)

    def prepared_with(self, kernels: KernelRegistry) -> _Prepared | None:
        """What another method of the plan has found out, if the registry has still the kernels of that."""
        found = self._prepared
        if found is None or found.registry is not kernels:
            return None
        if any(
            kernels.is_keyed(name) or kernels.registered(name) is not kernel
            for name, kernel in found.kernels.items()
        ):
            return None
        return found

    def keep(self, kernels: KernelRegistry, plan: PreparedPlan, registers: Blueprint) -> None:
        """Keep what a method has found out, with the kernels of a registry."""
        if self.has_external_data:
            return
        named = {self.instructions[index].name: call.kernel for index, call in plan.calls.items()}
        self._prepared = _Prepared(kernels, named, plan, registers)
