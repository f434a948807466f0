"""Runtime backend for Vulkan compute shaders, with all resources created at load.

Shaders are compiled by a driver and run outside et-vm's checks, so the user has to allow them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from et_backends.vulkan.format.blob import (
    ALIGNMENT,
    BACKEND,
    NO_REPORT,
    VulkanMemory,
    VulkanProgram,
    VulkanTensor,
    capabilities_of,
    group_counts,
    nbytes_of,
    read_vulkan,
)
from et_backends.vulkan.format.spirv import capability_name
from et_backends.vulkan.runtime.device import Binding, Device, Dispatch, Pipeline, open_device
from et_schema.errors import Error, ExecutorchError
from et_schema.scalar_type import numpy_dtype
from et_schema.wording import worded
from et_vm.backend import Backend, BackendExecuteContext, BackendInitContext, Handle
from et_vm.values import Array, Tensor

if TYPE_CHECKING:
    from et_schema.program import CompileSpec

__all__ = ["SpirvBackend"]


class SpirvBackend(Backend):
    """Loads shaders onto a Vulkan device and runs them."""

    backend_id = BACKEND

    def init(
        self, context: BackendInitContext, processed: memoryview, compile_specs: Sequence[CompileSpec]
    ) -> Handle:
        """Raises ExecutorchError: NotSupported where machine code is not allowed or the device lacks what a shader
        needs, NotFound without a loader, driver or device, DelegateInvalidCompatibility for a damaged blob.
        """
        del compile_specs
        program = read_vulkan(processed)
        context.require_native("shaders, which a driver compiles and runs outside et-vm's checks")
        device = open_device()
        _check_device(device, program)
        _check_steps(device, program)
        delegate = _Delegate(context, device, program)
        processed.release()
        return delegate

    def execute(self, context: BackendExecuteContext, handle: Handle, args: Sequence[object]) -> None:
        assert isinstance(handle, _Delegate)
        context.timed("shaders", "Vulkan", lambda: handle.execute(args))

    def destroy(self, handle: Handle) -> None:
        assert isinstance(handle, _Delegate)
        handle.destroy()

    def memory_report(self, handle: Handle) -> Mapping[str, int]:
        assert isinstance(handle, _Delegate)
        return {"device memory": handle.memory.array.nbytes}


def _check_device(device: Device, program: VulkanProgram) -> None:
    """Whether the device can run the shaders. Raises ExecutorchError(NotSupported)."""
    missing = capabilities_of(program) - device.capabilities
    if missing:
        names = ", ".join(map(capability_name, sorted(missing)))
        raise ExecutorchError(
            Error.NotSupported,
            f"the Vulkan device {device.name} lacks capabilities that the shaders need: {names}",
            hint="compile the program without the operators that need them: "
            + worded(python='make_partitioner("vulkan:without=…")', command="--backend vulkan:without=…"),
        )
    buffers = max(len(one.buffers) for one in program.dispatches)
    nbytes = max((one.nbytes for dispatch in program.dispatches for one in dispatch.buffers), default=0)
    if buffers > device.most_buffers or nbytes > device.most_bytes:
        raise ExecutorchError(
            Error.NotSupported,
            f"a shader has {buffers} buffers of up to {nbytes:,} bytes; the Vulkan device {device.name} supports "
            f"{device.most_buffers} of up to {device.most_bytes:,}",
            hint="compile the program for another backend",
        )


def _check_steps(device: Device, program: VulkanProgram) -> None:
    """Whether the driver runs loops to their end. Raises ExecutorchError(NotSupported)."""
    most = max(one.steps for one in program.dispatches)
    if device.most_steps is not None and most > device.most_steps:
        name = next(program.shaders[one.shader].name for one in program.dispatches if one.steps == most)
        raise ExecutorchError(
            Error.NotSupported,
            f"the shader {name} may run {most:,} loop iterations; the driver of {device.name} ends loops after "
            f"{device.most_steps:,}, which would give wrong results",
            hint="run it on another device, or compile the operator for another backend",
        )


class _Delegate:
    """A loaded partition: one buffer with constants, inputs, outputs, arena and reports, and recorded commands."""

    def __init__(self, context: BackendInitContext, device: Device, program: VulkanProgram):
        self._device = device
        self._inputs, self._outputs = list(program.inputs), list(program.outputs)
        self._messages = [one.text for one in program.messages]
        self._poison = context.poison
        places, size = _places(program)
        self.memory = device.allocate(size)
        self._pipelines: list[Pipeline] = []
        try:
            for number, constant in enumerate(program.constants):
                self._fill(
                    context, places[VulkanMemory.CONSTANT, number], constant.key, f"constants[{number}]"
                )
            self._compile(program)
            dispatches = [
                Dispatch(
                    self._pipelines[one.shader],
                    [
                        Binding(places[buffer.memory, buffer.number].offset + buffer.offset, buffer.nbytes)
                        for buffer in one.buffers
                    ],
                    list(one.words),
                    group_counts(one.invocations),
                )
                for one in program.dispatches
            ]
            self._recording = device.record(self.memory, dispatches)
        except BaseException:
            self._destroy_shaders()
            raise
        self._arena = self._view(places[VulkanMemory.ARENA, 0])
        self._report = self._view(places[VulkanMemory.REPORT, 0]).view(np.uint32)
        self._memory_of = [
            self._elements(places[kind, number], tensor)
            for kind, tensors in ((VulkanMemory.INPUT, self._inputs), (VulkanMemory.OUTPUT, self._outputs))
            for number, tensor in enumerate(tensors)
        ]

    def _view(self, place: Binding) -> Array:
        return self.memory.array[place.offset : place.offset + place.nbytes]

    def _elements(self, place: Binding, tensor: VulkanTensor) -> Array:
        """The elements of an input or output."""
        return self._view(place).view(np.float16 if tensor.is_half else numpy_dtype(tensor.scalar_type))

    def _fill(self, context: BackendInitContext, place: Binding, key: str, where: str) -> None:
        data = context.constant(key, place.nbytes, where)
        self._view(place)[:] = np.frombuffer(data, np.uint8, place.nbytes)

    def _compile(self, program: VulkanProgram) -> None:
        """A pipeline of each shader, for the arguments that its dispatches have."""
        first = {one.shader: one for one in reversed(list(program.dispatches))}
        for number, shader in enumerate(program.shaders):
            used = first.get(number)
            buffers, words = (len(used.buffers), len(used.words)) if used is not None else (0, 0)
            self._pipelines.append(self._device.pipeline(shader.code, buffers, words))

    def execute(self, args: Sequence[object]) -> None:
        """Copy the inputs, run, copy the outputs. Raises ExecutorchError(InvalidArgument) for other arguments."""
        tensors = [*self._inputs, *self._outputs]
        if len(args) != len(tensors):
            raise ExecutorchError(
                Error.InvalidArgument, f"the call has {len(args)} arguments, the shaders take {len(tensors)}"
            )
        storages: list[Array] = []
        for place, (arg, expected) in enumerate(zip(args, tensors, strict=True)):
            if isinstance(arg, Tensor) and place >= len(self._inputs):
                arg.resize(tuple(expected.sizes))
            storages.append(_checked(arg, expected, place))
        count = len(self._inputs)
        if self._poison:
            self._arena[:] = 0xFF
        self._report[0] = NO_REPORT
        # What a half does not hold is infinite.
        with np.errstate(over="ignore"):
            for memory, storage in zip(self._memory_of, storages[:count], strict=False):
                memory[:] = storage
        self._device.run(self._recording)
        for memory, storage in zip(self._memory_of[count:], storages[count:], strict=True):
            storage[:] = memory
        number = int(self._report[0])
        if number != NO_REPORT:
            known = number < len(self._messages)
            text = self._messages[number] if known else f"the code reports {number}, which has no message"
            raise ExecutorchError(Error.InvalidArgument, text)

    def _destroy_shaders(self) -> None:
        for pipeline in self._pipelines:
            self._device.destroy_pipeline(pipeline)
        self._device.free(self.memory)

    def destroy(self) -> None:
        """Give all to the device back."""
        self._device.destroy_recording(self._recording)
        self._destroy_shaders()


def _places(program: VulkanProgram) -> tuple[dict[tuple[VulkanMemory, int], Binding], int]:
    """Offsets in the buffer of a partition, and its total size."""
    sizes = {
        **{(VulkanMemory.CONSTANT, at): one.nbytes for at, one in enumerate(program.constants)},
        **{(VulkanMemory.INPUT, at): nbytes_of(one) for at, one in enumerate(program.inputs)},
        **{(VulkanMemory.OUTPUT, at): nbytes_of(one) for at, one in enumerate(program.outputs)},
        (VulkanMemory.ARENA, 0): program.arena_size,
        (VulkanMemory.REPORT, 0): 4,
    }
    places: dict[tuple[VulkanMemory, int], Binding] = {}
    end = 0
    for key, nbytes in sizes.items():
        places[key] = Binding(end, nbytes)
        end += -(-nbytes // ALIGNMENT) * ALIGNMENT
    return places, end


def _checked(arg: object, expected: VulkanTensor, place: int) -> Array:
    """The elements of an argument in the order of memory, which is as the shaders expect it."""
    if not isinstance(arg, Tensor) or arg.storage is None:
        raise ExecutorchError(Error.InvalidArgument, f"argument {place} is not a tensor with data: {arg!r}")
    sizes, name = tuple(expected.sizes), expected.scalar_type.name.lower()
    if (
        arg.scalar_type != expected.scalar_type
        or arg.sizes != sizes
        or arg.dim_order != tuple(expected.dim_order)
    ):
        raise ExecutorchError(
            Error.InvalidArgument,
            f"argument {place} is {arg}; the shaders are for {name} of sizes {list(sizes)}",
        )
    return arg.storage[: prod(sizes) * arg.dtype.itemsize].view(arg.dtype)
