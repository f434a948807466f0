"""Arm's tools for TOSA, in an environment of their own: they need an older numpy.

`make tosa-tools` makes `.venv-tosa`; the variable `TOSA_TOOLS` names another environment.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

_ROOT = Path(__file__).parents[2]


def environment() -> Path:
    """The environment with the tools. Without it, a test fails in CI and is skipped elsewhere."""
    place = Path(os.environ.get("TOSA_TOOLS", _ROOT / ".venv-tosa"))
    if not (place / "bin/tosa-opt").exists():
        message = f"no TOSA tools in {place}: run `make tosa-tools`, or set TOSA_TOOLS"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return place


def _run(*command: str | Path, text: str | None = None) -> str:
    done = subprocess.run(
        [str(part) for part in command], input=text, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise AssertionError(f"{Path(command[0]).name}: {done.stderr[-2000:]}{done.stdout[-500:]}")
    return done.stdout


def reference_results(blob: bytes, inputs: Sequence[Any], folder: Path) -> list[Any]:
    """The results of a TOSA file on the reference model."""
    program, given, made = folder / "program.tosa", folder / "inputs.npz", folder / "outputs.npz"
    program.write_bytes(blob)
    np.savez(given, **{str(number): array for number, array in enumerate(inputs)})
    worker = Path(__file__).parent / "tosa_worker.py"
    _run(environment() / "bin/python", worker, program, given, made)
    with np.load(made) as results:
        return [results[str(number)] for number in range(len(results.files))]


def validated(text: str, *, profiles: str = "pro_int,pro_fp") -> str:
    """A text of the `tosa` dialect as `tosa-opt` prints it, once it has verified it for the profiles."""
    options = f"profiles={profiles} level=8k specification_version=1.0"
    return _run(
        environment() / "bin/tosa-opt",
        f"--tosa-attach-target={options}",
        "--tosa-validate",
        "--mlir-print-op-generic",
        "-",
        text=text,
    )


def generated_tests(operators: Sequence[str], folder: Path) -> list[Path]:
    """The folders of the tests that Arm's generator makes of operators (in small letters), with the results of the
    reference model in those whose result is defined.
    """
    place = environment()
    _run(
        place / "bin/tosa_verif_build_tests",
        *(
            "--filter",
            f"^({'|'.join(operators)})$",
            "--tosa-version",
            "1.0.0",
            "--test-type",
            "positive",
            "-o",
            folder,
        ),
        *("--profile", "tosa-pro-int", "tosa-pro-fp", "--extension", "none", "--no-special-tests"),
        *("--target-dtype", "bool", "int8", "int32", "fp32", "--num-rand-permutations", "1"),
        *(
            "--tensor-dim-range",
            "1,8",
            "--max-conv-padding",
            "1",
            "--max-conv-stride",
            "2",
            "--conv-kernel",
            "3,3",
        ),
        *("--max-conv-dilation", "2", "--max-pooling-padding", "1", "--max-pooling-stride", "2"),
        *("--max-pooling-kernel", "3", "--max-resize-output-dim", "20", "--max-batch-size", "2"),
    )
    _run(place / "bin/python", Path(__file__).parent / "tosa_worker.py", folder)
    return sorted(path.parent for path in folder.rglob("desc.json"))
