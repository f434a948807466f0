"""A register VM that runs ExecuTorch programs on numpy.

`et_vm.runtime` has the API of `executorch.runtime`. The names below are the layer beneath it, with
memory, kernels, backends and tracing in the caller's hands; they are imported when they are first used, because
starting is part of the time that a run takes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from et_vm.backend import Backend, BackendRegistry
    from et_vm.kernels.loading import load_kernels
    from et_vm.kernels.registry import KernelRegistry
    from et_vm.kernels.user import kernel, kernels_of
    from et_vm.load.loader import BytesDataLoader, DataLoader, FileDataLoader, MmapDataLoader
    from et_vm.meta import MethodMeta, TensorInfo
    from et_vm.platform import LogLevel, Platform
    from et_vm.program import Program, Verification
    from et_vm.run.memory import MemoryManager
    from et_vm.run.method import Method
    from et_vm.state.buffers import State
    from et_vm.tracer import EventTracer, RecordingTracer
    from et_vm.values import Tensor

__version__: str

__all__ = [
    "Backend",
    "BackendRegistry",
    "BytesDataLoader",
    "DataLoader",
    "EventTracer",
    "FileDataLoader",
    "KernelRegistry",
    "LogLevel",
    "MemoryManager",
    "Method",
    "MethodMeta",
    "MmapDataLoader",
    "Platform",
    "Program",
    "RecordingTracer",
    "State",
    "Tensor",
    "TensorInfo",
    "Verification",
    "kernel",
    "kernels_of",
    "load_kernels",
]

_MODULES = {
    "Backend": "backend",
    "BackendRegistry": "backend",
    "BytesDataLoader": "load.loader",
    "DataLoader": "load.loader",
    "EventTracer": "tracer",
    "FileDataLoader": "load.loader",
    "KernelRegistry": "kernels.registry",
    "LogLevel": "platform",
    "MemoryManager": "run.memory",
    "Method": "run.method",
    "MethodMeta": "meta",
    "MmapDataLoader": "load.loader",
    "Platform": "platform",
    "Program": "program",
    "RecordingTracer": "tracer",
    "State": "state.buffers",
    "Tensor": "values",
    "TensorInfo": "meta",
    "Verification": "program",
    "kernel": "kernels.user",
    "kernels_of": "kernels.user",
    "load_kernels": "kernels.loading",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version  # reading package metadata takes its time

        from et_schema.distribution import NAME

        return version(NAME)
    module = _MODULES.get(name)
    if module is None:
        from et_schema.executorch_names import missing_name

        raise missing_name(__name__, name, __all__)
    value: object = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
