"""Loops of the VM, kernels to test them with, and programs in files."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.vm_programs import Build, kernels

from et_vm.kernels.registry import KernelRegistry
from et_vm.tracer import RecordingTracer


@pytest.fixture
def registry() -> KernelRegistry:
    """A few kernels written here, so that the VM is tested apart from its kernel libraries."""
    return kernels()


@pytest.fixture(params=["plain", "poisoned", "traced"])
def mode(request: pytest.FixtureRequest) -> dict[str, object]:
    """The options that choose each of the loops."""
    return {"plain": {}, "poisoned": {"poison": True}, "traced": {"tracer": RecordingTracer()}}[request.param]


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., str]:
    """Writes a program and returns its path."""

    def write(build: Build | bytes, name: str = "model.pte") -> str:
        path = tmp_path / name
        path.write_bytes(build if isinstance(build, bytes) else build.file())
        return str(path)

    return write
