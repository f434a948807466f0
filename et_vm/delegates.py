"""The delegates of a method: initialised when it is loaded, executed by their calls, destroyed with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from et_schema.errors import MissingBackend
from et_vm.backend import BackendExecuteContext, BackendInitContext
from et_vm.platform import LogLevel
from et_vm.values import ListRegister

if TYPE_CHECKING:
    from et_schema.generated.program import ExecutionPlan
    from et_schema.pte import PteFile
    from et_vm.backend import Backend, BackendRegistry, Handle
    from et_vm.instructions import Instruction
    from et_vm.kernels.registry import Step
    from et_vm.platform import Platform
    from et_vm.tracer import EventTracer


class Delegates:
    """The initialised delegates of one plan, whose table path is ``where``. Dropping the object destroys
    them, also those that were initialised before another one failed.

    Raises MissingBackend when a backend is not registered or not available, and what the backends raise.
    """

    def __init__(
        self,
        plan: ExecutionPlan,
        where: str,
        pte: PteFile,
        backends: BackendRegistry,
        platform: Platform,
        tracer: EventTracer | None,
    ) -> None:
        self._handles: list[tuple[Backend, Handle]] = []
        self._context = BackendExecuteContext(platform, tracer, plan.name)
        missing = [delegate.id for delegate in plan.delegates if not backends.is_available(delegate.id)]
        if missing:
            for backend_id in missing:
                platform.log(LogLevel.INFO, f"no backend {backend_id!r} for method {plan.name!r}")
            at = next(at for at, delegate in enumerate(plan.delegates) if delegate.id == missing[0])
            raise MissingBackend(missing[0], where=f"{where}.delegates[{at}].id")
        context = BackendInitContext(platform, tracer, plan.name, pte.named_data())
        for delegate in plan.delegates:
            backend = backends.lookup(delegate.id)
            assert backend is not None
            assert delegate.processed is not None
            processed = pte.delegate_data(delegate.processed)
            self._handles.append((backend, backend.init(context, processed, delegate.compile_specs)))

    def step(self, instruction: Instruction, registers: list[object]) -> Step:
        """The step of a delegate call: its backend executes on what the registers hold by then."""
        backend, handle = self._handles[instruction.callee]
        context, args = self._context, instruction.args

        def run() -> None:
            values = [registers[register] for register in args]
            backend.execute(
                context,
                handle,
                [value.read(registers) if isinstance(value, ListRegister) else value for value in values],
            )

        return run, ()

    def __del__(self) -> None:
        for backend, handle in self._handles:
            backend.destroy(handle)
