"""Example models as machine code: their accuracy, and no access outside of their memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from example_models import Model
from support.accuracy import assert_accurate

from et_backends.codegen.object_code import INSTRUCTION_SETS
from et_backends.native.compiler import NativePartitioner
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_vm.backends.cpu import cpu_features
from et_vm.runtime import Runtime

SETS = [name for name, one in INSTRUCTION_SETS.items() if cpu_features().issuperset(one.cpu_flags)]


@pytest.fixture(scope="module", params=SETS)
def native_file(model: Model, request: pytest.FixtureRequest) -> bytes:
    """The model compiled for each instruction set of this machine in turn."""
    partitioner = NativePartitioner(instruction_sets=[request.param])
    edge = to_edge_transform_and_lower(model.program, partitioner=partitioner)
    return edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer


def test_accuracy(model: Model, native_file: bytes) -> None:
    results: list[bytes] = []
    for threads in (1, 2, 3):
        program = Runtime(threads=threads).load_program(native_file, allow_native=True, poison=True)
        method = program.load_method("forward")
        method.execute(model.inputs)
        found = [torch.as_tensor(one) for one in method.execute(model.inputs)]
        assert_accurate(found, model.truth)
        results.append(b"".join(one.numpy().tobytes() for one in found))
    assert len(set(results)) == 1


def test_no_access_outside_of_memory(model: Model, native_file: bytes, tmp_path: Path) -> None:
    tmp_path.joinpath("model.pte").write_bytes(native_file)
    torch.save(model.inputs, tmp_path / "inputs.pt")
    torch.save(model.expected, tmp_path / "expected.pt")
    script = Path(__file__).with_name("guarded_native_model.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "guard pages behind\nguard pages before\n"
