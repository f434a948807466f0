"""The digits network as an object: linked, and run in emulators and on this machine."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path

import freestanding_machines as machines
import numpy as np
import pytest
import torch
import wasmtime
from freestanding_machines import MACHINES, linked
from support.accuracy import Truth, assert_accurate, in_double
from torch import Tensor

from et_backends.freestanding.compiler.object_file import exported_symbols
from et_backends.freestanding.compiler.programs import FreestandingObject, compile_freestanding
from et_backends.freestanding.compiler.targets import FREESTANDING_TARGETS
from et_ir.driver.managers import EdgeProgramManager, to_edge
from examples.digits.network import DigitsNet

COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"


@cache
def network() -> DigitsNet:
    torch.manual_seed(0)
    made = DigitsNet().train()
    for _ in range(4):
        made(torch.rand(32, 1, 8, 8))  # statistics of the normalizations
    return made.eval()


def image() -> Tensor:
    return torch.rand(1, 1, 8, 8, generator=torch.Generator().manual_seed(1))


@cache
def edge() -> EdgeProgramManager:
    return to_edge(torch.export.export(network(), (image(),)))


@cache
def compiled(target: str) -> FreestandingObject:
    return compile_freestanding(edge().module, FREESTANDING_TARGETS[target], "digits")


@cache
def truth() -> Truth:
    return in_double(network(), image())


@pytest.mark.parametrize(
    "target",
    [name for name, one in FREESTANDING_TARGETS.items() if name in MACHINES and not one.soft_float],
)
def test_emulated(target: str, tmp_path: Path):
    """Nothing is touched but inputs, outputs, constants, arena and stack."""
    found = machines.run(target, tmp_path, compiled(target), [image().numpy()])
    assert found.status == 0
    assert 0 < found.stack <= compiled(target).stack_bytes
    assert_accurate(found.outputs[0], truth())


@pytest.mark.parametrize("target", machines.EMULATED)
def test_vectors(target: str, tmp_path: Path):
    """Helium and RISC-V's vectors."""
    found = machines.run(target, tmp_path, compiled(target), [image().numpy()])
    assert 0 < found.stack <= compiled(target).stack_bytes
    assert_accurate(found.outputs[0], truth())


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the object is for x86-64")
def test_in_this_process(tmp_path: Path):
    code, library = tmp_path / "digits.o", tmp_path / "digits.so"
    code.write_bytes(compiled("x86-64").code)
    subprocess.run([sys.executable, "-m", "ziglang", "ld.lld", "-shared", code, "-o", library], check=True)
    x, y = image().numpy(), np.zeros((1, 10), np.float32)
    arena = np.full(compiled("x86-64").interface.arena_bytes + 16, 255, np.uint8)
    place = -(-arena.ctypes.data // 16) * 16
    inputs, outputs = (ctypes.c_void_p * 1)(x.ctypes.data), (ctypes.c_void_p * 1)(y.ctypes.data)
    assert ctypes.CDLL(library).digits_forward(inputs, outputs, ctypes.c_void_p(place)) == 0
    assert_accurate(y, truth())


def test_web_assembly(tmp_path: Path):
    """The module has no imports; its memory is as large as told, so that what is beyond the arena traps."""
    made = compiled("wasm32")
    code, module = tmp_path / "digits.o", tmp_path / "digits.wasm"
    code.write_bytes(made.code)
    options = ["--no-entry", "--export=digits_forward", "--export=__heap_base", "-z", "stack-size=4096"]
    memory = ["--initial-memory=196608", "--max-memory=196608"]
    subprocess.run(
        [sys.executable, "-m", "ziglang", "wasm-ld", *options, *memory, code, "-o", module], check=True
    )
    store = wasmtime.Store()
    instance = wasmtime.Instance(store, wasmtime.Module.from_file(store.engine, str(module)), [])
    exports = instance.exports(store)
    base = exports["__heap_base"].value(store)
    x, count = image().numpy(), 40
    places = [-(-base // 16) * 16]
    for size in (x.nbytes, count, 8, made.interface.arena_bytes):
        places.append(-(-(places[-1] + size) // 16) * 16)
    image_at, logits_at, structures, arena, end = places
    memory = exports["memory"]
    assert end <= memory.data_len(store)
    memory.write(store, b"\xff" * (end - image_at), image_at)
    memory.write(store, x.tobytes(), image_at)
    memory.write(store, struct.pack("<II", image_at, logits_at), structures)
    assert exports["digits_forward"](store, structures, structures + 4, arena) == 0
    found = np.frombuffer(bytes(memory.read(store, logits_at, logits_at + count)), np.float32)
    assert_accurate(found[None], truth())


DRIVER = """
#include <stdio.h>
#include "digits.h"
static _Alignas(DIGITS_ARENA_ALIGNMENT) unsigned char arena[DIGITS_ARENA_BYTES];
static float image[DIGITS_IMAGE_COUNT], logits[DIGITS_OUTPUT0_COUNT];
int main(void) {
  digits_inputs inputs = {image};
  digits_outputs outputs = {logits};
  if (fread(image, sizeof image, 1, stdin) != 1) return 100;
  int status = digits_forward(&inputs, &outputs, arena);
  fwrite(logits, sizeof logits, 1, stdout);
  return status;
}
"""


def test_linked_from_c(tmp_path: Path):
    """A program in C for AArch64, with the header (Debian: qemu-user, gcc-aarch64-linux-gnu)."""
    for tool in (COMPILER, EMULATOR):
        if shutil.which(tool) is None:
            missing = f"{tool} is not installed: apt-get install -y $(cat .ci/packages.txt)"
            assert "CI" not in os.environ, missing
            pytest.skip(missing)
    made = compiled("aarch64")
    (tmp_path / "digits.o").write_bytes(made.code)
    (tmp_path / "digits.h").write_text(made.header)
    (tmp_path / "main.c").write_text(DRIVER)
    command = [COMPILER, "-std=c11", "-Wall", "-Werror", "-static", "-o", "main", "main.c", "digits.o"]
    subprocess.run(command, check=True, cwd=tmp_path)
    done = subprocess.run(
        [EMULATOR, tmp_path / "main"], input=image().numpy().tobytes(), capture_output=True, check=True
    )
    assert_accurate(np.frombuffer(done.stdout, np.float32)[None], truth())


@pytest.mark.parametrize("language", ["c", "c++"])
def test_header(language: str, tmp_path: Path):
    (tmp_path / "digits.h").write_text(compiled("cortex-m4").header)
    source = tmp_path / f"use.{'c' if language == 'c' else 'cpp'}"
    source.write_text(
        '#include "digits.h"\n#include "digits.h"\n'
        "int count = DIGITS_IMAGE_COUNT;\nint shape[DIGITS_IMAGE_RANK] = DIGITS_IMAGE_SHAPE;\n"
        "int use(const float *x, float *y, void *arena) {\n"
        "  digits_inputs inputs = {x};\n  digits_outputs outputs = {y};\n"
        "  return digits_forward(&inputs, &outputs, arena);\n}\n"
    )
    caches = {"ZIG_GLOBAL_CACHE_DIR": str(tmp_path / "zig"), "ZIG_LOCAL_CACHE_DIR": str(tmp_path / "zig")}
    compiler = [sys.executable, "-m", "ziglang", "cc" if language == "c" else "c++"]
    target = ["-target", "thumb-freestanding-eabihf", "-mcpu=cortex_m4"]
    options = ["-Wall", "-Wextra", "-Werror", "-I", tmp_path, "-c", source, "-o", tmp_path / "use.o"]
    subprocess.run([*compiler, *target, *options], check=True, env={**os.environ, **caches})


def test_the_object_is_the_same_each_time():
    again = compile_freestanding(edge().module, FREESTANDING_TARGETS["cortex-m4"], "digits")
    assert again.code == compiled("cortex-m4").code


def test_no_symbol_but_the_function(tmp_path: Path):
    """An object exports the function of the header, and needs nothing; `linked` allows no undefined symbol."""
    made = compiled("cortex-m4")
    assert exported_symbols(made.code) == {"digits_forward"}
    linked(tmp_path, made)
