"""The example for microcontrollers: built by make, and run from its reset vector in 40 kB of flash and 8 kB of RAM."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import unicorn
from freestanding_machines import MACHINES
from unicorn import arm_const

from et_backends.freestanding.compiler.object_file import sections_of, symbol_addresses
from et_backends.freestanding.compiler.programs import compile_program
from et_ir.quantization import quantize
from examples.digits.network import DigitsNet

EXAMPLE = Path(__file__).parents[5] / "examples" / "microcontroller"
FLASH, RAM, SYSTEM = 0x0800_0000, 0x2000_0000, 0xE000_E000
GCC = "arm-none-eabi-gcc"


@pytest.mark.parametrize("compiler", ["ziglang", GCC])
def test_example(compiler: str, tmp_path: Path):
    if compiler == GCC and shutil.which(GCC) is None:
        missing = f"{GCC} is not installed: apt-get install -y $(cat .ci/packages.txt)"
        assert "CI" not in os.environ, missing
        pytest.skip(missing)
    torch.manual_seed(0)
    images = torch.rand(8, 1, 8, 8)
    calibration = [(one,) for one in images.split(1)]
    module = quantize(DigitsNet().eval(), calibration[0], "int8", calibration=calibration).module
    made = compile_program(torch.export.export(module, calibration[0]), "cortex-m4", "digits")
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("digits.*"))
    (folder / "digits.o").write_bytes(made.code)
    (folder / "digits.h").write_text(made.header)
    caches = {"ZIG_GLOBAL_CACHE_DIR": str(tmp_path / "zig"), "ZIG_LOCAL_CACHE_DIR": str(tmp_path / "zig")}
    subprocess.run(
        ["make", "-s", f"PYTHON={sys.executable}", *([f"CC={GCC}"] if compiler == GCC else [])],
        cwd=folder,
        check=True,
        env={**os.environ, **caches},
    )
    image = (folder / "digits.elf").read_bytes()
    for number in range(3):
        assert classified(image, images[number]) == int(module(images[number : number + 1]).argmax())


def classified(image: bytes, digit: torch.Tensor) -> int:
    """What the program makes of an image that is in its memory before main runs."""
    machine = MACHINES["cortex-m4"]
    engine = unicorn.Uc(machine.arch, machine.mode)
    engine.ctl_set_cpu_model(machine.model)
    engine.mem_map(FLASH, 40 << 10, unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC)
    engine.mem_map(RAM, 8 << 10, unicorn.UC_PROT_READ | unicorn.UC_PROT_WRITE)
    engine.mem_map(SYSTEM, 4 << 10)
    (start,) = struct.unpack_from("<I", image, 28)
    each, count = struct.unpack_from("<HH", image, 42)
    for place in range(start, start + each * count, each):
        kind, offset, _, address, size, *_ = struct.unpack_from("<8I", image, place)
        if kind == 1 and size:
            engine.mem_write(address, image[offset : offset + size])
    assert any(one.name == ".text" for one in sections_of(image))
    symbols = symbol_addresses(image)
    top, reset = struct.unpack("<II", bytes(engine.mem_read(FLASH, 8)))
    engine.reg_write(arm_const.UC_ARM_REG_SP, top)
    # Start-up code clears the image, as it does all memory.
    engine.emu_start(reset, symbols["main"] & ~1)
    engine.mem_write(symbols["image"], digit.numpy().astype(np.float32).tobytes())
    engine.emu_start(symbols["main"] | 1, symbols["halt"] & ~1)
    return struct.unpack("<i", bytes(engine.mem_read(symbols["digit"], 4)))[0]
