"""Code for AArch64, relocated by our loader, in an emulator (Debian: qemu-user, gcc-aarch64-linux-gnu, and
libc6-dev-arm64-cross): what it computes, and that it touches nothing outside of its buffers.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from native_guarded_runs import CASES, SIZED, blob, blobs, told
from native_modules import WINOGRAD_GROWTH
from support.accuracy import assert_accurate, largest, truth_of
from torch import nn

from et_backends.codegen.format import ENTRY, PREPARE
from et_backends.native.format import NativeProgram
from et_vm.backends.elf import MACHINES, link_object

COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for tool in (COMPILER, EMULATOR):
        if shutil.which(tool) is None:
            missing = f"{tool} is not installed: apt-get install -y $(cat .ci/packages.txt)"
            assert "CI" not in os.environ, missing
            pytest.skip(missing)
    made = tmp_path_factory.mktemp("runner") / "runner"
    source = Path(__file__).with_name("emulated_runner.c")
    subprocess.run([COMPILER, "-O1", "-static", "-o", made, source], check=True)
    return made


def emulated(
    runner: Path, folder: Path, program: NativeProgram, data: dict[str, memoryview], inputs: list[np.ndarray]
) -> np.ndarray:
    """The first output of a program for AArch64, whose derived constants are computed before."""
    (code,) = program.objects
    image = link_object(memoryview(code.code), MACHINES["aarch64"])
    path = folder / "image"
    path.write_bytes(image.content)
    words, results = told(program, [one.shape for one in inputs])
    outputs = [np.full(shape, np.nan, np.float32) for shape in results]
    buffers = [one.tobytes() for one in (*inputs, *outputs)]
    buffers += [bytes(data[constant.key][: constant.nbytes]) for constant in program.constants]
    buffers += [b"\xff" * nbytes for nbytes in program.derived]
    prepare = image.place(PREPARE) if program.derived else -1
    numbers = [prepare, image.place(ENTRY), len(buffers), program.arena_size, len(words), *words]
    done = subprocess.run(
        [
            EMULATOR,
            "-cpu",
            "cortex-a53",
            runner,
            path,
            *map(str, numbers),
            *(str(len(one)) for one in buffers),
        ],
        input=b"".join(buffers),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    at = sum(map(len, buffers[: len(inputs)]))
    return np.frombuffer(done.stdout, np.float32, outputs[0].size, at).reshape(outputs[0].shape)


def test_programs(runner: Path, tmp_path: Path) -> None:
    """Every case of the guarded runs, against eager."""
    modules = [module for module, *_ in (*CASES, *SIZED)]
    for module, (label, program, data, runs) in zip(modules, blobs("aarch64", kept=()), strict=True):
        random = np.random.default_rng(0)
        inputs = [random.standard_normal(shape).astype(np.float32) for shape in runs[-1]]
        found = emulated(runner, tmp_path, program, data, inputs)
        with torch.no_grad():
            expected = module(*map(torch.from_numpy, inputs)).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=label)


@pytest.mark.parametrize("algorithm", WINOGRAD_GROWTH)
def test_derived_constants(runner: Path, tmp_path: Path, algorithm: str) -> None:
    """Filters that are transformed when the program is loaded."""
    torch.manual_seed(0)
    module = nn.Conv2d(19, 20, 3, padding=1).eval()
    x = torch.randn(1, 19, 13, 10)
    program, data = blob(module, (x,), "aarch64", algorithm=algorithm)
    assert program.derived
    found = emulated(runner, tmp_path, program, data, [x.numpy()])
    truth = truth_of(module, x)
    assert_accurate(found, truth, scale=WINOGRAD_GROWTH[algorithm] * largest(truth.values[0]))
