"""The backend that runs TOSA files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from et_backends.tosa.format.blob import BACKEND, read_tosa
from et_backends.tosa.format.graph import DType
from et_backends.tosa.format.operators import TosaType
from et_backends.tosa.runtime.program import Step, TosaProgram
from et_schema.errors import Error, ExecutorchError
from et_schema.scalar_type import ScalarType
from et_vm.backend import Backend, BackendExecuteContext, BackendInitContext, Handle
from et_vm.backends.accounting import Accountant
from et_vm.values import Array, Tensor

if TYPE_CHECKING:
    from et_schema.program import CompileSpec

__all__ = ["TosaRuntime"]

_TYPES = {
    ScalarType.BOOL: DType.BOOL,
    ScalarType.CHAR: DType.INT8,
    ScalarType.SHORT: DType.INT16,
    ScalarType.INT: DType.INT32,
    ScalarType.LONG: DType.INT64,
    ScalarType.HALF: DType.FP16,
    ScalarType.FLOAT: DType.FP32,
}


class TosaRuntime(Backend):
    """Runs each file with numpy kernels. Events are of operators, by their numbers.

    A tensor is passed as it is in memory: its shape in a file is that of its dimensions in the order of memory.
    """

    backend_id = BACKEND

    def init(
        self, context: BackendInitContext, processed: memoryview, compile_specs: Sequence[CompileSpec]
    ) -> Handle:
        """Raises InvalidFile(DelegateInvalidCompatibility), with the table path, for a file that makes no sense or
        whose constants the program lacks, and OutOfMemory where what is derived from them would pass the limit.
        """
        del compile_specs
        accountant = Accountant(context.platform, context.meter)
        return TosaProgram(read_tosa(processed), accountant, context.named_data)

    def memory_report(self, handle: Handle) -> Mapping[str, int]:
        assert isinstance(handle, TosaProgram)
        return {"steps": len(handle.steps)}

    def execute(self, context: BackendExecuteContext, handle: Handle, args: Sequence[object]) -> None:
        assert isinstance(handle, TosaProgram)
        program = handle
        count = len(program.inputs)
        if len(args) != count + len(program.outputs):
            raise ExecutorchError(
                Error.InvalidArgument,
                f"{len(args)} arguments, expected {count} inputs and {len(program.outputs)} outputs",
            )
        inputs = [
            _in_memory(arg, type, f"input {number}")
            for number, (arg, (_, type)) in enumerate(zip(args, program.inputs, strict=False))
        ]

        def observe(step: Step, run: Callable[[], Array]) -> Array:
            return context.timed(step.number, step.op.name, run)

        results = program.run(inputs, observe if context.tracer is not None else None)
        for number, (arg, made, (_, type)) in enumerate(
            zip(args[count:], results, program.outputs, strict=True)
        ):
            np.copyto(_in_memory(arg, type, f"output {number}"), made)


def _in_memory(arg: object, type: TosaType, what: str) -> Array:
    """The elements of an argument, in the order of memory. Raises ExecutorchError for one of another type."""
    if not isinstance(arg, Tensor):
        raise ExecutorchError(Error.InvalidArgument, f"{what} is not a tensor")
    array = arg.array.transpose(arg.dim_order)
    if array.shape != type.shape or _TYPES.get(arg.scalar_type) is not type.dtype:
        raise ExecutorchError(
            Error.InvalidArgument,
            f"{what} is {arg.scalar_type.name} {list(array.shape)}, expected {type.dtype.name} {list(type.shape)}",
        )
    return array
