"""Bytes of arenas of networks on a microcontroller, with and without the passes that save memory.

    python -m bench.target_memory                     # the networks of MLPerf Tiny
    python -m bench.target_memory keyword_spotting    # one of them

Programs are those for the runtime for microcontrollers at `-Os`: in integers, and in floats with stock's operators,
which are those that can be split by channels. Passes are added one after the other: views and results in the place of
arguments, another order of operators, and operators that are split, or computed again. The last column is the lower
bound of the one before: what no plan of these operators in this order is smaller than.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any, Final

import torch
from torch import Tensor

from bench.measure import print_table, progress
from bench.subjects import quiet
from et_ir import EdgeProgramManager, to_edge
from et_ir.driver.configs import ExecutorchBackendConfig
from et_ir.driver.managers import ExecutorchProgramManager
from et_ir.driver.pipelines import backend_passes, executorch_passes
from et_ir.driver.stages import run_passes
from et_ir.quantization import quantize
from et_vm.devtools.certificate import certificates
from et_vm.program import Program
from examples.models import mlperf_tiny

NETWORKS: dict[str, tuple[Callable[[], Any], Callable[[], Iterator[tuple[Tensor]]]]] = {
    "keyword_spotting": (mlperf_tiny.keyword_spotting, mlperf_tiny.keyword_data),
    "anomaly_detection": (mlperf_tiny.anomaly_detection, mlperf_tiny.anomaly_data),
    "image_classification": (mlperf_tiny.image_classification, mlperf_tiny.image_data),
    "visual_wake_words": (mlperf_tiny.visual_wake_words, mlperf_tiny.wake_word_data),
}
STEPS: Final = {
    "in place": frozenset({"copies-to-views", "update-in-place", "in-place", "concatenate-in-place"}),
    "reordered": frozenset({"reorder", "sink-concatenations"}),
    "split": frozenset({"split-channels", "rematerialize"}),
}
"""The passes that each column adds."""


def arenas(edge: EdgeProgramManager, target: str) -> list[int]:
    """Bytes of the arena without the passes, and with those of each step and all before; and the last one's bound."""
    config = ExecutorchBackendConfig(target=target, level="s")
    found: list[int] = []
    left_out = frozenset[str]().union(*STEPS.values())
    bound = 0
    for added in (frozenset[str](), *STEPS.values()):
        left_out -= added
        module = edge.module.clone()
        passes = [one for one in executorch_passes(config) if one.name not in left_out]
        run_passes(module, [*backend_passes(), *passes])
        program = Program.load(bytes(ExecutorchProgramManager(module, config).buffer))
        found.append(sum(program.method_meta("forward").memory_planned_buffer_sizes().values()))
        bound = sum(one.bound for one in certificates(program, "forward").values())
    return [*found, bound]


def _network(name: str) -> str:
    if name not in NETWORKS:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(NETWORKS)}")
    return name


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("networks", nargs="*", default=list(NETWORKS), type=_network)
    rows: list[list[str]] = []
    for name in progress(parser.parse_args().networks, "networks"):
        make, data = NETWORKS[name]
        with quiet():
            module, inputs = make()
            made = quantize(module.eval(), inputs, "int8", calibration=data()).module
            for kind, one, target in (("int8", made, "et-vm"), ("f32", module.eval(), "stock-1.5")):
                edge = to_edge(torch.export.export(one, inputs))
                rows.append([f"{name}, {kind}", *(f"{nbytes:,}" for nbytes in arenas(edge, target))])
    print_table(["network", "without", *STEPS, "lower bound"], rows)


if __name__ == "__main__":
    main()
