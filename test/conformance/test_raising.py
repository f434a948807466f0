"""Files of both compilers, raised to edge programs and compiled again, compute what they did."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from control_flow_programs import PROGRAMS
from example_models import Model
from stock import StockRuntime, compile_stock
from torch.utils import _pytree as pytree
from xdsl.utils.exceptions import PassFailedException

from et_backends.codegen.object_code import INSTRUCTION_SETS
from et_backends.native.compiler import NativePartitioner
from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_ir import ExecutorchBackendConfig, raise_program, to_edge
from et_vm.backends.cpu import cpu_features
from et_vm.runtime import Runtime

SETS = [name for name, one in INSTRUCTION_SETS.items() if cpu_features().issuperset(one.cpu_flags)]
"""Instruction sets that this machine has."""

REFUSED = {
    "branches_that_cut": "the lower bound of a size, which files do not have, makes the size of a slice exact",
}
"""Programs whose files are refused, and why."""

REFUSED_OF_STOCK = REFUSED | {
    "map_in_map": "the count of the inner loop is not set, but subtracted from at the end of the loop",
    "scan_in_scan": "the count of the inner loop is not set, but subtracted from at the end of the loop",
}

MISCOMPILED = {
    "chain_of_conditions": "a result takes the memory of what its condition reads",
    "map_of_slices_of_sizes_known_at_run_time": "a stack has the largest sizes, which its items do not have",
    "two_live_conditions": "results of two conditions share memory",
}
"""Programs whose file of the stock compiler fails, or reads memory that it has given away; the raised program is as the
model.
"""

OF_ONE_SIZE = {
    "gru_of_a_batch_known_at_run_time": "the first states have the size of the example",
    "map_over_a_size_known_at_run_time": "no input is larger than the example",
    "map_of_slices_of_sizes_known_at_run_time": "no input is larger than the example",
}
"""Programs whose file of the stock compiler runs with inputs of the example's sizes alone."""

UNDEFINED = {"recurrence": "a view of what the loop carries has memory of its own, which nothing writes"}
"""Programs whose file of the stock compiler reads memory that nothing writes: zeros, unless it is poisoned."""

NOT_COMPILED_BY_STOCK = frozenset(
    {
        "carried_values_change_places",
        "carried_values_go_round",
        "collatz",
        "complex_numbers_in_branches",
        "condition_in_while",
        "counting",
        "fixed_point",
        "layers",
        "loop_without_turns",
        "map_over_two_tensors",
        "map_to_numbers_and_rows",
        "map_with_a_captured_tensor",
        "number_of_turns_is_a_size",
        "scan_in_while",
        "while_in_condition",
        "while_in_while",
    }
)
"""Programs that the stock compiler ends with an error for."""


def outputs(file: bytes, inputs: Any, *, poison: bool = True, **options: Any) -> list[Any]:
    """The outputs of a file on et-vm, with dead memory poisoned."""
    program = Runtime().load_program(file, poison=poison, **options)
    given = [one.numpy() if isinstance(one, torch.Tensor) else one for one in pytree.tree_leaves(inputs)]
    return [np.array(one) for one in program.load_method("forward").execute(given)]


def check_close(found: list[Any], expected: list[Any], tolerance: float) -> None:
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        margin = tolerance * max(float(np.abs(theirs).max(initial=0.0)), 1.0)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=margin)


def test_our_file_computes_the_same_bits(model: Model, our_file: Path) -> None:
    file = our_file.read_bytes()
    again = raise_program(file).to_executorch().buffer
    for found, expected in zip(outputs(again, model.inputs), outputs(file, model.inputs), strict=True):
        np.testing.assert_array_equal(found, expected)


PARTITIONERS: dict[str, Callable[[], Any] | None] = {
    "portable": None,
    "xnnpack": XnnpackPartitioner,
    # The same sums of products: those of Winograd's algorithms have errors beyond the tolerance (docs/native.md).
    "native": lambda: NativePartitioner(instruction_sets=[SETS[-1]], algorithm="direct"),
}


@pytest.mark.parametrize("backend", PARTITIONERS)
def test_a_file_of_stock_on_each_backend(model: Model, stock_file: Path, backend: str) -> None:
    edge = raise_program(stock_file.read_bytes())
    assert not any(op.name.startswith("executorch.") for op in edge.module.walk())
    partitioner = PARTITIONERS[backend]
    if partitioner is not None:
        edge = edge.to_backend(partitioner())
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    found = outputs(file, model.inputs, allow_native=backend == "native")
    check_close(found, outputs(stock_file.read_bytes(), model.inputs), 1e-5)


def test_the_stock_runtime_runs_a_raised_file_of_stock(
    model: Model, stock_file: Path, stock: StockRuntime, tmp_path: Path
) -> None:
    path = tmp_path / "again.pte"
    raise_program(stock_file.read_bytes()).to_executorch().save(path)
    found = [one.numpy() for one in stock.run(path, model.inputs)]
    check_close(found, [one.numpy() for one in stock.run(stock_file, model.inputs)], 1e-5)


def test_graphs_of_stock_for_xnnpack_become_ops(model: Model, stock_xnnpack_file: Path) -> None:
    file = stock_xnnpack_file.read_bytes()
    edge = raise_program(file)
    assert not any(op.name == "backend.call" for op in edge.module.walk())
    again = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    check_close(outputs(again, model.inputs), outputs(file, model.inputs), 1e-5)


@pytest.mark.parametrize("compiler", ["ours", "stock"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_with_control_flow(name: str, compiler: str) -> None:
    program = PROGRAMS[name]
    module = program.make().eval()
    with warnings.catch_warnings(action="ignore"):  # of torch about itself
        exported = torch.export.export(module, program.inputs[0], dynamic_shapes=program.dynamic_shapes)
    if compiler == "ours":
        file = to_edge(exported).to_executorch().buffer
    elif name in NOT_COMPILED_BY_STOCK:
        with pytest.raises(Exception):  # noqa: B017, PT011  (of several types, none of them public)
            compile_stock(exported)
        return
    else:
        file = compile_stock(exported)
    if name in (REFUSED if compiler == "ours" else REFUSED_OF_STOCK):
        with pytest.raises(PassFailedException, match=r"\[raise_c[456]\]"):
            raise_program(file)
        return
    again = raise_program(file).to_executorch().buffer
    for inputs in program.inputs[: 1 if compiler == "stock" and name in OF_ONE_SIZE else None]:
        if compiler == "stock" and name in MISCOMPILED:
            with torch.no_grad():
                expected = [one.numpy() for one in pytree.tree_leaves(module(*inputs))]
        else:
            poison = compiler == "ours" or name not in UNDEFINED
            expected = outputs(file, inputs, poison=poison)
        check_close(outputs(again, inputs), expected, 1e-6)
