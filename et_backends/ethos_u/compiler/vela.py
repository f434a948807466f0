"""Arm's compiler Vela: from a TOSA file to the parts of a command stream, with an estimate of memory and time."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import numpy as np

from et_backends.ethos_u.format import VelaProgram, VelaTensor
from et_ir.evaluation.arrays import Array
from et_schema.processes import python

__all__ = ["VelaResult", "compile_tosa", "require_vela"]

_ESTIMATES: Final = {
    "cycles_total": "cycles",
    "core_clock": "clock_hz",
    "nn_macs": "macs",
    "sram_memory_used": "sram_kib",
    "dram_memory_used": "dram_kib",
    "on_chip_flash_memory_used": "on_chip_flash_kib",
    "off_chip_flash_memory_used": "off_chip_flash_kib",
}
"""Columns of Vela's summary, and what they are called in files."""


class VelaResult(NamedTuple):
    """The result of Vela for a network."""

    program: VelaProgram
    """The command stream and its data."""
    estimate: Mapping[str, int | float]
    """Cycles, clock in Hz, multiply-accumulates, and KiB of each memory, as far as it is used."""


def require_vela() -> None:
    """Raise `ValueError` where Vela is not installed."""
    if find_spec("ethosu") is None or find_spec("ethosu.vela") is None:
        raise ValueError("Vela is not installed: pip install ethos-u-vela, or the extra 'ethos-u'")


def compile_tosa(tosa: bytes, flags: Sequence[str]) -> VelaResult:
    """Compile a TOSA file, in a process of its own, which ends with its error if it has one.

    Raises `ValueError` with what Vela says of a network or of flags that it does not take.
    """
    require_vela()
    with TemporaryDirectory() as name:
        folder = Path(name)
        network = folder / "network.tosa"
        network.write_bytes(tosa)
        line = python("-m", "ethosu.vela", *flags, f"--output-dir={folder}", str(network))
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ValueError(f"Vela cannot compile it: {_reason(done.stderr or done.stdout)}")
        with np.load(folder / "network_vela.npz", allow_pickle=False) as arrays:
            program = _program(arrays)
        with next(folder.glob("network_summary*.csv")).open(newline="") as file:
            row = next(csv.DictReader(file))
    numbers = {name: float(row[column]) for column, name in _ESTIMATES.items()}
    return VelaResult(program, {name: _shortest(number) for name, number in numbers.items() if number})


def _shortest(number: float) -> int | float:
    return int(number) if number == int(number) else round(number, 3)


def _reason(text: str) -> str:
    """The last error that Vela prints, in a line; what is the same twice, once."""
    lines = [line.strip() for line in text.strip().splitlines()]
    starts = [at for at, line in enumerate(lines) if "Error" in line]
    said = dict.fromkeys(line for line in lines[starts[-1] if starts else -1 :] if line)
    return " ".join(said).removeprefix("RuntimeError: ")


def _program(arrays: Mapping[str, Array]) -> VelaProgram:
    return VelaProgram(
        arrays["cmd_data"].tobytes(),
        arrays["weight_data"].tobytes(),
        int(arrays["scratch_shape"][0]),
        _tensors(arrays, "input"),
        _tensors(arrays, "output"),
    )


def _tensors(arrays: Mapping[str, Array], prefix: str) -> tuple[VelaTensor, ...]:
    columns = (arrays[f"{prefix}_{name}"].tolist() for name in ("shape", "elem_size", "offset", "region"))
    return tuple(
        VelaTensor(tuple(shape), size, offset, region)
        for shape, size, offset, region in zip(*columns, strict=True)
    )
