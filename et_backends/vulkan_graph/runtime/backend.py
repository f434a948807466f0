"""The backend that runs Vulkan graphs on the VM's own kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from et_backends.nested.runtime import memory_by_purpose
from et_backends.vulkan_graph.format.blob import BACKEND, VkBlob, read_vkgraph
from et_backends.vulkan_graph.format.tables import SymInt
from et_backends.vulkan_graph.runtime.calls import translate
from et_backends.vulkan_graph.runtime.plan import METHOD, Plan
from et_schema.errors import Error, ExecutorchError, InvalidFile, Trap
from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.backend import Backend, BackendExecuteContext, BackendInitContext, BackendRegistry, Handle
from et_vm.platform import Platform
from et_vm.program import Program
from et_vm.tracer import EventTracer
from et_vm.values import Array, Tensor

if TYPE_CHECKING:
    from et_schema.program import CompileSpec
    from et_vm.run.method import Method
    from et_vm.work import WorkMeter

__all__ = ["VulkanGraphBackend", "program_of"]


class VulkanGraphBackend(Backend):
    """Translates each graph to a program of kernel calls when it is loaded. Events are of operator calls, by the
    identifiers of the graph.

    Arguments are converted as ExecuTorch's runtime does: 64-bit integers and floats to 32 bits, and back.
    """

    backend_id = BACKEND

    def init(
        self, context: BackendInitContext, processed: memoryview, compile_specs: Sequence[CompileSpec]
    ) -> Handle:
        """Raises InvalidFile(DelegateInvalidCompatibility), with table path and byte, for a blob that makes no sense,
        ExecutorchError(NotSupported) for an operator without a kernel.
        """
        del compile_specs
        blob = read_vkgraph(processed)
        delegate = _Delegate(context, blob)
        if not blob.data:
            # All that is left of it is in the delegate.
            processed.release()
        return delegate

    def memory_report(self, handle: Handle) -> Mapping[str, int]:
        assert isinstance(handle, _Delegate)
        return memory_by_purpose(handle.method)

    def execute(self, context: BackendExecuteContext, handle: Handle, args: Sequence[object]) -> None:
        assert isinstance(handle, _Delegate)
        handle.execute(context, args)


def program_of(
    blob: VkBlob, named_data: Mapping[str, memoryview], platform: Platform, meter: WorkMeter | None = None
) -> tuple[bytes, Plan]:
    """The program that computes a graph, and the plan that it was made from, which has its constants.

    Raises InvalidFile for arguments that operators do not take, ExecutorchError(NotSupported) for other operators.
    """
    plan = Plan(blob, named_data, platform, meter)
    translate(plan, blob.graph)
    return plan.finish(), plan


class _Calls(EventTracer):
    """Tells the program around of each operator call."""

    def __init__(self, identifiers: Sequence[int]) -> None:
        self.context: BackendExecuteContext | None = None
        self._identifiers = identifiers

    def on_instruction(self, method: str, index: int, opcode: str, name: str, start: int, end: int) -> None:
        if self.context is not None:
            self.context.log(self._identifiers[index], name, start, end)


class _Delegate:
    """A loaded graph."""

    def __init__(self, context: BackendInitContext, blob: VkBlob) -> None:
        program, plan = program_of(blob, context.named_data, context.platform, context.meter)
        self._reservations = plan.reservations
        self._types = plan.staged_types([*blob.graph.input_ids, *blob.graph.output_ids])
        self._numbers = [isinstance(blob.graph.values[one].value, SymInt) for one in blob.graph.input_ids]
        self._count = len(blob.graph.input_ids)
        self._tracer = None if context.tracer is None else _Calls(plan.identifiers)
        try:
            self.method: Method = Program.load(program, platform=context.platform).load_method(
                METHOD,
                kernels="portable" if context.kernels is None else context.kernels,
                backends=BackendRegistry(),
                tracer=self._tracer,
                poison=context.poison,
                external=plan.external,
                meter=context.meter,
            )
        except Trap as error:
            raise _outside(error) from error
        except InvalidFile as error:
            # Its place is one in the program that was made of the graph.
            message = f"the graph makes no program: {error.message}"
            raise InvalidFile(message, code=Error.DelegateInvalidCompatibility, hint=error.hint) from error

    def execute(self, context: BackendExecuteContext, args: Sequence[object]) -> None:
        if len(args) != len(self._types):
            raise ExecutorchError(
                Error.InvalidArgument,
                f"the call has {len(args)} arguments, the graph {self._count} inputs and "
                f"{len(self._types) - self._count} outputs",
            )
        metadata = self.method.metadata
        inputs = [
            _staged(
                arg,
                type,
                metadata.input_tensor_meta(number).dtype(),
                self._numbers[number],
                f"input {number}",
            )
            for number, (arg, type) in enumerate(zip(args[: self._count], self._types, strict=False))
        ]
        if self._tracer is not None:
            self._tracer.context = context
        try:
            results = self.method.execute(inputs, clone_outputs=False)
        except Trap as error:
            raise _outside(error) from error
        for number, (target, made) in enumerate(zip(args[self._count :], results, strict=True)):
            _give(target, np.asarray(made), f"output {number}")


def _staged(arg: object, staged: ScalarType, held: ScalarType, is_number: bool, what: str) -> Array:
    """The elements of an argument in the type that the graph has them. Raises ExecutorchError for another type."""
    if isinstance(arg, int) and is_number:
        return np.array(arg, np.int64)
    if not isinstance(arg, Tensor):
        raise ExecutorchError(Error.InvalidArgument, f"{what} is not a tensor: {arg!r}")
    array = arg.array.reshape(()) if is_number and arg.numel == 1 else arg.array
    narrowed = {ScalarType.LONG: ScalarType.INT, ScalarType.DOUBLE: ScalarType.FLOAT}.get(arg.scalar_type)
    if staged not in (arg.scalar_type, narrowed):
        raise ExecutorchError(
            Error.InvalidArgument,
            f"{what} is {arg.scalar_type.torch_name}, the graph takes {staged.torch_name}",
        )
    made = array.astype(numpy_dtype(held))
    if array.dtype.kind in "iu" and not np.array_equal(made, array):
        raise ExecutorchError(
            Error.InvalidArgument, f"{what} has integers that {held.torch_name} does not hold"
        )
    return made


def _give(target: object, made: Array, what: str) -> None:
    """Write a result into an argument, whose type may be wider or narrower of the same kind."""
    if not isinstance(target, Tensor):
        raise ExecutorchError(Error.InvalidArgument, f"{what} is not a tensor: {target!r}")
    target.resize(made.shape)
    if target.dtype.kind != made.dtype.kind:
        raise ExecutorchError(
            Error.InvalidArgument,
            f"{what} is {target.scalar_type.torch_name}, the graph gives {made.dtype.name}",
        )
    np.copyto(target.array, made, casting="same_kind")


def _outside(error: Trap) -> ExecutorchError:
    """A trap of the program made of a graph as an error of the call."""
    operator = f"{error.operator}: " if error.operator else ""
    return ExecutorchError(error.code, f"{operator}{error.message}", hint=error.hint)
