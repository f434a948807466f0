"""Products of groups of rows: few and many rows, empty groups, rows of no group."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import nn

from et_backends.codegen.object_code import INSTRUCTION_SETS
from et_backends.native.compiler import NativePartitioner
from et_ir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from et_vm.backends.cpu import cpu_features
from et_vm.runtime import Runtime

with warnings.catch_warnings(action="ignore"):  # of transformers about itself
    import transformers.integrations.moe  # noqa: F401  (registers the operator)

GROUPS = 4
HERE = next(name for name, one in INSTRUCTION_SETS.items() if cpu_features().issuperset(one.cpu_flags))


class Grouped(nn.Module):
    """Rows `[S, 6]` times matrices `[4, 6, 5]`."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.weight = nn.Parameter(torch.randn(GROUPS, 6, 5, generator=generator).to(dtype))

    def forward(self, x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        operators: Any = torch.ops
        return operators.transformers.grouped_mm_fallback(x, self.weight, ends)


ENDS = ([1, 1, 3, 3], [0, 0, 0, 0], [3, 3, 3, 3], [0, 1, 2, 3], [0, 0, 0, 2])


def compiled(module: nn.Module, rows: int, *, is_dynamic: bool) -> Any:
    x = torch.zeros(rows, 6, dtype=next(module.parameters()).dtype)
    size = {0: torch.export.Dim("rows", min=1, max=32)} if is_dynamic else None
    exported = torch.export.export(
        module, (x, torch.zeros(GROUPS, dtype=torch.int32)), dynamic_shapes=(size, None)
    )
    file = to_edge(exported).to_executorch(ExecutorchBackendConfig()).buffer
    return Runtime().load_program(file, poison=True).load_method("forward")


@pytest.mark.parametrize(("rows", "is_dynamic"), [(3, False), (9, False), (9, True)])
def test_values(rows: int, is_dynamic: bool) -> None:
    module = Grouped(torch.float32)
    method = compiled(module, rows, is_dynamic=is_dynamic)
    x = torch.randn(rows, 6, generator=torch.Generator().manual_seed(1))
    for ends in ENDS:
        given = torch.tensor([end * rows // 3 for end in ends], dtype=torch.int32)
        with torch.no_grad():
            expected = module(x, given)
        (found,) = method.execute([x, given])
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_machine_code(is_dynamic: bool) -> None:
    """The operator is one kernel of a delegate, whose matrices are packed constants."""
    module = Grouped(torch.float32)
    x = torch.randn(9, 6, generator=torch.Generator().manual_seed(1))
    size = {0: torch.export.Dim("rows", min=1, max=32)} if is_dynamic else None
    exported = torch.export.export(
        module, (x, torch.zeros(GROUPS, dtype=torch.int32)), dynamic_shapes=(size, None)
    )
    edge = to_edge_transform_and_lower(exported, partitioner=[NativePartitioner(instruction_sets=[HERE])])
    assert not [op.name for op in edge.module.walk() if op.name.startswith("edge.")]
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    method = Runtime().load_program(file, poison=True, allow_native=True).load_method("forward")
    for ends in ENDS:
        given = torch.tensor([end * 3 for end in ends], dtype=torch.int32)
        with torch.no_grad():
            expected = module(x, given)
        torch.testing.assert_close(torch.as_tensor(method.execute([x, given])[0]), expected)


class OfTorch(nn.Module):
    """The same by torch's own operator."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.weight = nn.Parameter(torch.randn(GROUPS, 16, 16, generator=generator).bfloat16())

    def forward(self, x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        operators: Any = torch.ops
        return operators.aten._grouped_mm(x, self.weight, ends)


def test_operator_of_torch() -> None:
    module = OfTorch()
    x = torch.randn(8, 16, generator=torch.Generator().manual_seed(1)).bfloat16()
    ends = torch.tensor([2, 2, 5, 8], dtype=torch.int32)
    exported = torch.export.export(module, (x, ends))
    file = to_edge(exported).to_executorch(ExecutorchBackendConfig()).buffer
    (found,) = Runtime().load_program(file).load_method("forward").execute([x, ends])
    with torch.no_grad():
        expected = torch.cat(
            [
                x[first:last].float() @ module.weight[group].float()
                for group, (first, last) in enumerate(((0, 2), (2, 2), (2, 5), (5, 8)))
            ]
        )
    torch.testing.assert_close(torch.as_tensor(found).float(), expected, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("name", ["transformers.grouped_mm_fallback", "aten._grouped_mm"])
def test_number_of_groups(name: str) -> None:
    """It is that of the matrices: no model has constant matrices of a number of groups that is known later."""
    namespace, _, operator = name.partition(".")

    class Groups(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            dtype = torch.bfloat16 if namespace == "aten" else torch.float32
            self.weight = nn.Parameter(torch.zeros(GROUPS, 16, 16, dtype=dtype))

        def forward(self, x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
            return getattr(getattr(torch.ops, namespace), operator)(x, self.weight, ends)

    module = Groups()
    inputs = torch.zeros(8, 16, dtype=module.weight.dtype), torch.tensor([2, 2, 5, 8], dtype=torch.int32)
    groups = torch.export.Dim("groups", min=2, max=9)
    with pytest.raises(Exception, match="specialized it to be a constant"):
        torch.export.export(module, inputs, dynamic_shapes=({}, {0: groups}))
