"""Quantized programs on et-vm: in integers, in f32 between q and dq, and the networks in floats.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m bench.integers [--rounds N]

Bytes of arenas at `-O1`, and processor time of a run, the least of all rounds, in which the programs take turns.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch

from bench.measure import print_table, progress
from bench.subjects import quiet
from et_ir import EdgeProgramManager, to_edge
from et_ir.driver.configs import ExecutorchBackendConfig
from et_ir.driver.managers import ExecutorchProgramManager
from et_ir.driver.pipelines import backend_passes, executorch_passes
from et_ir.driver.stages import run_passes
from et_ir.quantization import quantize
from et_vm.runtime import Method, Runtime
from examples.digits.network import digits
from examples.models.mobilenet_v2 import mobilenet_v2
from examples.models.mobilenet_v3 import mobilenet_v3
from examples.models.vit import vit

MODELS: dict[str, Callable[[], Any]] = {
    "digits": digits,
    "MobileNetV2": mobilenet_v2,
    "MobileNetV3": mobilenet_v3,
    "ViT": vit,
}
INTEGER = frozenset({"propagate-quantization", "form-integer-operators", "tabulate-pointwise"})
"""The passes that compute in integers."""


def lowered(edge: EdgeProgramManager, without: frozenset[str] = frozenset()) -> ExecutorchProgramManager:
    """The program for et-vm, lowered without some passes."""
    config = ExecutorchBackendConfig(target="et-vm")
    module = edge.module.clone()
    passes = [one for one in executorch_passes(config) if one.name not in without]
    run_passes(module, [*backend_passes(), *passes])
    return ExecutorchProgramManager(module, config)


def programs(make: Callable[[], Any]) -> tuple[list[ExecutorchProgramManager], Any]:
    """A network in integers, in f32 between q and dq, and in floats; and inputs of one run."""
    module, inputs = make()[:2]
    torch.manual_seed(0)
    data = [tuple(torch.randn_like(value) for value in inputs) for _ in range(4)]
    quantized = quantize(module.eval(), inputs, "int8", calibration=data).module
    edge = to_edge(torch.export.export(quantized, inputs))
    floats = to_edge(torch.export.export(module.eval(), inputs))
    return [lowered(edge), lowered(edge, INTEGER), lowered(floats)], inputs


def timed(methods: list[Method], inputs: Any, rounds: int) -> list[float]:
    """Processor seconds of a run of each method."""
    best = [float("inf")] * len(methods)
    for _ in range(rounds):
        for at, method in enumerate(methods):
            start = time.process_time()
            method.execute(list(inputs))
            best[at] = min(best[at], time.process_time() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10)
    rounds: int = parser.parse_args().rounds
    rows: list[list[str]] = []
    for name, make in progress(MODELS.items(), "models"):
        with quiet():
            found, inputs = programs(make)
        methods = [Runtime.get().load_program(one.buffer).load_method("forward") for one in found]
        arenas = [sum(method.metadata.memory_planned_buffer_sizes().values()) for method in methods]
        seconds = timed(methods, inputs, rounds)
        rows.append([name, *(f"{size:,}" for size in arenas), *(f"{one * 1e3:.2f} ms" for one in seconds)])
    kinds = ("integers", "q/dq", "floats")
    print_table(["model", *(f"arena, {kind}" for kind in kinds), *kinds], rows)


if __name__ == "__main__":
    main()
