"""Bytes of arenas of networks on a microcontroller, with and without the passes that save memory.

    python -m bench.target_memory                     # the networks of MLPerf Tiny, MobileNetV2 and two with branches
    python -m bench.target_memory keyword_spotting    # one of them

Programs are those for the runtime for microcontrollers at `-Os`: in integers, and in floats with stock's operators,
which are those that can be split by channels. Passes are added one after the other: views and results in the place of
arguments, another order of operators, and operators that are split, or computed again. The column after these is the
lower bound of the last: what no plan of these operators in this order is smaller than. The last two are what a fast
bank of 32 kB holds, and what is left for a bank beside it.
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
from examples.models.darts_cell import darts_cell
from examples.models.mobilenet_v2 import mobilenet_v2_small
from examples.models.randwire import randwire

TINY: dict[str, tuple[Callable[[], Any], Callable[[], Iterator[tuple[Tensor]]]]] = {
    "keyword_spotting": (mlperf_tiny.keyword_spotting, mlperf_tiny.keyword_data),
    "anomaly_detection": (mlperf_tiny.anomaly_detection, mlperf_tiny.anomaly_data),
    "image_classification": (mlperf_tiny.image_classification, mlperf_tiny.image_data),
    "visual_wake_words": (mlperf_tiny.visual_wake_words, mlperf_tiny.wake_word_data),
}
NETWORKS: dict[str, tuple[Callable[[], Any], Callable[[], Iterator[tuple[Tensor]]] | None]] = {
    **TINY,
    "mobilenet_v2": (mobilenet_v2_small, None),
    "darts_cell": (darts_cell, None),
    "randwire": (randwire, None),
}
BANKS: Final = "fast:id=1,size=32K;slow:id=2"
STEPS: Final = {
    "in place": frozenset({"copies-to-views", "update-in-place", "in-place", "concatenate-in-place"}),
    "reordered": frozenset({"reorder", "sink-concatenations"}),
    "split": frozenset({"split-channels", "rematerialize"}),
}
"""The passes that each column adds."""


def arenas(edge: EdgeProgramManager, target: str) -> list[int]:
    """Bytes of the arena without the passes, and with those of each step and all before; the last one's bound; and
    bytes in each of two banks.
    """
    found: list[int] = []
    left_out = frozenset[str]().union(*STEPS.values())
    bound = 0
    for added in (frozenset[str](), *STEPS.values()):
        left_out -= added
        program = _planned(edge, ExecutorchBackendConfig(target=target, level="s"), left_out)
        found.append(sum(program.method_meta("forward").memory_planned_buffer_sizes().values()))
        bound = sum(one.bound for one in certificates(program, "forward").values())
    banks = _planned(edge, ExecutorchBackendConfig(target=target, level="s", memory=BANKS), frozenset())
    sizes = banks.method_meta("forward").memory_planned_buffer_sizes()
    return [*found, bound, sizes.get(1, 0), sizes.get(2, 0)]


def _planned(edge: EdgeProgramManager, config: ExecutorchBackendConfig, left_out: frozenset[str]) -> Program:
    """The program without the passes of some names."""
    module = edge.module.clone()
    passes = [one for one in executorch_passes(config) if one.name not in left_out]
    run_passes(module, [*backend_passes(), *passes])
    return Program.load(bytes(ExecutorchProgramManager(module, config).buffer))


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
            calibration = [inputs] if data is None else data()
            made = quantize(module.eval(), inputs, "int8", calibration=calibration).module
            for kind, one, target in (("int8", made, "et-vm"), ("f32", module.eval(), "stock-1.5")):
                edge = to_edge(torch.export.export(one, inputs))
                rows.append([f"{name}, {kind}", *(f"{nbytes:,}" for nbytes in arenas(edge, target))])
    print_table(["network", "without", *STEPS, "lower bound", "fast bank", "other bank"], rows)


if __name__ == "__main__":
    main()
