"""Sizes and instructions of whole programs on small processors.

    PYTHONPATH=test/unit/et_ir python -m bench.target_programs

The first table has the digits network on each processor, in floats and in integers; the second the networks of MLPerf
Tiny, and MobileNetV2 of width 0.35 for images of 96x96, in integers on a Cortex-M4. Bytes are those that `et-compile
--target` prints. Instructions of a call are counted in an emulator (unicorn), where there is one for the processor.
None of these figures depends on the machine that measures them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import freestanding_machines as machines
import torch

from bench.measure import print_table, progress
from bench.subjects import quiet
from bench.target_layers import NETWORKS
from et_backends.freestanding.compiler.programs import FreestandingObject, compile_program
from et_backends.freestanding.compiler.targets import FREESTANDING_TARGETS
from et_ir.quantization import quantize
from examples.models.mobilenet_v2 import mobilenet_v2_small

PROCESSOR = "cortex-m4"


TINY: dict[str, Any] = {
    name: NETWORKS[name]
    for name in ("keyword_spotting", "anomaly_detection", "image_classification", "visual_wake_words")
} | {"mobilenet_v2": (mobilenet_v2_small, None)}


def program_of(make: Any, data: Any, kind: str) -> torch.export.ExportedProgram:
    """A network in floats, or in integers."""
    module, inputs = make()[:2]
    module = module.eval()
    if kind == "int8":
        module = quantize(module, inputs, "int8", calibration=[inputs] if data is None else data()).module
    return torch.export.export(module, inputs)


def figures(program: torch.export.ExportedProgram, target: str) -> tuple[FreestandingObject, str]:
    """A program for a processor, and the instructions of a call."""
    made = compile_program(program, target, "net")
    if target not in machines.MACHINES:
        return made, ""
    (inputs, _) = program.example_inputs or ((), {})
    with TemporaryDirectory() as folder:
        run = machines.run(target, Path(folder), made, [one.numpy() for one in inputs])
    return made, f"{run.instructions:,}"


def _digits() -> Iterator[list[str]]:
    for kind in ("f32", "int8"):
        with quiet():
            program = program_of(*NETWORKS["digits"], kind)
        for target in progress(list(FREESTANDING_TARGETS), f"digits, {kind}"):
            made, instructions = figures(program, target)
            sizes = (made.code_bytes, made.constant_bytes, made.arena_bytes, made.stack_bytes)
            yield [target, kind, *(f"{size:,}" for size in sizes), instructions]


def _tiny() -> Iterator[list[str]]:
    for name in progress(list(TINY), PROCESSOR):
        with quiet():
            program = program_of(*TINY[name], "int8")
            parameters = sum(one.numel() for one in TINY[name][0]()[0].parameters())
        made, instructions = figures(program, PROCESSOR)
        flash, memory = made.code_bytes + made.constant_bytes, made.arena_bytes + made.stack_bytes
        sizes = (made.code_bytes, made.constant_bytes, flash, made.arena_bytes, made.stack_bytes, memory)
        yield [name, f"{parameters:,}", *(f"{size:,}" for size in sizes), instructions]


def main() -> None:
    sizes = ["code", "constants", "arena", "stack"]
    print_table(["processor", "type", *sizes, "instructions"], list(_digits()))
    heads = ["network", "parameters", *sizes[:2], "flash", *sizes[2:], "RAM", "instructions"]
    print_table(heads, list(_tiny()))


if __name__ == "__main__":
    main()
