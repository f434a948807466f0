"""Operator lists of `et-vm ops` against stock ExecuTorch's tool.

That tool reads the operators of a program for selective builds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from executorch.codegen.tools.gen_oplist import gen_oplist

from et_schema.program import (
    AllocationDetails,
    Chain,
    ContainerMetadata,
    EValue,
    ExecutionPlan,
    Instruction,
    Int,
    KernelCall,
    Null,
    Operator,
    OptionalTensorList,
    Program,
    SubsegmentOffsets,
    Tensor,
    TensorList,
)
from et_schema.pte import serialize_pte
from et_schema.scalar_type import ScalarType
from et_tools.et_vm import main
from et_tools.exit_codes import ExitCode
from et_vm.micro.selection import selected_of_programs, selected_of_yaml
from et_vm.program import Program as LoadedProgram

FROZEN = Path(__file__).parents[1] / "unit" / "et_schema" / "frozen" / "stock-1.4.1.pte"


def tensor(*sizes: int, dtype: ScalarType = ScalarType.FLOAT) -> EValue:
    dim_order = bytes(range(len(sizes)))
    return EValue(Tensor(dtype, sizes=list(sizes), dim_order=dim_order, allocation_info=AllocationDetails(1)))


def all_kinds_of_arguments() -> bytes:
    """Lists, empty ones, optional ones, scalars of rank 0, an operator without overload, no tensors at all."""
    values = [
        tensor(2, 3),
        tensor(4, dtype=ScalarType.LONG),
        tensor(),
        EValue(Null()),
        EValue(Int(1)),
        EValue(TensorList([0, 0])),
        EValue(TensorList([])),
        EValue(OptionalTensorList([-1, 1])),
        EValue(OptionalTensorList([-1])),
        EValue(OptionalTensorList([3, 1])),
    ]
    operators = [
        Operator("aten::cat", "out"),
        Operator("aten::index", "Tensor_out"),
        Operator("acme::f", ""),
        Operator("executorch_prim::add", "Scalar"),
    ]
    calls = [
        KernelCall(0, [5, 4, 0, 0]),
        KernelCall(0, [6, 4, 0, 0]),
        KernelCall(0, [5, 4, 0, 0]),
        KernelCall(1, [0, 7, 0, 0]),
        KernelCall(1, [0, 8, 0, 0]),
        KernelCall(1, [0, 9, 0, 0]),
        KernelCall(2, [2, 2]),
        KernelCall(3, [4, 4, 4]),
    ]
    plan = ExecutionPlan(
        name="forward",
        container_meta_type=ContainerMetadata("", ""),
        values=values,
        chains=[Chain(instructions=[Instruction(call) for call in calls])],
        operators=operators,
        non_const_buffer_sizes=[0, 64],
    )
    return serialize_pte(Program(execution_plan=[plan], constant_segment=SubsegmentOffsets(0, [0])))


def stock(path: Path, folder: Path) -> dict[str, Any]:
    gen_oplist(folder / "stock.yaml", model_file_path=str(path))
    return in_order(yaml.safe_load((folder / "stock.yaml").read_text()))


def in_order(selected: dict[str, Any]) -> dict[str, Any]:
    """With the keys of each operator sorted: stock's tool keeps them in a set."""
    keys = selected["et_kernel_metadata"]
    return selected | {"et_kernel_metadata": {name: sorted(keys[name]) for name in keys}}


@pytest.mark.parametrize("source", [None, FROZEN], ids=["arguments", "frozen"])
def test_the_same_selection(source: Path | None, tmp_path: Path) -> None:
    path = source or tmp_path / "arguments.pte"
    if source is None:
        path.write_bytes(all_kinds_of_arguments())
    output = tmp_path / "ours.yaml"
    assert main(["ops", str(path), "-o", str(output)]) == ExitCode.OK
    assert yaml.safe_load(output.read_text()) == stock(path, tmp_path)


@pytest.mark.parametrize("source", [None, FROZEN], ids=["arguments", "frozen"])
def test_lists_of_the_stock_tool_are_read(source: Path | None, tmp_path: Path) -> None:
    """As input of `et-vm build`, they say what the program does."""
    path = source or tmp_path / "arguments.pte"
    if source is None:
        path.write_bytes(all_kinds_of_arguments())
    gen_oplist(tmp_path / "stock.yaml", model_file_path=str(path))
    listed = selected_of_yaml((tmp_path / "stock.yaml").read_text())
    assert listed.keys == selected_of_programs([LoadedProgram.load(path)]).keys
