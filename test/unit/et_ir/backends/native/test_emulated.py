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
from native_guarded_runs import CASES, SIZED, blobs, told

from et_schema.native import ENTRY
from et_vm.backends.native.elf import MACHINES, link_object

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


def test_programs(runner: Path, tmp_path: Path) -> None:
    """Every case of the guarded runs, against eager."""
    number = MACHINES["aarch64"]
    modules = [module for module, *_ in (*CASES, *SIZED)]
    for module, (label, program, data, runs) in zip(modules, blobs("aarch64"), strict=True):
        (code,) = program.objects
        image = link_object(memoryview(code.code), number)
        path = tmp_path / "image"
        path.write_bytes(image.content)
        random = np.random.default_rng(0)
        inputs = [random.standard_normal(shape).astype(np.float32) for shape in runs[-1]]
        words, results = told(program, runs[-1])
        outputs = [np.full(shape, np.nan, np.float32) for shape in results]
        buffers = [*(one.tobytes() for one in (*inputs, *outputs))]
        buffers += [bytes(data[constant.key][: constant.nbytes]) for constant in program.constants]
        sizes = [str(len(one)) for one in buffers]
        numbers = [image.place(ENTRY), len(buffers), program.arena_size, len(words), *words]
        done = subprocess.run(
            [EMULATOR, "-cpu", "cortex-a53", runner, path, *map(str, numbers), *sizes],
            input=b"".join(buffers),
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, (label, done.returncode, done.stderr)
        at = sum(map(len, buffers[: len(inputs)]))
        found = np.frombuffer(done.stdout, np.float32, outputs[0].size, at).reshape(outputs[0].shape)
        with torch.no_grad():
            expected = module(*map(torch.from_numpy, inputs)).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=label)
