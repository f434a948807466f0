"""Sizes that export did not allow are refused, with input and dimension; memory for unbounded sizes at run time.

What the programs compute for sizes that they take: test_programs.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, cast

import pytest
import torch
from sized_programs import CASES, Case, One, inputs_of, module_of
from stock import StockError, StockRuntime
from torch import Tensor, nn
from torch.export import Dim
from torch.utils import _pytree as pytree

from et_ir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from et_schema.errors import InputError
from et_vm.runtime import Runtime


def exported(case: Case) -> tuple[nn.Module, torch.export.ExportedProgram]:
    module = module_of(case)
    with warnings.catch_warnings(action="ignore"):
        return module, torch.export.export(module, inputs_of(case.fits[0]), dynamic_shapes=case.dynamic)


def compare(found: Sequence[Any], module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
    wanted = pytree.tree_leaves(module(*inputs))
    assert len(found) == len(wanted)
    for got, expected in zip(found, wanted, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_refused_sizes(name: str) -> None:
    """Twice each, and what fits is computed right again afterwards."""
    case = CASES[name]
    module, program = exported(case)
    edge = to_edge(program, compile_config=EdgeCompileConfig(default_bounds=case.bounds))
    file = edge.to_executorch(ExecutorchBackendConfig()).buffer
    fitting = inputs_of(case.fits[0])
    for library in ("portable", "aten"):
        for poison in (False, True):
            method = Runtime.get().load_program(file, kernels=library, poison=poison).load_method("forward")
            for shapes, message in case.refused:
                for _ in range(2):
                    with pytest.raises(InputError, match=message):
                        method.execute(list(inputs_of(shapes)))
            compare(method.execute(list(fitting)), module, fitting)


def test_beyond_the_largest_on_stock(tmp_path: Path, stock: StockRuntime) -> None:
    _, program = exported(CASES["elements"])
    path = tmp_path / "model.pte"
    path.write_bytes(to_edge(program).to_executorch().buffer)
    with pytest.raises(StockError, match="resize a bounded tensor"):
        stock.run(path, inputs_of(((13, 4),)))


GRID: Final = torch.tensor([[2, 3], [1, 4]])

UNBOUNDED: dict[str, Callable[[Tensor], Any]] = {
    "elements": lambda x: (x + 1).relu() * 2,
    "products": lambda x: (x @ x.T).softmax(1) @ x,
    "parts": lambda x: torch.cat([x, x]).reshape(-1),
    "not zero": lambda x: torch.nonzero(x > 0),
    "selected": lambda x: x[x > 0] * 2,
    "distinct": lambda x: torch.unique((x * 2).round()),
    "of a number in a tensor": lambda x: torch.zeros((x > 0).sum().item()) + 1,
    "uneven parts": lambda x: [part * 2 for part in (x + 1).split([1, 3], 1)],
    "even parts": lambda x: [part * 2 for part in (x + 1).chunk(2, 1)],
    "parts of a number of rows": lambda x: [
        part * 2 for part in torch.cat([x, x]).split([1, 2 * x.shape[0] - 1])
    ],
    "parts of rows that are selected": lambda x: [part * 2 for part in x[x[:, 0] > 0].split([3, 1], 1)],
    "written rows": lambda x: _written(x),
    "two equal sizes of a view": lambda x: torch.linalg.tensorsolve(
        (torch.eye(4 * x.shape[0]) * 2).reshape(x.shape[0], 4, x.shape[0], 4), x
    ),
    "of numbers in a constant": lambda x: (x + 1).repeat(GRID[0].tolist()),
    "of a product of numbers": lambda x: torch.arange(_count(x) * _count(-x)),
}


def _count(x: Tensor) -> int:
    count = cast(int, (x > 0).sum().item())
    torch._check(count >= 1)
    return count


def _written(x: Tensor) -> Tensor:
    """Rows up to a product of numbers, and those behind it, written to a tensor of a known size."""
    rows = _count(x[:1]) * 2
    torch._check(rows <= 16)
    result = torch.zeros(16, 4)
    result[:rows] = x[0]
    result[rows:] = x[0] * 2
    return result


@pytest.mark.parametrize("name", UNBOUNDED)
def test_memory_at_run_time(name: str, tmp_path: Path) -> None:
    module = One(UNBOUNDED[name])
    with warnings.catch_warnings(action="ignore"):
        program = torch.export.export(module, inputs_of(((5, 4),)), dynamic_shapes=({0: Dim("n", min=1)},))
    path = tmp_path / "model.pte"
    config = ExecutorchBackendConfig(target="et-vm", unbounded="runtime")
    path.write_bytes(to_edge(program).to_executorch(config).buffer)
    for library in ("portable", "aten"):
        for poison in (False, True):
            method = Runtime.get().load_program(path, kernels=library, poison=poison).load_method("forward")
            for rows in (5, 1, 100, 7, 7, 7):
                inputs = inputs_of(((rows, 4),))
                compare(method.execute(list(inputs)), module, inputs)


def test_a_dimension_that_is_marked(tmp_path: Path, stock: StockRuntime) -> None:
    """`mark_dynamic` makes a symbol without a bound, which the compiler is told."""
    module = One(lambda x: torch.cat([x * 2, x]) + x.shape[0])
    example = torch.ones(6, 4)
    torch._dynamo.mark_dynamic(example, 0)
    with warnings.catch_warnings(action="ignore"):
        program = torch.export.export(module, (example,))
    path = tmp_path / "model.pte"
    edge = to_edge(program, compile_config=EdgeCompileConfig(default_bounds={"x.0": 16}))
    edge.to_executorch().save(path)
    method = Runtime.get().load_program(path).load_method("forward")
    for rows in (2, 6, 16):
        inputs = inputs_of(((rows, 4),))
        compare(method.execute(list(inputs)), module, inputs)
        compare(stock.run(path, inputs), module, inputs)
    with pytest.raises(InputError, match="16"):
        method.execute(list(inputs_of(((17, 4),))))
