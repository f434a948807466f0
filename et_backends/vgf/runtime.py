"""Runtime backend for VGF files: Arm's scenario runner, on a Vulkan driver with or without Arm's emulation layers.

The driver, or the layers, compile the graphs and run them outside et-vm's checks, so the user has to allow them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from et_backends.vgf.format import BACKEND, BYTES, FORMATS, VgfFile, VgfTensor, read_vgf
from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_vm.backend import Backend, BackendExecuteContext, BackendInitContext, Handle
from et_vm.values import Tensor

if TYPE_CHECKING:
    from et_schema.program import CompileSpec

__all__ = ["VgfRuntime"]

_RUNNERS_FORMATS: Final = {
    "bool": "R8BoolArm",
    "float16": "R16Sfloat",
    "float32": "R32Sfloat",
    "int16": "R16Sint",
    "int32": "R32Sint",
    "int8": "R8Sint",
}
"""The runner's names of formats, by numpy's of element types."""

_LAYERS: Final = {
    "VkLayer_Graph": "VK_LAYER_ML_Graph_Emulation",
    "VkLayer_Tensor": "VK_LAYER_ML_Tensor_Emulation",
}
"""The emulation layers by file, from the application to the driver."""


class VgfRuntime(Backend):
    """Runs each file with inputs and outputs in the order of bindings.

    A tensor is passed as it is in memory: its shape in a file is that of its dimensions in the order of memory.
    """

    backend_id = BACKEND

    def init(
        self, context: BackendInitContext, processed: memoryview, compile_specs: Sequence[CompileSpec]
    ) -> Handle:
        """Raises ExecutorchError: NotSupported where machine code is not allowed, NotFound without Arm's scenario
        runner, DelegateInvalidCompatibility for a damaged blob, InvalidArgument for one that takes other tensors than
        the program gives it.
        """
        del compile_specs
        file = read_vgf(processed)
        context.require_native("graphs that a Vulkan driver compiles and runs outside et-vm's checks")
        if find_spec("scenario_runner") is None:
            raise ExecutorchError(
                Error.NotFound,
                "the package ai_ml_sdk_scenario_runner is not installed",
                where=context.method_name,
                hint="pip install ai_ml_sdk_scenario_runner, and ai_ml_emulation_layer_for_vulkan for drivers "
                "without Arm's extensions",
            )
        with _reported(context.method_name):
            return _Delegate(context.method_name, file, bytes(processed), context.arguments)

    def execute(self, context: BackendExecuteContext, handle: Handle, args: Sequence[object]) -> None:
        assert isinstance(handle, _Delegate)
        context.timed("graph", "VGF", lambda: handle.execute(args))


@contextmanager
def _reported(method_name: str) -> Generator[None]:
    """Errors of the runner as those of the VM."""
    try:
        yield
    except (RuntimeError, ValueError, IndexError, MemoryError) as error:
        raise ExecutorchError(
            Error.DelegateInvalidCompatibility,
            f"the Vulkan driver cannot run the VGF file: {error}",
            where=method_name,
            hint="it needs VK_ARM_tensors and VK_ARM_data_graph: pip install ai_ml_emulation_layer_for_vulkan",
        ) from error


class _Delegate:
    """A file that is loaded onto a Vulkan device."""

    def __init__(self, method_name: str, file: VgfFile, blob: bytes, args: Sequence[object]) -> None:
        """Raises RuntimeError where the device cannot run the file, and ExecutorchError if it does not take `args`.

        The device has memory for tensors of the file's sizes, which are thus no others than the program's.
        """
        self._method_name = method_name
        self._types = [*file.inputs, *file.outputs]
        self._inputs = len(file.inputs)
        self._wanted = [(one.shape, _element_type(one)) for one in self._types]
        for one in file.constants:
            if one.format not in BYTES:
                raise _unsupported(one.format)
        self._checked(args)
        runner: Any = import_module("scenario_runner")
        builder = runner.ScenarioBuilder()
        self._tensors = [
            builder.add_tensor(list(shape), getattr(runner.Format, _RUNNERS_FORMATS[name]))
            for shape, name in self._wanted
        ]
        info = runner.VgfInfo()
        with NamedTemporaryFile(suffix=".vgf") as source:
            source.write(blob)
            source.flush()
            info.load_source(source.name)
        dispatch = runner.DispatchVgfData(builder.add_vgf(info))
        kind = runner.DescriptorType.TensorArm
        dispatch.bindings = [
            runner.TypedBinding(0, type.binding, tensor, kind)
            for type, tensor in zip(self._types, self._tensors, strict=True)
        ]
        builder.add_dispatch_vgf(dispatch)
        with _emulation():
            self._scenario = builder.build()

    def execute(self, args: Sequence[object]) -> None:
        """Compute the outputs, the last arguments. Raises ExecutorchError for arguments of other types."""
        arrays = [arg.array.transpose(arg.dim_order) for arg in self._checked(args)]
        pairs = list(zip(self._tensors, arrays, strict=True))
        with _reported(self._method_name):
            for tensor, array in pairs[: self._inputs]:
                self._scenario.upload(tensor, np.ascontiguousarray(array))
            self._scenario.run()
            for tensor, array in pairs[self._inputs :]:
                np.copyto(array, self._scenario.download(tensor).view(array.dtype).reshape(array.shape))

    def _checked(self, args: Sequence[object]) -> list[Tensor]:
        tensors = [arg for arg in args if isinstance(arg, Tensor)]
        all_given = len(tensors) == len(args)
        places = [one.binding for one in self._types]
        if len(places) < len(tensors) and max(places, default=0) < len(tensors):
            # The converter leaves out inputs that it finds to be unused; the others keep their numbers.
            tensors = [tensors[place] for place in places]
        given = [(tuple(one.sizes[dim] for dim in one.dim_order), one.dtype.name) for one in tensors]
        if not all_given or given != self._wanted:
            raise ExecutorchError(
                Error.InvalidArgument,
                f"the VGF file takes other tensors than it is given: {given}",
                where=self._method_name,
            )
        return tensors


def _element_type(tensor: VgfTensor) -> str:
    """numpy's name of it."""
    if tensor.format not in FORMATS:
        raise _unsupported(tensor.format)
    return FORMATS[tensor.format]


def _unsupported(format: int) -> InvalidFile:
    return InvalidFile(
        f"a tensor of format {format}", code=Error.DelegateInvalidCompatibility, where="resources"
    )


_ENVIRONMENT: Final = Lock()
"""Held by whoever changes the environment, of which a process has one."""


@contextmanager
def _emulation() -> Generator[None]:
    """Arm's emulation layers, if they are installed and not set up, for devices that are opened meanwhile.

    In any thread: loaders read the environment. Devices that are open are left as they are.
    """
    with _ENVIRONMENT, _layers():
        yield


@contextmanager
def _layers() -> Generator[None]:
    found = find_spec("emulation_layer")
    if found is None or found.origin is None or "VK_INSTANCE_LAYERS" in os.environ:
        yield
        return
    deployed = Path(found.origin).parent / "deploy"
    before = dict(os.environ)
    with TemporaryDirectory() as name:
        folders: list[str] = []
        for file in _LAYERS:
            # Loaders before 1.3.240 put layers in the order of their manifests, not in that of the variable.
            folder = Path(name, file)
            folder.mkdir()
            manifest = json.loads(
                (deployed / f"share/vulkan/explicit_layer.d/{file}.json").read_text("utf-8")
            )
            library = manifest["layer"]["library_path"]
            manifest["layer"]["library_path"] = str(deployed / "lib" / library)
            Path(folder, f"{file}.json").write_text(json.dumps(manifest), "utf-8")
            folders.append(str(folder))
        os.environ["VK_LAYER_PATH"] = os.pathsep.join(folders)
        os.environ["VK_INSTANCE_LAYERS"] = os.pathsep.join(_LAYERS.values())
        try:
            yield
        finally:
            for key in ("VK_LAYER_PATH", "VK_INSTANCE_LAYERS"):
                os.environ.pop(key)
                if key in before:
                    os.environ[key] = before[key]
