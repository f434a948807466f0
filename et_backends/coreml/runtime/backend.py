"""Runtime backend that evaluates ML programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from et_backends.coreml.format.blob import BACKEND, read_coreml
from et_backends.coreml.format.mil import MilType
from et_backends.coreml.runtime.program import CoremlProgram, Step
from et_backends.coreml.runtime.sites import DTYPES
from et_schema.errors import Error, ExecutorchError
from et_vm.backend import Backend, BackendExecuteContext, BackendInitContext, Handle
from et_vm.backends.accounting import Accountant
from et_vm.values import Array, Tensor

if TYPE_CHECKING:
    from et_schema.program import CompileSpec

__all__ = ["CoremlRuntime"]


class CoremlRuntime(Backend):
    """Evaluates programs with numpy kernels. Reports an event per operation, identified by the names of its values.

    Arguments are converted as ExecuTorch's runtime does: integers of 64 bits to 32, bools to floats, and back.
    """

    backend_id = BACKEND

    def init(
        self, context: BackendInitContext, processed: memoryview, compile_specs: Sequence[CompileSpec]
    ) -> Handle:
        """Raises InvalidFile(DelegateInvalidCompatibility) for a program that makes no sense or is not supported."""
        del compile_specs
        return CoremlProgram(
            read_coreml(processed, context.named_data), Accountant(context.platform, context.meter)
        )

    def memory_report(self, handle: Handle) -> Mapping[str, int]:
        assert isinstance(handle, CoremlProgram)
        return {"steps": len(handle.steps)}

    def execute(self, context: BackendExecuteContext, handle: Handle, args: Sequence[object]) -> None:
        assert isinstance(handle, CoremlProgram)
        program = handle
        count = len(program.inputs)
        if len(args) != count + len(program.outputs):
            raise ExecutorchError(
                Error.InvalidArgument,
                f"{len(args)} arguments, expected {count} inputs and {len(program.outputs)} outputs",
            )
        arrays = [
            _array(arg, type, f"argument {number}")
            for number, (arg, (_, type)) in enumerate(
                zip(args, [*program.inputs, *program.outputs], strict=True)
            )
        ]
        inputs = [
            _converted(program.accountant, array, type, f"input {number}")
            for number, (array, (_, type)) in enumerate(zip(arrays, program.inputs, strict=False))
        ]

        def observe(step: Step, run: Callable[[], Any]) -> Any:
            return context.timed(step.op.outputs[0][0], step.op.type, run)

        for array, made in zip(
            arrays[count:], program.run(inputs, observe if context.tracer is not None else None), strict=True
        ):
            np.copyto(array, made, casting="unsafe")


def _array(arg: object, type: MilType, what: str) -> Array:
    """The elements of an argument; one without dimensions has one element. Raises ExecutorchError for another shape."""
    if not isinstance(arg, Tensor):
        raise ExecutorchError(Error.InvalidArgument, f"{what} is not a tensor")
    array = np.atleast_1d(arg.array)
    if array.shape != type.shape:
        raise ExecutorchError(
            Error.InvalidArgument, f"{what} has the sizes {list(array.shape)}, expected {list(type.shape)}"
        )
    return array


def _converted(accountant: Accountant, array: Array, type: MilType, what: str) -> Array:
    def convert(array: Array) -> Array:
        made = array.astype(DTYPES[type.name], order="C")
        if array.dtype.kind == "i" and not np.array_equal(made, array):
            raise ExecutorchError(
                Error.InvalidArgument, f"{what} has integers that {type.name.name.lower()} does not hold"
            )
        return made

    # The comparison has a bool for each element.
    return accountant.evaluate(convert, [array], type.nbytes, prod(type.shape))
