"""The networks of MLPerf Tiny on a Cortex-M4 by the runtime for microcontrollers, in an emulator.

    PYTHONPATH=test/unit/et_vm/micro:test/unit/et_ir python -m bench.target_runtime [NETWORK …]

Flash is the program and the runtime with the kernels that it uses, RAM is arena, registers and stack; neither includes
input and output, which are floats. Instructions are those of loading and executing the program once.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from support.micro_machine import run_on_cortex_m4

from bench.measure import print_table, progress
from bench.subjects import quiet
from bench.target_memory import TINY
from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.quantization import quantize
from et_schema.errors import Error
from et_vm.program import Program


def row(name: str) -> list[str]:
    factory, data = TINY[name]
    module, inputs = factory()
    with quiet(), TemporaryDirectory() as folder:
        made = quantize(module, inputs, "int8", calibration=data()).module
        edge = to_edge(torch.export.export(made, inputs))
        file = bytes(edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer)
        array = inputs[0].numpy()
        expected = np.asarray(Program.load(file).load_method("forward").execute([array])[0])
        found = run_on_cortex_m4(Path(folder), file, array, expected, count=True)
    if found.error is not Error.Ok or found.output.tobytes() != expected.tobytes():
        raise SystemExit(f"{name}: {found.error.name}, or other bytes than et_vm's")
    sizes = (found.code_bytes, len(file), found.code_bytes + len(file))
    memory = (found.arena_bytes, found.register_bytes, found.stack_bytes)
    return [
        name.replace("_", " "),
        *(f"{one:,}" for one in (*sizes, *memory, sum(memory), found.instructions)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.target_runtime",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("network", nargs="*", help=f"of {', '.join(TINY)}; all unless given")
    names = parser.parse_args().network or list(TINY)
    head = ["network", "runtime", "program", "flash", "arena", "registers", "stack", "RAM", "instructions"]
    rows = [row(name) for name in progress(names, "networks")]
    print()
    print_table(head, rows)


if __name__ == "__main__":
    main()
