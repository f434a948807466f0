"""The delegates of a method: initialized when it is loaded, executed by their calls, destroyed with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from et_schema.errors import Error, ExecutorchError, MissingBackend
from et_schema.user_code import raised
from et_schema.wording import worded
from et_vm.backend import BackendExecuteContext, BackendInitContext
from et_vm.platform import LogLevel
from et_vm.values import ListRegister

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from et_schema.program import ExecutionPlan
    from et_schema.pte import PteFile
    from et_vm.backend import Backend, BackendRegistry, Handle, NativeOptions, PartWork
    from et_vm.kernels.registry import KernelRegistry
    from et_vm.load.instructions import Instruction
    from et_vm.platform import Platform
    from et_vm.step import Step
    from et_vm.tracer import EventTracer
    from et_vm.work import WorkMeter


class Delegates:
    """The initialized delegates of one plan, whose table path is `where`. Dropping the object destroys
    them, also those that were initialized before another one failed.

    Raises MissingBackend when a backend is not registered or not available, and what the backends raise; what is no
    ExecutorchError becomes one that names the backend. `arguments` are what backends are told of the first calls
    (`first_arguments`).
    """

    def __init__(
        self,
        plan: ExecutionPlan,
        where: str,
        pte: PteFile,
        backends: BackendRegistry,
        platform: Platform,
        tracer: EventTracer | None,
        *,
        kernels: KernelRegistry | None = None,
        poison: bool = False,
        external: Mapping[str, memoryview] | None = None,
        arguments: Mapping[int, Sequence[object]] | None = None,
        meter: WorkMeter | None = None,
        native: NativeOptions | None = None,
    ) -> None:
        self._handles: list[tuple[Backend, Handle]] = []
        self._blobs: dict[tuple[int, int], list[memoryview]] = {}
        """The views that backends were given, by the place in the file: equal blobs are one."""
        self._platform = platform
        self._tracer = tracer
        self._method = plan.name
        missing = [delegate.id for delegate in plan.delegates if not backends.is_available(delegate.id)]
        if missing:
            for backend_id in missing:
                platform.log(LogLevel.INFO, f"no backend {backend_id!r} for method {plan.name!r}")
            at = next(at for at, delegate in enumerate(plan.delegates) if delegate.id == missing[0])
            raise MissingBackend(
                missing[0], where=f"{where}.delegates[{at}].id", hint=_hint(missing[0], backends)
            )
        named_data = {**(external or {}), **pte.named_data()} if plan.delegates else {}
        context = BackendInitContext(platform, tracer, plan.name, named_data, kernels, poison, meter=meter)
        if native is not None:
            context = context._replace(native=native)
        for at, delegate in enumerate(plan.delegates):
            backend = backends.lookup(delegate.id)
            assert backend is not None
            assert delegate.processed is not None
            # A view of its own: the backend may release it.
            processed = pte.delegate_data(delegate.processed)[:]
            try:
                passed = () if arguments is None else arguments.get(at, ())
                handle = backend.init(context._replace(arguments=passed), processed, delegate.compile_specs)
            except ExecutorchError as error:
                error.where = f"{where}.delegates[{at}]" + (f", {error.where}" if error.where else "")
                raise
            except Exception as error:
                raise ExecutorchError(
                    Error.Internal,
                    f"init of the backend {delegate.id!r} raised {raised(error)}",
                    where=f"{where}.delegates[{at}]",
                ) from error
            self._handles.append((backend, handle))
            place = (delegate.processed.location, delegate.processed.index)
            self._blobs.setdefault(place, []).append(processed)

    @property
    def calculate(self) -> bool:
        """Whether some backend computes in the process of the interpreter: `Backend.calculates`."""
        return any(backend.calculates for backend, _ in self._handles)

    def memory_report(self) -> dict[str, int]:
        """Bytes of the blobs that backends have not released, and of what backends say that they hold.

        Raises ExecutorchError(Internal) for a backend that does not know.
        """
        report = {"delegate blobs": sum(max(map(_held, views)) for views in self._blobs.values())}
        for backend, handle in self._handles:
            try:
                held = backend.memory_report(handle)
            except Exception as error:
                text = f"{type(backend).__name__} raised {raised(error)}, queried for its memory"
                raise ExecutorchError(Error.Internal, text) from error
            for label, nbytes in held.items():
                report[f"delegates' {label}"] = report.get(f"delegates' {label}", 0) + nbytes
        return report

    def stateful(self) -> list[str]:
        """The backends of delegates that keep state from one execution to the next, each once."""
        kept = [type(backend).__name__ for backend, handle in self._handles if backend.keeps_state(handle)]
        return list(dict.fromkeys(kept))

    def work_report(self, at: int) -> Sequence[PartWork]:
        """The work of the parts of a delegate, as far as its backend knows it."""
        backend, handle = self._handles[at]
        return backend.work_report(handle)

    def step(self, instruction: Instruction, registers: list[object], rebound: Set[int]) -> Step:
        """The step of a delegate call: its backend executes on what the registers hold by then; `rebound` are those
        that come to hold something else.
        """
        backend, handle = self._handles[instruction.callee]
        args = instruction.args
        context = BackendExecuteContext(self._platform, self._tracer, self._method, instruction.index)

        if not any(one in rebound or isinstance(registers[one], ListRegister) for one in args):
            return backend.execute, (context, handle, tuple(_values(args, registers)))

        def run() -> None:
            backend.execute(context, handle, _values(args, registers))

        return run, ()

    def __del__(self) -> None:
        for backend, handle in self._handles:
            try:
                backend.destroy(handle)
            except Exception as error:
                # Whoever drops a method cannot do anything about it.
                text = f"destroy of {type(backend).__name__} raised {raised(error)}"
                self._platform.log(LogLevel.ERROR, text)


def _held(blob: memoryview) -> int:
    """The bytes of a view, none of which are left when it has been released."""
    try:
        return blob.nbytes
    except ValueError:
        return 0


def first_arguments(
    instructions: Sequence[Instruction], registers: Sequence[object]
) -> dict[int, list[object]]:
    """The contents of the registers of each delegate's first call, by the number of the delegate."""
    found: dict[int, list[object]] = {}
    for instruction in instructions:
        if instruction.opcode.mnemonic == "delegate" and instruction.callee not in found:
            found[instruction.callee] = _values(instruction.args, registers)
    return found


def _values(args: Sequence[int], registers: Sequence[object]) -> list[object]:
    values = [registers[register] for register in args]
    return [value.read(registers) if isinstance(value, ListRegister) else value for value in values]


def _hint(backend_id: str, backends: BackendRegistry) -> str:
    """Hint for a missing backend."""
    names = backends.registered_backend_names
    if backend_id in names:
        return "it is registered, but not available on this machine"
    there = ", ".join(names) or "none"
    added = worded(
        python=f"Runtime(…).backend_registry.register({backend_id!r}, backend)",
        command="et-vm run --load FILE",
    )
    failures = "".join(
        f"; the package '{name}' cannot be used: {why}" for name, why in backends.failures.items()
    )
    return f"backends are: {there}; add one with {added}{failures}"
