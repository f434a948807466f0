"""Machine code on the command line: compiled, shown at every level, described, checked, and run if that is allowed."""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from support.command_line import Command

NATIVE = ("--target", "et-vm", "--backend", "native", "-q")
X86 = ("--target", "et-vm", "--backend", "native:for=x86-64-v3", "-q")


@pytest.fixture
def file(command: Command) -> str:
    """relu.pte, whose only op is machine code."""
    assert command("et-compile", "relu.mlir", "-o", "relu.pte", *NATIVE).code == 0
    return "relu.pte"


class TestRun:
    def test_not_without_leave(self, command: Command, file: str) -> None:
        ran = command("et-vm", "run", file)
        assert ran.code == 2
        assert "NotSupported (0x10): the file holds machine code" in ran.err
        assert "allow it: --native\n" in ran.err

    @pytest.mark.parametrize("threads", ["1", "2", "3"])
    def test_threads(self, command: Command, file: str, threads: str) -> None:
        np.save("x.npy", np.array([-1, 2, np.nan, 3], np.float32))
        line = (
            "et-vm",
            "run",
            file,
            "--native",
            "--threads",
            threads,
            "--input",
            "x.npy",
            "--output-dir",
            "out",
        )
        ran = command(*line)
        assert ran.code == 0
        assert "delegates' machine code" in ran.out
        np.testing.assert_array_equal(np.load("out/output_0.npy"), np.array([0, 2, np.nan, 3], np.float32))

    @pytest.mark.parametrize("threads", ["0", "257", "two"])
    def test_wrong_numbers_of_threads(
        self, command: Command, file: str, threads: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert command("et-vm", "run", file, "--native", "--threads", threads).code == 2
        monkeypatch.setenv("ET_VM_THREADS", threads)
        ran = command("et-vm", "run", file, "--native")
        assert ran.code == 2
        assert f"ET_VM_THREADS={threads}: a number from 1 to 256 is required" in ran.err
        assert command("et-vm", "run", file, "--native", "--threads", "2").code == 0

    def test_memory_limit(self, command: Command, file: str) -> None:
        ran = command("et-vm", "run", file, "--native", "--memory-limit", "4096")
        assert ran.code == 6
        assert "cannot allocate" in ran.err


def test_description(command: Command) -> None:
    assert command("et-compile", "subjects.py:net", "-o", "net.pte", *X86).code == 0
    lines = [line.strip() for line in command("et-vm", "info", "net.pte", "--delegates").out.splitlines()]
    assert "inputs: float [2, 16]; outputs: float [2, 8]" in lines
    assert "2 constants: 1,056 bytes of named data of the program" in lines
    (code,) = [line for line in lines if line.startswith("code for ")]
    assert code.startswith("code for x86-64-v3: ")
    assert code.endswith(" bytes, needs avx2 fma bmi2")


def test_a_portable_program_beside_the_code(command: Command) -> None:
    """It runs where machine code may not; without it, that is an error."""
    backend = ("--target", "et-vm", "-q", "--backend")
    for value, code in (("1", 0), ("0", 2)):
        made = command("et-compile", "relu.mlir", "-o", "both.pte", *backend, f"native:fallback={value}")
        assert made.code == 0
        assert command("et-vm", "validate", "both.pte").code == 0
        assert command("et-vm", "run", "both.pte", "--input", "ones").code == code
        assert command("et-vm", "run", "both.pte", "--native", "--input", "ones").code == 0
        shown = command("et-vm", "info", "both.pte", "--delegates").out
        assert ("portable program: " in shown) == (value == "1")
    wrong = command("et-compile", "relu.mlir", "-o", "both.pte", *backend, "native:fallback=yes")
    assert wrong.code == 2
    assert "fallback=yes: expected 0 or 1" in wrong.err


class TestValidate:
    def test_good(self, command: Command, file: str) -> None:
        assert command("et-vm", "validate", file) == (0, "", "")
        assert command("et-vm", "validate", file, "--kernels", "portable") == (0, "", "")

    def test_damaged_code(self, command: Command, file: str) -> None:
        """Also of machines that this is not."""
        good = Path(file).read_bytes()
        for machine in (b"\x3e\0", b"\xb7\0"):
            header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + b"\x01\0" + machine
            at = good.index(header)
            Path("bad.pte").write_bytes(good[: at + 16] + b"\x02" + good[at + 17 :])
            ran = command("et-vm", "validate", "bad.pte")
            assert ran.code == 3
            assert (
                "the code is not a relocatable ELF object of 64 bits at execution_plan[0].delegates[0]"
                in ran.err
            )
            assert "objects[" in ran.err


class TestEmit:
    @pytest.mark.parametrize(
        ("level", "first", "inside"),
        [
            ("loops", "// x86-64-v3", "scf.parallel"),
            ("vector", "// x86-64-v3", "native.barrier"),
            ("llvm", "// x86-64-v3", "llvm.func @native_entry("),
            ("asm", "# x86-64-v3", "native_entry:"),
        ],
    )
    def test_levels(self, command: Command, level: str, first: str, inside: str) -> None:
        ran = command("et-compile", "relu.mlir", "--emit", level, *X86)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.startswith(f"{first}\n")
        assert inside in ran.out
        if level != "asm":
            Path("level.mlir").write_text(ran.out)
            assert command("et-opt", "level.mlir").code == 0
        assert command("et-compile", "relu.mlir", "--emit", level, *X86, "-o", "file").code == 0
        assert Path("file").read_text() == ran.out

    def test_every_instruction_set(self, command: Command) -> None:
        ran = command("et-compile", "relu.mlir", "--emit", "loops", *NATIVE)
        parts = ran.out.split("// -----\n\n")
        assert [part.partition("\n")[0] for part in parts] == ["// x86-64-v4", "// x86-64-v3", "// aarch64"]

    def test_without_the_backend(self, command: Command) -> None:
        ran = command("et-compile", "relu.mlir", "--emit", "asm")
        assert ran == (2, "", "et-compile: error: --emit asm needs --backend native\n")

    def test_without_a_partition(self, command: Command) -> None:
        ran = command("et-compile", "relu.mlir", "--emit", "asm", "--backend", "native:without=relu", "-q")
        assert ran.code == 2
        assert ran.err == "et-compile: error: --emit asm: no partition is compiled by --backend native\n"


CONVOLUTION = """
import torch

def layer():
    return torch.nn.Conv2d(16, 16, 3), (torch.ones(1, 16, 6, 6),)
"""


@pytest.mark.parametrize("backend", ["native", "native:for=x86-64-v3+x86-64-v4+aarch64"])
def test_tuning(command: Command, backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its times are those that `--explain` lists; the trials are nothing that `--emit` prints."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    Path("layer.py").write_text(CONVOLUTION)
    options = ("--target", "et-vm", "-q", "--backend", backend, "--tune")
    for _ in range(2):
        made = command("et-compile", "layer.py:layer", "-o", "layer.pte", *options, "--explain")
        assert made.code == 0
        assert "(measured)" in made.err
        assert "warning" not in made.err
    assert (tmp_path / "executorch-ir" / "native-tuning.json").exists()
    (tmp_path / "executorch-ir" / "native-tuning.json").unlink()
    shown = command("et-compile", "layer.py:layer", "--emit", "loops", *options)
    assert shown.code == 0
    assert shown.out.count("// -----") == 2


def test_tuning_without_the_backend(command: Command) -> None:
    ran = command("et-compile", "relu.mlir", "-o", "x.pte", "--tune")
    assert ran == (2, "", "et-compile: error: --tune needs --backend native\n")


def test_unknown_instruction_sets(command: Command) -> None:
    ran = command("et-compile", "relu.mlir", "-o", "x.pte", "--backend", "native:for=mips")
    assert ran.code == 2
    assert "unknown instruction set 'mips'; there are: x86-64-v4, x86-64-v3, aarch64" in ran.err


COMPILE = """
import sys
from et_tools.et_compile import main
sys.exit(main(sys.argv[1:]))
"""


def compiled(line: tuple[str, ...], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", COMPILE, *line],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


def test_the_same_bytes_in_every_process() -> None:
    """The file is a function of the program: of no hash of a string, no address, no order of a set."""
    digests: set[str] = set()
    for seed in ("0", "1", "20"):
        done = compiled(("subjects.py:net", "-o", "net.pte", *NATIVE), PYTHONHASHSEED=seed)
        assert done.returncode == 0, done.stderr
        digests.add(sha256(Path("net.pte").read_bytes()).hexdigest())
    assert len(digests) == 1


def test_without_llvm() -> None:
    """The message says what to install."""
    script = "import sys\nsys.modules['llvmlite'] = None\n" + COMPILE
    done = subprocess.run(
        [sys.executable, "-c", script, "relu.mlir", "-o", "x.pte", *NATIVE],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == (
        "et-compile: error: argument --backend: backend 'native': the package llvmlite is not installed, "
        "and LLVM makes the machine code; install it with: pip install '.[native]' in the checkout of executorch-ir\n"
    )
    assert not Path("x.pte").exists()
