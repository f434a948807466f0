"""The runtime on an emulated Cortex-M4: the example's image takes programs in its slot, good and damaged ones."""

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import unicorn
from freestanding_machines import MACHINES
from support.micro_programs import arrays, quantized_digits
from unicorn import arm_const

from et_backends.freestanding.compiler.object_file import sections_of, symbol_addresses
from et_schema.errors import Error
from et_tools.et_vm import main
from et_vm.program import Program

EXAMPLE = Path(__file__).parents[4] / "examples" / "micro_runtime"
FLASH, SLOT, RAM, SYSTEM = 0x0800_0000, 0x0801_0000, 0x2000_0000, 0xE000_E000
KERNELS = 20_000
"""Bytes of code and constants that loader, verifier and loop may take."""
ALL = 40_000
"""With the kernels of the digits network, start-up code and the demo."""
INSTRUCTIONS = 5_000_000
"""Of one call, with loading."""
NOTHING = "operators: {}\net_kernel_metadata: {}\n"


@pytest.fixture(scope="module")
def file() -> bytes:
    return quantized_digits()


@pytest.fixture(scope="module")
def image(file: bytes, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return built(tmp_path_factory.mktemp("digits"), file)


def built(folder: Path, ops: bytes, name: str = "digits.pte") -> bytes:
    """The example with the kernels of a program or list of operators."""
    example = folder / "micro_runtime"
    ignored = shutil.ignore_patterns("build", "*.elf", "*.pte")
    shutil.copytree(EXAMPLE, example, ignore=ignored)
    shutil.copytree(EXAMPLE.parent / "microcontroller", folder / "microcontroller")
    (example / name).write_bytes(ops)
    library = example / "build"
    assert main(["build", "--target", "cortex-m4", "--ops", str(example / name), "-o", str(library)]) == 0
    (example / "digits.pte").touch()
    os.utime(library / "libet_micro.a")
    subprocess.run(["make", "-s", f"PYTHON={sys.executable}"], cwd=example, check=True, env=os.environ)
    return (example / "runtime.elf").read_bytes()


def flash_bytes(image: bytes) -> int:
    return sum(one.nbytes for one in sections_of(image) if one.name in (".text", ".data"))


def test_code_size(image: bytes, tmp_path: Path):
    assert flash_bytes(image) <= ALL
    assert flash_bytes(built(tmp_path, NOTHING.encode(), "nothing.yaml")) <= KERNELS


def test_digits(image: bytes, file: bytes):
    method = Program.load(file).load_method("forward")
    for array in arrays(4):
        logits = np.asarray(method.execute([array])[0])
        memory: dict[str, bytes] = {}
        assert run(image, file, array, memory) == (Error.Ok, int(np.argmax(logits)))
        start = output_offset(file)
        assert memory["arena"][start : start + logits.nbytes] == logits.tobytes()


def test_instructions(image: bytes, file: bytes):
    """Of loading and executing the digits network: it has 602,112 multiply-adds."""
    memory: dict[str, bytes] = {}
    run(image, file, next(arrays(1)), memory)
    assert int.from_bytes(memory["instructions"], "little") < INSTRUCTIONS


def output_offset(file: bytes) -> int:
    """The place of the output in its arena."""
    plan = Program.load(file).pte.program.execution_plan[0]
    return plan.values[plan.outputs[0]].val.allocation_info.memory_offset_low


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda file: file[:40], Error.InvalidArgument),
        (lambda file: file[:1000], Error.InvalidProgram),
        (lambda file: file[:4] + b"ET99" + file[8:], Error.InvalidProgram),
        (lambda file: file.replace(b"integer::linear", b"integer::lineal"), Error.OperatorMissing),
    ],
)
def test_damaged_files(image: bytes, file: bytes, damage, code: Error):
    assert run(image, damage(file), next(arrays(1))) == (code, -1)


def test_random_damage(image: bytes, file: bytes):
    """Whatever a file says, the processor stays in its memory: every other access would end the emulation."""
    rng = np.random.default_rng(0)
    codes = set[Error]()
    for _ in range(150):
        damaged = bytearray(file)
        program = struct.unpack_from("<Q", file, 16)[0]
        for at in rng.integers(0, program, rng.integers(1, 4)):
            damaged[at] = rng.integers(256)
        codes.add(run(image, bytes(damaged), next(arrays(1)))[0])
    assert {Error.Ok, Error.InvalidProgram} <= codes


def run(
    image: bytes, file: bytes, array: np.ndarray, memory: dict[str, bytes] | None = None
) -> tuple[Error, int]:
    """The error and the digit of the example's main, for a file in its slot. `memory` gets the arena after it, and the
    number of executed instructions.
    """
    engine = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
    engine.ctl_set_cpu_model(arm_const.UC_CPU_ARM_CORTEX_M4)
    engine.mem_map(FLASH, 64 << 10, unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC)
    # The slot ends with the page that the file does.
    engine.mem_map(SLOT, -(-(len(file) + 16) // 4096) * 4096, unicorn.UC_PROT_READ)
    engine.mem_map(RAM, 16 << 10, unicorn.UC_PROT_READ | unicorn.UC_PROT_WRITE)
    engine.mem_map(SYSTEM, 4 << 10)
    (start,) = struct.unpack_from("<I", image, 28)
    each, count = struct.unpack_from("<HH", image, 42)
    for place in range(start, start + each * count, each):
        kind, offset, _, address, size, *_ = struct.unpack_from("<8I", image, place)
        if kind == 1 and size:
            engine.mem_write(address, image[offset : offset + size])
    engine.mem_write(SLOT, struct.pack("<I12x", len(file)) + file)
    symbols = symbol_addresses(image)
    top, reset = struct.unpack("<II", bytes(engine.mem_read(FLASH, 8)))
    engine.reg_write(arm_const.UC_ARM_REG_SP, top)
    engine.emu_start(reset, symbols["main"] & ~1)
    engine.mem_write(symbols["image"], array.astype(np.float32).tobytes())
    executed = 0
    lengths: dict[tuple[int, int], int] = {}

    def count(_: object, at: int, size: int, *__: object) -> None:
        nonlocal executed
        if (at, size) not in lengths:
            code = bytes(engine.mem_read(at, size))
            lengths[at, size] = MACHINES["cortex-m4"].instructions(code)
        executed += lengths[at, size]

    if memory is not None:
        engine.hook_add(unicorn.UC_HOOK_BLOCK, count)
    engine.emu_start(symbols["main"] | 1, symbols["halt"] & ~1)
    if memory is not None:
        memory["arena"] = bytes(engine.mem_read(symbols["arena"], 4096))
        memory["instructions"] = executed.to_bytes(8, "little")
    found = [struct.unpack("<i", bytes(engine.mem_read(symbols[name], 4)))[0] for name in ("error", "digit")]
    return Error(found[0]), found[1]
