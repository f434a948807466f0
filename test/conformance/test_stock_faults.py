"""Each entry of `stock_faults` is so: the stock runtime gives what the entry's model gives, which torch does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from stock import StockRuntime
from stock_faults import FAULTS, Fault
from sweep.compare import difference
from sweep.faults import FAULT, explanation, modelled, same

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.targets.lookup import DEFAULT
from et_schema.pte import read_pte
from et_schema.scalar_type import ScalarType
from et_vm.interchange import to_torch
from et_vm.runtime import Runtime

CASES = [(fault, kind) for fault in FAULTS for kind in fault.types]
IDS = [f"{fault.operator} {kind.name.lower()}" for fault, kind in CASES]


class Program(torch.nn.Module):
    """A function as a module."""

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self.function = fault.program

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(*inputs)


def compiled(fault: Fault, inputs: tuple[torch.Tensor, ...], target: str) -> bytes:
    program = torch.export.export(Program(fault), inputs, strict=False)
    return to_edge(program).to_executorch(ExecutorchBackendConfig(target=target)).buffer


def operators(file: bytes) -> set[str]:
    (plan,) = read_pte(file).program.execution_plan
    return {f"{found.name}.{found.overload}" for found in plan.operators}


def on_vm(file: bytes, inputs: tuple[torch.Tensor, ...]) -> torch.Tensor:
    (result,) = Runtime.get().load_program(file).load_method("forward").execute(list(inputs))
    return to_torch(result) if isinstance(result, np.ndarray) else result


def exact(got: torch.Tensor, expected: torch.Tensor) -> bool:
    """Equal up to the order of additions in float64, or in a float's own type."""
    if got.dtype == torch.float64:
        return torch.allclose(got, expected, rtol=1e-12, atol=1e-13)
    return same(got, expected)


@pytest.mark.parametrize(("fault", "kind"), CASES, ids=IDS)
def test_the_stock_runtime_is_wrong(
    fault: Fault, kind: ScalarType, stock: StockRuntime, tmp_path: Path
) -> None:
    """The file, made as for a runtime without faults, gives torch's result on the VM, and on the stock runtime another:
    that of the model.
    """
    inputs = tuple(fault.inputs(getattr(torch, kind.torch_name)))
    torch_s = fault.program(*inputs)
    path = tmp_path / "program.pte"
    path.write_bytes(file := compiled(fault, inputs, "et-vm"))
    assert fault.operator in operators(file)
    assert exact(on_vm(file, inputs), torch_s)

    (stock_s,) = stock.run(path, inputs)
    assert not exact(stock_s, torch_s), "the stock runtime is right"
    (model_s,), seen = modelled(file, inputs)
    assert seen == {fault.operator}
    assert same(stock_s, model_s), f"the stock runtime gives {stock_s}, the model {model_s}"
    if not torch_s.is_floating_point():
        assert torch.equal(stock_s, model_s)
    assert explanation(file, inputs, [stock_s]) == f"{FAULT}{fault.operator}"


@pytest.mark.parametrize(("fault", "kind"), CASES, ids=IDS)
def test_only_what_is_listed_is_explained(fault: Fault, kind: ScalarType) -> None:
    """Another wrong result than that of the model has no explanation."""
    inputs = tuple(fault.inputs(getattr(torch, kind.torch_name)))
    file = compiled(fault, inputs, "et-vm")
    (model_s,), _ = modelled(file, inputs)
    assert explanation(file, inputs, [model_s]) is not None
    off = model_s + 1 if not model_s.is_floating_point() else model_s * 1.1 + 0.1
    assert explanation(file, inputs, [off]) is None
    assert explanation(file, inputs, [model_s[..., :1]]) is None
    assert explanation(file, inputs, []) is None


@pytest.mark.parametrize(
    ("fault", "kind"),
    [case for case in CASES if case[0].avoided],
    ids=lambda value: getattr(value, "operator", None),
)
def test_the_compiler_avoids_it(fault: Fault, kind: ScalarType, stock: StockRuntime, tmp_path: Path) -> None:
    """A file that is made for the stock runtime gives torch's result there."""
    inputs = tuple(fault.inputs(getattr(torch, kind.torch_name)))
    path = tmp_path / "program.pte"
    path.write_bytes(compiled(fault, inputs, DEFAULT))
    assert exact(stock.run(path, inputs)[0], fault.program(*inputs))


def test_right_results_are_not_explained(stock: StockRuntime, tmp_path: Path) -> None:
    """A program without a faulty kernel has no explanation, whatever it gives."""
    inputs = (torch.ones(3),)
    fault = Fault("", (), "", "", FAULTS[0].model, lambda dtype: list(inputs), lambda x: x + 1)
    file = compiled(fault, inputs, DEFAULT)
    assert explanation(file, inputs, [torch.zeros(3)]) is None
    assert difference([on_vm(file, inputs)], [inputs[0] + 1]) is None
