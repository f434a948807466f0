"""The Vulkan device and the validator of SPIR-V. Without them, a test fails in CI and is skipped elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from et_backends.vulkan.format.blob import VulkanProgram
from et_backends.vulkan.runtime.device import open_device
from et_schema.errors import Error, ExecutorchError

__all__ = ["check_shaders", "require_device"]

VALIDATOR = "spirv-val"


def require_device() -> None:
    """Skip the test if there is no device; in CI, fail."""
    try:
        open_device()
    except ExecutorchError as error:
        if os.environ.get("CI") or error.code != Error.NotFound:
            raise
        pytest.skip(str(error))


def check_shaders(program: VulkanProgram, folder: Path) -> None:
    """Validate the shaders of a program by the tools of the standard (Debian: spirv-tools)."""
    if shutil.which(VALIDATOR) is None:
        assert not os.environ.get("CI"), f"no {VALIDATOR}"
        pytest.skip(f"no {VALIDATOR} (Debian: spirv-tools)")
    for shader in program.shaders:
        path = folder / "shader.spv"
        path.write_bytes(shader.code)
        done = subprocess.run(
            [VALIDATOR, "--target-env", "vulkan1.1", path], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{shader.name}: {done.stdout}{done.stderr}"
