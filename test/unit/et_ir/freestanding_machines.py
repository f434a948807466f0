"""Freestanding objects in emulated machines, where every buffer is between pages that nobody may touch.

Linked by LLVM's linker in `ziglang`; the processor is `unicorn`'s, `wasmtime`'s for WebAssembly, and qemu's where these
have none. Unicorn's hooks for accesses to memory lose the state of Thumb's conditional instructions (2.1.4), so that
pages have to do. A call runs twice: with buffers that start with a page, and with buffers that end with one.
"""

from __future__ import annotations

import os
import platform
import re
import resource
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import unicorn
import wasmtime
from unicorn import arm64_const, arm_const, riscv_const, x86_const

from et_backends.freestanding.compiler.interface import Interface, Tensor
from et_backends.freestanding.compiler.programs import FreestandingObject
from et_schema.scalar_type import ScalarType

FLASH, DATA, STACK, RETURN = 0x0800_0000, 0x2000_0000, 0x3000_0000, 0x0F00_0000
STACK_BYTES = 1 << 16
EMULATION = 600
"""Seconds of a processor after which a program that does not end is ended."""
PAGE = 1 << 12
PATTERN = b"\xa5"
"""What the stack is filled with, by which is seen how deep it was."""
ELEMENTS = {
    ScalarType.BYTE: np.uint8,
    ScalarType.CHAR: np.int8,
    ScalarType.SHORT: np.int16,
    ScalarType.INT: np.int32,
    ScalarType.LONG: np.int64,
    ScalarType.FLOAT: np.float32,
    ScalarType.DOUBLE: np.float64,
    ScalarType.BOOL: np.bool_,
}
ACCESSES = {
    unicorn.UC_MEM_READ_UNMAPPED: "read",
    unicorn.UC_MEM_WRITE_UNMAPPED: "write",
    unicorn.UC_MEM_FETCH_UNMAPPED: "execution",
    unicorn.UC_MEM_WRITE_PROT: "write to read-only memory",
    unicorn.UC_MEM_READ_PROT: "read of protected memory",
    unicorn.UC_MEM_FETCH_PROT: "execution of data",
}


@dataclass(frozen=True)
class Machine:
    """A processor of unicorn: architecture, mode, model, and the registers of the calling convention."""

    arch: int
    mode: int
    model: int | None
    arguments: tuple[int, int, int, int]
    result: int
    stack: int
    link: int | None
    """None where the return address is on the stack."""
    pointer: str = "<I"
    thumb: bool = False
    wide: Callable[[int], bool] | None = None
    """Whether an instruction has four bytes, by its first two; None where lengths are not told by these."""

    def instructions(self, code: bytes) -> int:
        """The number of instructions of a block, or 1 where instructions are counted one by one."""
        if self.wide is None:
            return 1
        at = count = 0
        while at < len(code):
            at += 4 if self.wide(int.from_bytes(code[at : at + 2], "little")) else 2
            count += 1
        return count


def _cortex_m(model: int, profile: int = unicorn.UC_MODE_MCLASS) -> Machine:
    return Machine(
        unicorn.UC_ARCH_ARM,
        unicorn.UC_MODE_THUMB | profile,
        model,
        (
            arm_const.UC_ARM_REG_R0,
            arm_const.UC_ARM_REG_R1,
            arm_const.UC_ARM_REG_R2,
            arm_const.UC_ARM_REG_R3,
        ),
        arm_const.UC_ARM_REG_R0,
        arm_const.UC_ARM_REG_SP,
        arm_const.UC_ARM_REG_LR,
        thumb=True,
        wide=lambda half: half >= 0xE800,
    )


def _risc_v(mode: int, pointer: str) -> Machine:
    return Machine(
        unicorn.UC_ARCH_RISCV,
        mode,
        None,
        (
            riscv_const.UC_RISCV_REG_A0,
            riscv_const.UC_RISCV_REG_A1,
            riscv_const.UC_RISCV_REG_A2,
            riscv_const.UC_RISCV_REG_A3,
        ),
        riscv_const.UC_RISCV_REG_A0,
        riscv_const.UC_RISCV_REG_SP,
        riscv_const.UC_RISCV_REG_RA,
        pointer,
        wide=lambda half: half & 3 == 3,
    )


MACHINES = {
    "cortex-m0plus": _cortex_m(arm_const.UC_CPU_ARM_CORTEX_M0),
    "cortex-m4": _cortex_m(arm_const.UC_CPU_ARM_CORTEX_M4),
    # Unicorn's Cortex-M7 has no unit for double precision; an application processor executes the same instructions.
    "cortex-m7": _cortex_m(arm_const.UC_CPU_ARM_MAX, unicorn.UC_MODE_ARM),
    "cortex-m33": _cortex_m(arm_const.UC_CPU_ARM_CORTEX_M33),
    "riscv32imac": _risc_v(unicorn.UC_MODE_RISCV32, "<I"),
    "riscv64gc": _risc_v(unicorn.UC_MODE_RISCV64, "<Q"),
    "aarch64": Machine(
        unicorn.UC_ARCH_ARM64,
        unicorn.UC_MODE_ARM,
        None,
        (
            arm64_const.UC_ARM64_REG_X0,
            arm64_const.UC_ARM64_REG_X1,
            arm64_const.UC_ARM64_REG_X2,
            arm64_const.UC_ARM64_REG_X3,
        ),
        arm64_const.UC_ARM64_REG_X0,
        arm64_const.UC_ARM64_REG_SP,
        arm64_const.UC_ARM64_REG_LR,
        "<Q",
        wide=lambda half: True,
    ),
    "x86-64": Machine(
        unicorn.UC_ARCH_X86,
        unicorn.UC_MODE_64,
        None,
        (
            x86_const.UC_X86_REG_RDI,
            x86_const.UC_X86_REG_RSI,
            x86_const.UC_X86_REG_RDX,
            x86_const.UC_X86_REG_RCX,
        ),
        x86_const.UC_X86_REG_RAX,
        x86_const.UC_X86_REG_RSP,
        None,
        "<Q",
    ),
}


@dataclass
class Run:
    """What a call has computed, and how."""

    status: int
    outputs: list[np.ndarray]
    instructions: int
    stack: int
    """Bytes of the stack that were used."""
    state: bytes = b""
    """The state of the program after the call."""


def linked(folder: Path, made: FreestandingObject, entry: str = "", base: int = FLASH) -> Path:
    """An executable of an object alone, at an address. Fails where it needs another symbol.

    That of the call before, if it is the same.
    """
    script, code, image = folder / "link.ld", folder / "model.o", folder / "model.elf"
    text = (
        f"ENTRY({entry or made.interface.function})\n"
        f"SECTIONS {{ . = {base}; .text : {{ *(.text*) }} .rodata : {{ *(.rodata*) }} .data : {{ *(.data*) }}\n"
        ".bss : { *(.bss*) } /DISCARD/ : { *(.ARM.exidx*) *(.eh_frame*) *(.comment) } }\n"
    )
    if image.exists() and code.read_bytes() == made.code and script.read_text() == text:
        return image
    code.write_bytes(made.code)
    script.write_text(text)
    linker = [sys.executable, "-m", "ziglang", "ld.lld"]
    done = subprocess.run(
        [*linker, "-T", script, code, "-o", image], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return image


def run(
    name: str,
    folder: Path,
    made: FreestandingObject,
    inputs: Sequence[np.ndarray],
    *,
    method: Interface | None = None,
    state: bytes = b"",
    moved: int = 0,
    as_process: bool = False,
) -> Run:
    """Call the function of a method, the first one unless given, `moved` bytes from where the object is linked to.

    As a process of Linux, of `PROCESSES`, large programs take seconds where unicorn takes minutes; instructions are not
    counted. Fails where it reads or writes what is not its own.
    """
    method = made.interface if method is None else method
    assert len(state) == method.state_bytes
    arenas = tuple(method.arenas.values()) or (method.arena_bytes,)
    call = _Call(method.outputs, arenas, inputs, state, structures=True)
    if name == WASM:
        return _run_wasm(folder, made, method.function, call)
    if name in EMULATED or as_process:
        assert not moved, "objects are linked to one address here"
        return _run_emulated(name, folder, made, method.function, call)
    image = linked(folder, made, method.function, FLASH - moved)
    return _twice(name, image, call, moved)


def reset(name: str, folder: Path, made: FreestandingObject) -> bytes:
    """The state of a program before its first call."""
    function = made.functions[-1]
    call = _Call((), (0,), (), b"\xff" * made.state_bytes, structures=False)
    if name == WASM:
        return _run_wasm(folder, made, function, call).state
    if name in EMULATED:
        return _run_emulated(name, folder, made, function, call).state
    return _twice(name, linked(folder, made, function), call, 0).state


WASM = "wasm32"
GUARD = 64
"""Bytes around each buffer of WebAssembly, whose memory has no pages to protect, that must be as they were."""


@dataclass(frozen=True)
class _Call:
    outputs: Sequence[Tensor]
    arenas: tuple[int, ...]
    """Bytes of the arena, or of each of several, whose addresses are in a structure."""
    inputs: Sequence[np.ndarray]
    state: bytes
    structures: bool
    """Whether the function takes inputs, outputs and arena beside the state."""


def _twice(name: str, image: Path, call: _Call, moved: int) -> Run:
    first, second = (
        _run(MACHINES[name], name, image, call, moved, at_end=at_end) for at_end in (False, True)
    )
    for one, other in zip(first.outputs, second.outputs, strict=True):
        assert one.tobytes() == other.tobytes()
    assert first.state == second.state
    assert first.status == second.status or not call.structures  # the other function returns nothing
    return first


class _Memory:
    """Buffers in pages of their own, with unmapped pages between them."""

    def __init__(self, engine: unicorn.Uc, *, at_end: bool):
        self._engine = engine
        self._at_end = at_end
        self._next = DATA

    def put(self, data: bytes, protection: int) -> int:
        """A buffer with this content; its address."""
        pages = -(-max(len(data), 1) // PAGE) * PAGE
        self._engine.mem_map(self._next, pages, protection)
        at = self._next + (pages - len(data) if self._at_end else 0)
        self._engine.mem_write(at, data)
        self._next += pages + PAGE
        return at


def _run(machine: Machine, name: str, image: Path, call: _Call, moved: int, *, at_end: bool) -> Run:
    engine = unicorn.Uc(machine.arch, machine.mode)
    if machine.model is not None:
        engine.ctl_set_cpu_model(machine.model)
    entry = _load(engine, image, moved)
    _enable_floats(engine, name)
    memory = _Memory(engine, at_end=at_end)
    outputs = [np.empty(one.shape, ELEMENTS[one.element]) for one in call.outputs]
    in_places = [memory.put(one.tobytes(), unicorn.UC_PROT_READ) for one in call.inputs]
    both = unicorn.UC_PROT_READ | unicorn.UC_PROT_WRITE
    out_places = [memory.put(b"\xff" * one.nbytes, both) for one in outputs]
    arguments: list[int] = []
    if call.structures:
        arguments = [
            memory.put(b"".join(struct.pack(machine.pointer, at) for at in places), unicorn.UC_PROT_READ)
            for places in (in_places, out_places)
        ]
    state = memory.put(call.state, both) if call.state else 0
    if call.state:
        arguments.append(state)
    if call.structures:
        # What it holds must not matter.
        arenas = [memory.put(b"\xff" * size, both) for size in call.arenas]
        structure = b"".join(struct.pack(machine.pointer, at) for at in arenas)
        arguments.append(arenas[0] if len(arenas) == 1 else memory.put(structure, unicorn.UC_PROT_READ))
    engine.mem_map(STACK, STACK_BYTES, both)
    engine.mem_write(STACK, PATTERN * STACK_BYTES)
    engine.mem_map(RETURN, PAGE)
    top = STACK + STACK_BYTES - 16
    if machine.link is None:
        top -= 8
        engine.mem_write(top, struct.pack(machine.pointer, RETURN))
    else:
        engine.reg_write(machine.link, RETURN | machine.thumb)
    engine.reg_write(machine.stack, top)
    for register, value in zip(machine.arguments, arguments, strict=False):
        engine.reg_write(register, value)
    executed = 0
    lengths: dict[tuple[int, int], int] = {}

    def count(_: object, at: int, size: int, *__: object) -> None:
        nonlocal executed
        if (at, size) not in lengths:
            lengths[at, size] = machine.instructions(bytes(engine.mem_read(at, size)))
        executed += lengths[at, size]

    def refuse(_: object, kind: int, at: int, size: int, *__: object) -> bool:
        wrong.append(f"{ACCESSES[kind]} of {size} bytes at {at:#x}")
        return False

    wrong: list[str] = []
    engine.hook_add(unicorn.UC_HOOK_BLOCK if machine.wide else unicorn.UC_HOOK_CODE, count)
    engine.hook_add(unicorn.UC_HOOK_MEM_INVALID, refuse)
    try:
        engine.emu_start(entry | machine.thumb, RETURN)
    except unicorn.UcError as error:
        raise AssertionError(f"{name}: {error}: {wrong}") from error
    found = [
        np.frombuffer(bytes(engine.mem_read(at, one.nbytes)), one.dtype).reshape(one.shape)
        for at, one in zip(out_places, outputs, strict=True)
    ]
    stack = bytes(engine.mem_read(STACK, top - STACK))
    used = len(stack.lstrip(PATTERN))
    after = bytes(engine.mem_read(state, len(call.state))) if call.state else b""
    return Run(engine.reg_read(machine.result) & 0xFFFF_FFFF, found, executed, used, after)


def _load(engine: unicorn.Uc, image: Path, moved: int) -> int:
    """Write the segments of an executable into memory, some bytes from their addresses; its entry point."""
    data = image.read_bytes()
    wide = data[4] == 2
    entry, start = struct.unpack_from("<QQ" if wide else "<II", data, 24)
    each, count = struct.unpack_from("<HH", data, 54 if wide else 42)
    room = max(1 << 22, -(-len(data) // PAGE) * PAGE)
    engine.mem_map(FLASH, room, unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC)
    for number in range(count):
        at = start + each * number
        if wide:
            kind, flags, offset, address, _, size, in_memory, _ = struct.unpack_from("<IIQQQQQQ", data, at)
        else:
            kind, offset, address, _, size, in_memory, flags, _ = struct.unpack_from("<8I", data, at)
        if kind == 1 and in_memory:
            assert not flags & 2, "the object has memory to write to"
            engine.mem_write(address + moved, data[offset : offset + size])
    return (entry & ~1) + moved


def _enable_floats(engine: unicorn.Uc, name: str) -> None:
    """What start-up code does where a machine starts without its floating-point unit."""
    if name == "aarch64":
        engine.reg_write(arm64_const.UC_ARM64_REG_CPACR_EL1, 3 << 20)
    if name == "cortex-m7":
        engine.reg_write(arm_const.UC_ARM_REG_C1_C0_2, 0xF << 20)
        engine.reg_write(arm_const.UC_ARM_REG_FPEXC, 1 << 30)
    if name.startswith("riscv"):
        engine.reg_write(riscv_const.UC_RISCV_REG_MSTATUS, 1 << 13)


# -- WebAssembly


def _run_wasm(folder: Path, made: FreestandingObject, function: str, call: _Call) -> Run:
    """Call a function of a module; neither instructions nor the depth of the stack are known."""
    code, module = folder / "model.o", folder / "model.wasm"
    code.write_bytes(made.code)
    options = ["--no-entry", "--stack-first", "-z", f"stack-size={STACK_BYTES}", f"--export={function}"]
    options.append("--export=__heap_base")
    linker = [sys.executable, "-m", "ziglang", "wasm-ld"]
    done = subprocess.run(
        [*linker, *options, code, "-o", module], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    store = wasmtime.Store()
    exports = wasmtime.Instance(store, wasmtime.Module.from_file(store.engine, str(module)), []).exports(
        store
    )
    memory, end = exports["memory"], exports["__heap_base"].value(store)
    places: list[tuple[int, bytes]] = []

    def put(data: bytes) -> int:
        """A buffer with this content; its address."""
        nonlocal end
        at = -(-(end + GUARD) // 16) * 16
        places.append((at, data))
        end = at + len(data) + GUARD
        return at

    outputs = [np.empty(one.shape, ELEMENTS[one.element]) for one in call.outputs]
    in_places = [put(one.tobytes()) for one in call.inputs]
    out_places = [put(b"\xff" * one.nbytes) for one in outputs]
    arguments: list[int] = []
    if call.structures:
        arguments = [put(b"".join(struct.pack("<I", at) for at in each)) for each in (in_places, out_places)]
    kept = len(places)
    state = put(call.state) if call.state else 0
    if call.state:
        arguments.append(state)
    if call.structures:
        arenas = [put(b"\xff" * size) for size in call.arenas]
        structure = b"".join(struct.pack("<I", at) for at in arenas)
        arguments.append(arenas[0] if len(arenas) == 1 else put(structure))
    missing = end + GUARD - memory.data_len(store)
    if missing > 0:
        memory.grow(store, -(-missing // 65536))
    start = places[0][0] - GUARD
    memory.write(store, PATTERN * (end - start), start)
    for at, data in places:
        memory.write(store, data, at)
    constants = bytes(memory.read(store, 0, start))
    status = exports[function](store, *arguments)
    for number, (at, data) in enumerate(places):
        for guard in (at - GUARD, at + len(data)):
            assert bytes(memory.read(store, guard, guard + GUARD)) == PATTERN * GUARD, (
                "a write beside a buffer"
            )
        if number < kept and at not in out_places:
            assert bytes(memory.read(store, at, at + len(data))) == data, "a write to an input"
    # Below the buffers are the stack and, from its size on, the constants.
    assert bytes(memory.read(store, STACK_BYTES, start)) == constants[STACK_BYTES:], "a write to a constant"
    found = [
        np.frombuffer(bytes(memory.read(store, at, at + one.nbytes)), one.dtype).reshape(one.shape)
        for at, one in zip(out_places, outputs, strict=True)
    ]
    after = bytes(memory.read(store, state, state + len(call.state))) if call.state else b""
    return Run(status or 0, found, 0, 0, after)


# -- programs around an object, by qemu


@dataclass(frozen=True)
class _Emulated:
    """A processor of qemu: what runs an image, what it is compiled of, and how."""

    emulator: tuple[str, ...]
    driver: str
    clang: tuple[str, ...]
    options: tuple[str, ...]
    """Of the linker."""
    package: str
    """Of Debian, with the emulator."""


EMULATED = {
    "cortex-m55": _Emulated(
        (
            *("qemu-system-arm", "-M", "mps3-an547", "-nographic", "-monitor", "none", "-serial", "none"),
            *("-semihosting-config", "enable=on,target=native", "-kernel"),
        ),
        "freestanding_cortex_m55.c",
        ("-target", "thumb-freestanding-eabihf", "-mcpu=cortex_m55"),
        ("-T", "link.ld"),
        "qemu-system-arm",
    ),
    "riscv64gcv": _Emulated(
        ("qemu-riscv64", "-cpu", "rv64,v=true,vext_spec=v1.0"),
        "freestanding_driver.c",
        ("-target", "riscv64-freestanding", "-mcpu=generic_rv64+m+a+f+d+c+v"),
        (),
        "qemu-user",
    ),
}
"""Processors that unicorn does not have."""


def _process(qemu: str, clang: str, cpu: str, *, here: bool = False) -> _Emulated:
    """A program for Linux; `here` says that this machine needs no emulator."""
    emulator = () if here else (qemu,)
    options = ("-target", clang, f"-mcpu={cpu}")
    return _Emulated(emulator, "freestanding_driver.c", options, (), "qemu-user")


PROCESSES = {
    "aarch64": _process("qemu-aarch64", "aarch64-freestanding", "generic"),
    "riscv64gc": _process("qemu-riscv64", "riscv64-freestanding", "generic_rv64+m+a+f+d+c"),
    "x86-64": _process("qemu-x86_64", "x86_64-freestanding", "x86_64", here=platform.machine() == "x86_64"),
}
"""Processors for which a program can be a process of Linux."""
DRIVER_STACK = 64
"""Bytes of the stack that the programs around an object take between their mark and the call."""
FAULT = 100
"""From here on, exit codes are not what the function returns."""
MOST_TENSORS = 64
"""Maximum number of the inputs and outputs of a program."""
SCRIPT = """ENTRY(reset)
SECTIONS {
  . = 0; .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) } . = ALIGN(32); code_end = .;
  . = 0x20000000; data_start = .;
  .data : { *(.data*) } .bss (NOLOAD) : { *(.bss*) . += 0x8000; . = ALIGN(32); stack_top = .; } data_end = .;
  /DISCARD/ : { *(.ARM.exidx*) *(.ARM.extab*) *(.ARM.attributes) *(.comment) }
}
"""


def _run_emulated(name: str, folder: Path, made: FreestandingObject, function: str, call: _Call) -> Run:
    """Call a function of an object by qemu; instructions are not counted."""
    machine = (EMULATED | PROCESSES)[name]
    if machine.emulator and shutil.which(machine.emulator[0]) is None:
        missing = f"{machine.package} is not installed: apt-get install -y $(cat .ci/packages.txt)"
        assert "CI" not in os.environ, missing
        pytest.skip(missing)
    outputs = [np.empty(one.shape, ELEMENTS[one.element]) for one in call.outputs]
    contents = [*(one.tobytes() for one in call.inputs), call.state]
    sizes = [*map(len, contents[:-1]), *(one.nbytes for one in outputs)]
    (arena,) = call.arenas  # what runs the object has one
    counts = (not call.structures, len(call.inputs), len(outputs), len(call.state), arena)
    job = struct.pack(f"<5I{MOST_TENSORS}I", *counts, *sizes, *(0,) * (MOST_TENSORS - len(sizes)))
    (folder / "job").write_bytes(job + b"".join(contents))
    (folder / "model.o").write_bytes(made.code)
    if name == "riscv64gcv" and _ROUNDED.search(made.assembly):
        _assemble(folder, name, _ROUNDED.sub(r"\1fcvt.w.s zero, ft0, dyn\n\1\2", made.assembly))
    (folder / "driver.o").write_bytes(_driver(name))
    (folder / "link.ld").write_text(SCRIPT)
    files = ["driver.o", "model.o", "--format=binary", "job", "-o", "model.elf"]
    done = subprocess.run(
        [sys.executable, "-m", "ziglang", "ld.lld", *machine.options, f"--defsym=entry={function}", *files],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ran = subprocess.run(
        [*machine.emulator, folder / "model.elf"],
        capture_output=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (EMULATION, EMULATION)),
    )
    assert 0 <= ran.returncode < FAULT, (ran.returncode, ran.stderr)
    if ran.returncode:
        return Run(ran.returncode, [], 0, 0)
    found: list[np.ndarray] = []
    at = 0
    for one in outputs:
        data = ran.stdout[at : at + one.nbytes]
        found.append(np.frombuffer(data, one.dtype).reshape(one.shape))
        at += one.nbytes
    (stack,) = struct.unpack_from("<I", ran.stdout, at + len(call.state))
    return Run(0, found, 0, max(stack - DRIVER_STACK, 0), ran.stdout[at : at + len(call.state)])


_ROUNDED = re.compile(r"^(\s*)(vf[nw]?cvt\.(?:rtz|rod)\.)", re.MULTILINE)
"""Conversions of vectors with a rounding mode of their own.

They end qemu before 8.1 with an assertion (https://gitlab.com/qemu-project/qemu/-/issues/1441), unless the mode before
was the dynamic one: an instruction with that mode, which writes no register, precedes each.
"""


def _assemble(folder: Path, name: str, assembly: str) -> None:
    """Replace the object in a folder by that of an assembly."""
    (folder / "model.s").write_text(assembly)
    caches = {"ZIG_GLOBAL_CACHE_DIR": str(folder / "zig"), "ZIG_LOCAL_CACHE_DIR": str(folder / "zig")}
    done = subprocess.run(
        [sys.executable, "-m", "ziglang", "cc", *EMULATED[name].clang, "-c", "model.s", "-o", "model.o"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **caches},
    )
    assert done.returncode == 0, done.stderr


@cache
def _driver(name: str) -> bytes:
    """The program around an object, compiled."""
    machine = (EMULATED | PROCESSES)[name]
    options = ["-std=gnu11", "-O1", "-ffreestanding", "-fno-builtin", "-fno-sanitize=undefined"]
    options += ["-fno-stack-protector", "-fno-pic"]
    with TemporaryDirectory() as folder:
        caches = {"ZIG_GLOBAL_CACHE_DIR": f"{folder}/zig", "ZIG_LOCAL_CACHE_DIR": f"{folder}/zig"}
        made = Path(folder, "driver.o")
        source = Path(__file__).with_name(machine.driver)
        done = subprocess.run(
            [sys.executable, "-m", "ziglang", "cc", *machine.clang, *options, "-c", source, "-o", made],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **caches},
        )
        assert done.returncode == 0, done.stderr
        return made.read_bytes()
