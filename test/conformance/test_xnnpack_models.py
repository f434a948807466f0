"""Example models compiled for XNNPACK, beside what stock's own partitioner leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest
from example_models import Model
from routes.files import calls_of

from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_ir import to_edge_transform_and_lower
from et_schema.program import KernelCall
from et_schema.pte import read_pte


@pytest.mark.slow
def test_no_more_is_left_out_than_by_stock(model: Model, stock_xnnpack_file: Path) -> None:
    edge = to_edge_transform_and_lower(model.program, partitioner=XnnpackPartitioner())
    ours, theirs = (read_pte(file) for file in (edge.to_executorch().buffer, stock_xnnpack_file.read_bytes()))
    assert len(calls_of(ours, KernelCall)) <= len(calls_of(theirs, KernelCall))
    assert sum(len(plan.delegates) for plan in ours.program.execution_plan) <= sum(
        len(plan.delegates) for plan in theirs.program.execution_plan
    )
