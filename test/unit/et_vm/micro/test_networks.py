"""The networks of MLPerf Tiny in integers, by the runtime on an emulated Cortex-M4: the bits of et_vm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from support.micro_machine import run_on_cortex_m4
from torch import Tensor, nn

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.quantization import quantize
from et_schema.errors import Error
from et_vm.program import Program
from examples.models import mlperf_tiny

NETWORKS = (
    (mlperf_tiny.keyword_spotting, mlperf_tiny.keyword_data, 28_000_000),
    (mlperf_tiny.anomaly_detection, mlperf_tiny.anomaly_data, 4_000_000),
    (mlperf_tiny.image_classification, mlperf_tiny.image_data, 110_000_000),
    (mlperf_tiny.visual_wake_words, mlperf_tiny.wake_word_data, 90_000_000),
)
"""With the number of instructions that loading and executing takes at most."""


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("factory", "data", "instructions"), NETWORKS, ids=[factory.__name__ for factory, _, _ in NETWORKS]
)
def test_bits_of_et_vm(
    factory: Callable[[], tuple[nn.Module, tuple[Tensor]]],
    data: Callable[[], Iterator[tuple[Tensor]]],
    instructions: int,
    tmp_path: Path,
):
    module, inputs = factory()
    made = quantize(module, inputs, "int8", calibration=data()).module
    edge = to_edge(torch.export.export(made, inputs))
    file = bytes(edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer)
    array = inputs[0].numpy()
    expected = np.asarray(Program.load(file).load_method("forward").execute([array])[0])
    found = run_on_cortex_m4(tmp_path, file, array, expected, count=True)
    assert found.error is Error.Ok
    np.testing.assert_array_equal(found.output, expected, strict=True)
    assert found.stack_bytes < 4096
    assert found.instructions < instructions
