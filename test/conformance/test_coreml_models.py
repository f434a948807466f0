"""Example models as ML programs of coremltools' converter: evaluated by et-vm, and no larger a share than ours.

Nothing here runs on Core ML, which Apple's systems have alone. Our programs are on routes of `test_programs.py`, where
coremltools' reader infers the types of all values anew.
"""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from example_models import build

from et_backends.coreml.compiler import CoreMLPartitioner
from et_ir import to_edge_transform_and_lower
from et_vm.runtime import Runtime

ACCURACY = 1e-4
"""Of an output, its largest error to its standard deviation."""
STOCK = ("digits", "vit", "detector")
"""Models that stock's compiler takes a few seconds for; it cannot compile `llama`."""


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """coremltools warns of its own dependencies, and shows progress."""
    logging.disable(logging.WARNING)
    with warnings.catch_warnings(action="ignore"), contextlib.redirect_stderr(io.StringIO()):
        yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("name", STOCK)
def test_beside_stock(name: str) -> None:
    """The evaluator computes stock's programs right; ours have as large a share."""
    import coremltools
    from executorch.backends.apple.coreml.compiler import CoreMLBackend
    from executorch.backends.apple.coreml.partition import CoreMLPartitioner as StockPartitioner
    from executorch.exir import to_edge_transform_and_lower as stock_lower

    model = build(name)
    specs = CoreMLBackend.generate_compile_specs(compute_precision=coremltools.precision.FLOAT32)
    with contextlib.redirect_stdout(io.StringIO()):
        edge = stock_lower(copy.deepcopy(model.program), partitioner=[StockPartitioner(compile_specs=specs)])
        file = edge.to_executorch().buffer
    left: list[Any] = [
        node.target
        for node in edge.exported_program().graph.nodes
        if node.op == "call_function"
        and "delegate" not in str(node.target)
        and "getitem" not in str(node.target)
    ]
    found = Runtime().load_program(file).load_method("forward").execute(model.inputs)
    for got, wanted in zip(found, model.expected, strict=True):
        assert (torch.as_tensor(got) - wanted).abs().max() <= ACCURACY * wanted.std()

    ours = to_edge_transform_and_lower(model.program, partitioner=CoreMLPartitioner())
    assert not left  # so all of it has to be ours, too
    assert ours.delegation is not None
    assert not ours.delegation.left_out
