"""Makes the test-only modules of this folder importable by the tests below it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from vm_programs import kernels

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
