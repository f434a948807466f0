"""Backend that runs partitions as nested programs. The compiler's reference backend makes them.

The kernels are those of the program around, and so is whether dead memory is poisoned. Constants that partitions share
are named data of the file. State of a partition lives as long as the method it is loaded for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from et_schema.errors import Error, ExecutorchError, MissingBackend, Trap
from et_vm.backend import Backend, BackendExecuteContext, BackendInitContext, BackendRegistry, Handle
from et_vm.program import Program
from et_vm.tracer import EventTracer
from et_vm.values import Tensor

if TYPE_CHECKING:
    from et_schema.program import CompileSpec
    from et_vm.run.method import Method
    from et_vm.values import Array

__all__ = ["NestedProgramBackend", "memory_by_purpose"]

METHOD = "forward"


class _Instructions(EventTracer):
    """Tells the program around of each instruction, by its index."""

    def __init__(self) -> None:
        self.context: BackendExecuteContext | None = None

    def on_instruction(self, method: str, index: int, opcode: str, name: str, start: int, end: int) -> None:
        if self.context is not None:
            self.context.log(index, name, start, end)


class _Nested:
    """A loaded partition."""

    def __init__(self, method: Method, tracer: _Instructions | None):
        self.method = method
        self.tracer = tracer


class NestedProgramBackend(Backend):
    """Loads and executes a nested program."""

    def init(
        self, context: BackendInitContext, processed: memoryview, compile_specs: Sequence[CompileSpec]
    ) -> Handle:
        del compile_specs
        tracer = None if context.tracer is None else _Instructions()
        try:
            program = Program.load(processed, platform=context.platform)
            method = program.load_method(
                METHOD,
                kernels="portable" if context.kernels is None else context.kernels,
                # Programs in programs in programs would be a way to use up the stack.
                backends=BackendRegistry(),
                tracer=tracer,
                poison=context.poison,
                external=context.named_data,
                meter=context.meter,
            )
        except MissingBackend as error:
            # No registry of the caller's is asked here.
            error.hint = "programs in delegates have no delegates: compile it for one backend"
            raise
        except Trap as error:
            raise _outside(error) from error
        return _Nested(method, tracer)

    def memory_report(self, handle: Handle) -> Mapping[str, int]:
        assert isinstance(handle, _Nested)
        return memory_by_purpose(handle.method)

    def keeps_state(self, handle: Handle) -> bool:
        assert isinstance(handle, _Nested)
        return bool(handle.method.serialized_by)

    def execute(self, context: BackendExecuteContext, handle: Handle, args: Sequence[object]) -> None:
        assert isinstance(handle, _Nested)
        count = handle.method.metadata.num_inputs()
        if len(args) != count + handle.method.metadata.num_outputs():
            raise ExecutorchError(
                Error.InvalidArgument,
                f"the call has {len(args)} arguments, the nested program {count} inputs and "
                f"{handle.method.metadata.num_outputs()} outputs",
            )
        inputs = [value.array if isinstance(value, Tensor) else value for value in args[:count]]
        if handle.tracer is not None:
            handle.tracer.context = context
        try:
            results = handle.method.execute(inputs, clone_outputs=False)
        except Trap as error:
            raise _outside(error) from error
        for target, result in zip(args[count:], results, strict=True):
            if not isinstance(target, Tensor) or not isinstance(result, np.ndarray):
                raise ExecutorchError(Error.InvalidType, "an output of a nested program is not a tensor")
            array = cast("Array", result)
            wanted = target.array.dtype
            if array.dtype != wanted:
                message = (
                    f"an output of the nested program is {array.dtype.name}, that of the call {wanted.name}"
                )
                raise ExecutorchError(Error.InvalidType, message)
            target.resize(array.shape)
            np.copyto(target.array, array, casting="no")


def memory_by_purpose(method: Method) -> dict[str, int]:
    """Bytes that a method of a backend's own holds, arenas together."""
    report: dict[str, int] = {}
    for label, nbytes in method.memory_report().items():
        name = "arenas" if label.startswith("arena") else label
        report[name] = report.get(name, 0) + nbytes
    return report


def _outside(error: Trap) -> ExecutorchError:
    """A trap of the nested program as an error of the call."""
    where = "" if error.instruction is None else f"instruction {error.instruction} "
    operator = f"({error.operator}) " if error.operator else ""
    return ExecutorchError(
        error.code,
        f"{where}{operator}of the nested program: {error.message}",
        where=error.where,
        hint=error.hint,
    )
