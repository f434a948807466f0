"""The runtime in C with a program on an emulated Cortex-M4: `unicorn`, with memory as the program needs it."""

from __future__ import annotations

import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import unicorn
from freestanding_machines import MACHINES
from unicorn import arm_const

from et_backends.freestanding.compiler.object_file import sections_of, symbol_addresses
from et_schema.errors import Error
from et_schema.pte import read_pte
from et_tools.et_vm import main

__all__ = ["MicroRun", "run_on_cortex_m4"]

FLASH, FILE, RAM, STACK, RETURN = 0x0800_0000, 0x0900_0000, 0x2000_0000, 0x3000_0000, 0x0F00_0000
PAGE, STACK_BYTES, REGISTER_BYTES = 1 << 12, 1 << 14, 1 << 14
PATTERN = b"\xa5"
SCRIPT = f"""ENTRY(run)
SECTIONS {{
  . = {FLASH}; .text : {{ *(.text*) *(.rodata*) }}
  . = {RAM}; .data : {{ *(.data*) }} .bss (NOLOAD) : {{ *(.bss*) *(COMMON) }}
  /DISCARD/ : {{ *(.ARM.exidx*) *(.ARM.attributes) *(.comment) }}
}}
"""


@dataclass(frozen=True)
class MicroRun:
    """What an execution has computed, and what it has taken."""

    error: Error
    output: np.ndarray
    instructions: int
    """Of loading and executing; 0 unless they were counted."""
    code_bytes: int
    """Of loader, verifier, loop and kernels."""
    arena_bytes: int
    register_bytes: int
    stack_bytes: int


def run_on_cortex_m4(
    folder: Path, file: bytes, array: np.ndarray, like: np.ndarray, *, count: bool = False
) -> MicroRun:
    """Build the runtime with the kernels of a program, and execute its first method on an input. The output has shape
    and type of `like`.

    Fails where what is not the program's is read or written.
    """
    (folder / "program.pte").write_bytes(file)
    library = folder / "build"
    command = ["build", "--target", "cortex-m4", "--ops", str(folder / "program.pte"), "-o", str(library)]
    assert main(command) == 0
    arena = read_pte(file).program.execution_plan[0].non_const_buffer_sizes[1]
    image = _linked(folder, library, {"INPUT": array.nbytes, "ARENA": arena, "FILE": len(file)})
    engine = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
    engine.ctl_set_cpu_model(arm_const.UC_CPU_ARM_CORTEX_M4)
    written = unicorn.UC_PROT_READ | unicorn.UC_PROT_WRITE
    sections = {one.name: one for one in sections_of(image)}
    _map(engine, FLASH, sections[".text"].data, unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC)
    _map(engine, FILE, file, unicorn.UC_PROT_READ)
    data = sections[".data"].data if ".data" in sections else b""
    _map(engine, RAM, data + bytes(sections[".bss"].nbytes + 64), written)
    _map(engine, STACK, PATTERN * STACK_BYTES, written)
    engine.mem_map(RETURN, PAGE)
    symbols = symbol_addresses(image)
    engine.mem_write(symbols["input"], array.tobytes())
    engine.reg_write(arm_const.UC_ARM_REG_SP, STACK + STACK_BYTES)
    engine.reg_write(arm_const.UC_ARM_REG_LR, RETURN | 1)
    executed = 0
    lengths: dict[tuple[int, int], int] = {}

    def add(_: object, at: int, size: int, *__: object) -> None:
        nonlocal executed
        if (at, size) not in lengths:
            lengths[at, size] = MACHINES["cortex-m4"].instructions(bytes(engine.mem_read(at, size)))
        executed += lengths[at, size]

    if count:
        engine.hook_add(unicorn.UC_HOOK_BLOCK, add)
    engine.emu_start(symbols["run"] | 1, RETURN)
    place, registers = (
        struct.unpack("<I", bytes(engine.mem_read(symbols[name], 4)))[0]
        for name in ("output", "register_bytes")
    )
    found = bytes(engine.mem_read(place, like.nbytes)) if place else bytes(like.nbytes)
    return MicroRun(
        Error(engine.reg_read(arm_const.UC_ARM_REG_R0)),
        np.frombuffer(found, like.dtype).reshape(like.shape),
        executed,
        sections[".text"].nbytes + len(data),
        arena,
        registers,
        len(bytes(engine.mem_read(STACK, STACK_BYTES)).lstrip(PATTERN)),
    )


def _map(engine: unicorn.Uc, at: int, data: bytes, protection: int) -> None:
    engine.mem_map(at, -(-len(data) // PAGE) * PAGE, protection)
    engine.mem_write(at, data)


def _linked(folder: Path, library: Path, sizes: dict[str, int]) -> bytes:
    script, image = folder / "link.ld", folder / "image.elf"
    script.write_text(SCRIPT)
    defined = [f"-D{name}_BYTES={size}" for name, size in sizes.items()]
    defined += [f"-DREGISTER_BYTES={REGISTER_BYTES}", f"-DFILE_ADDRESS={FILE}"]
    target = ["-target", "thumb-freestanding-eabihf", "-mcpu=cortex_m4+vfp4d16sp", "-fno-sanitize=undefined"]
    options = [
        "-std=c11",
        "-Os",
        "-g",
        "-ffreestanding",
        f"-I{library}",
        "-Wl,--gc-sections",
        "-Wl,--entry=run",
    ]
    files = ["-T", script, Path(__file__).with_suffix(".c"), library / "libet_micro.a", "-o", image]
    done = subprocess.run(
        [sys.executable, "-m", "ziglang", "cc", *target, *options, *defined, *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return image.read_bytes()
