"""Runs models for OpenVINO by the package `openvino`: what the compiler's backend of that name writes, or stock's.

OpenVINO reads the blob and computes outside of et-vm's checks, so a model runs only where the user allows machine code.
Sizes and element types are compared with those of the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from et_schema.errors import Error, ExecutorchError
from et_vm.backend import Backend, BackendExecuteContext, BackendInitContext, Handle
from et_vm.values import Tensor

if TYPE_CHECKING:
    from et_schema.program import CompileSpec

__all__ = ["OpenvinoBackend", "shared_core"]


class _Model(NamedTuple):
    request: Any
    inputs: list[tuple[tuple[int, ...], np.dtype[Any]]]
    outputs: list[tuple[tuple[int, ...], np.dtype[Any]]]


class OpenvinoBackend(Backend):
    """Imports a model when a method is loaded, and infers with the memory of the program's tensors."""

    backend_id = "OpenvinoBackend"

    def init(
        self, context: BackendInitContext, processed: memoryview, compile_specs: Sequence[CompileSpec]
    ) -> Handle:
        """Raises ExecutorchError: NotSupported where machine code is not allowed, NotFound without the package,
        DelegateInvalidCompatibility for a blob or a device that OpenVINO does not take.
        """
        context.require_native("a model for OpenVINO, which runs outside et-vm's checks")
        core = _core_for(context.method_name)
        settings = {spec.key: bytes(spec.value).decode(errors="replace") for spec in compile_specs}
        device = settings.get("device", "CPU")
        options: dict[str, str] = {}
        if device == "CPU":
            options["INFERENCE_NUM_THREADS"] = str(context.native.threads)
        if settings.get("precision") != "fast":
            options["INFERENCE_PRECISION_HINT"] = "f32"
        try:
            # The header of a blob says which OpenVINO has written it, and for which processor.
            compiled = core.import_model(bytes(processed), device, options)
            model = _Model(
                compiled.create_infer_request(),
                [_facts(port) for port in compiled.inputs],
                [_facts(port) for port in compiled.outputs],
            )
        except RuntimeError as error:
            raise ExecutorchError(
                Error.DelegateInvalidCompatibility,
                f"OpenVINO cannot import the model: {_first_line(error)}",
                where=context.method_name,
                hint=f"it was made for {device} by another version or processor, or is damaged; compile it again",
            ) from error
        processed.release()
        return model

    def execute(self, context: BackendExecuteContext, handle: Handle, args: Sequence[object]) -> None:
        assert isinstance(handle, _Model)
        wanted = [*handle.inputs, *handle.outputs]
        arrays = [arg.array for arg in args if isinstance(arg, Tensor)]
        if len(arrays) != len(args) or [(array.shape, array.dtype) for array in arrays] != wanted:
            given = ", ".join(f"{array.dtype.name} {list(array.shape)}" for array in arrays)
            raise ExecutorchError(
                Error.DelegateInvalidCompatibility,
                f"the model takes other tensors than it is given: {given}",
                where=context.method_name,
            )
        count = len(handle.inputs)
        start = context.platform.ticks()
        handle.request.infer([np.asarray(array, order="C") for array in arrays[:count]], share_inputs=True)
        for at, array in enumerate(arrays[count:]):
            np.copyto(array, handle.request.get_output_tensor(at).data)
        context.log("model", "OpenVINO", start, context.platform.ticks())


_MAKING: Final = Lock()
"""Held while the Core is made: of two threads that load their first models, both would make one."""


def shared_core() -> Any:
    """The `openvino.Core` of all models, which is never destroyed. Raises ModuleNotFoundError without the package.

    On processors with AMX, the CPU plugin of each Core sets an alternate stack for signal handlers, and restores the
    one before when it is unloaded. If another Core was made in between, that one restores a stack which is no longer
    mapped, and the next signal ends the process with SIGSEGV: Ctrl-C, too.
    """
    with _MAKING:
        return _core()


@cache
def _core() -> Any:
    return import_module("openvino").Core()


def _core_for(where: str) -> Any:
    try:
        return shared_core()
    except ModuleNotFoundError as error:
        raise ExecutorchError(
            Error.NotFound, "the package openvino is not installed", where=where, hint="pip install openvino"
        ) from error


def _facts(port: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Sizes and element type of an input or output of a model."""
    return tuple(port.get_shape()), np.dtype(port.get_element_type().to_dtype())


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
