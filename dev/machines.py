"""Numeric tests under settings that make this machine compute as another one.

    python -m dev.machines --list
    python -m dev.machines --turn 5                       one setting, chosen by any number
    python -m dev.machines --setting 'MKL_CBWR=COMPATIBLE'
    python -m dev.machines --all                          one after the other

Libraries choose instructions by the processor and split work by the number of threads, and the last bits of a result
depend on both. A test whose bound is of one machine's bits fails under one of these settings.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

__all__ = ["LEFT_OUT", "SETTINGS", "TESTS", "main", "setting_of"]

ROOT: Final = Path(__file__).parents[1]
SETTINGS: Final = (
    {"ATEN_CPU_CAPABILITY": "default"},
    {"ATEN_CPU_CAPABILITY": "avx2"},
    {"MKL_CBWR": "COMPATIBLE"},
    {"ONEDNN_MAX_CPU_ISA": "AVX2"},
    {"OMP_NUM_THREADS": "1"},
    {"OMP_NUM_THREADS": "2"},
    {"OMP_NUM_THREADS": "4"},
)
"""Variables of the environment: torch's instructions, MKL's, oneDNN's, and the threads of all."""
OPENVINO: Final = "test/unit/et_backends/openvino/test_compiler.py"
TESTS: Final = (
    "test/unit/et_backends/native/compiler",
    OPENVINO,
    "test/unit/et_backends/codegen",
    "test/unit/et_ir/passes/aten_to_core",
    "test/unit/et_vm/kernels",
)
"""Tests that compare numbers of two implementations."""
LEFT_OUT: Final = (
    "test/unit/et_backends/native/compiler/test_emulated.py",  # computes as another machine by itself
    "test/unit/et_backends/native/compiler/test_guard_pages.py",
    "test/unit/et_backends/native/compiler/test_tuning.py",
)
"""Tests among them of something else, which take a third of the time."""


def setting_of(turn: int) -> dict[str, str]:
    """The setting of a turn: as many turns in a row as there are settings have each once."""
    return SETTINGS[turn % len(SETTINGS)]


def name_of(setting: dict[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in setting.items())


def run(setting: dict[str, str]) -> int:
    """The exit code of a case of each of `TESTS` under a setting."""
    print(f"machines: {name_of(setting)}", file=sys.stderr, flush=True)
    line = [sys.executable, "-m", "pytest", "--numprocesses", "auto", "--dist", "worksteal"]
    line += ["--max-worker-restart", "0", "--sample", "1", *TESTS]
    # OpenVINO 2026.4 chooses kernels by the processor, which its oneDNN then refuses to make: with AVX-512 VNNI, no
    # product of 8-bit integers compiles where the variable allows less.
    beyond = [OPENVINO] if "ONEDNN_MAX_CPU_ISA" in setting else []
    line += [f"--ignore={path}" for path in (*LEFT_OUT, *beyond)]
    environment = {"OMP_NUM_THREADS": "1", **setting}
    return subprocess.run(line, check=False, cwd=ROOT, env=os.environ | environment).returncode


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m dev.machines",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    which = parser.add_mutually_exclusive_group(required=True)
    names = [name_of(setting) for setting in SETTINGS]
    which.add_argument("--list", action="store_true", help="print the settings")
    which.add_argument("--turn", type=int, metavar="N")
    which.add_argument("--setting", choices=names, metavar="NAME=VALUE")
    which.add_argument("--all", action="store_true")
    options = parser.parse_args(arguments)
    if options.list:
        print(*names, sep="\n")
        return 0
    if options.all:
        return max(run(setting) for setting in SETTINGS)
    return run(SETTINGS[names.index(options.setting)] if options.setting else setting_of(options.turn))


if __name__ == "__main__":
    sys.exit(main())
