"""Round trips of edited program text.

People edit the text of a file between `et-translate --pte-to-mlir` and back: each edit gives a file that the stock
runtime runs, with the results that the edit means. Files of both compilers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from stock import StockRuntime
from torch.export import export

from et_ir import to_edge
from et_schema.pte import open_pte
from et_tools.et_opt import main as et_opt
from et_tools.et_translate import main as et_translate


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 8), torch.nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)) + 1)


class Half(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.first(x) * 0.5


X = torch.linspace(-1, 1, 8).reshape(2, 4)


def modules() -> dict[str, torch.nn.Module]:
    torch.manual_seed(0)
    return {"forward": Net().eval(), "half": Half().eval()}


def ours() -> bytes:
    return to_edge({name: export(module, (X,)) for name, module in modules().items()}).to_executorch().buffer


def theirs() -> bytes:
    import warnings

    with warnings.catch_warnings(action="ignore"):  # about its own use of deprecated functions
        from executorch.exir import to_edge as stock_to_edge

        programs = {name: export(module, (X,)) for name, module in modules().items()}
        return stock_to_edge(programs).to_executorch().buffer


@pytest.fixture(scope="module", params=[ours, theirs], ids=["ours", "stock"])
def file(request: pytest.FixtureRequest) -> bytes:
    return request.param()


Edit = Callable[[Callable[[str], str]], Path]


@pytest.fixture
def edit(file: bytes, tmp_path: Path) -> Edit:
    """The file after a change of its text."""

    def run(change: Callable[[str], str]) -> Path:
        model, text, edited = (tmp_path / name for name in ("model.pte", "model.mlir", "edited.pte"))
        model.write_bytes(file)
        assert et_translate(["--pte-to-mlir", str(model), "-o", str(text)]) == 0
        before = text.read_text()
        after = change(before)
        assert after != before
        text.write_text(after)
        assert et_translate(["--mlir-to-pte", str(text), "-o", str(edited)]) == 0
        return edited

    return run


def expected(method: str) -> torch.Tensor:
    with torch.no_grad():
        return modules()[method](X)


def test_rename_a_method(edit: Edit, stock: StockRuntime) -> None:
    path = edit(lambda text: text.replace("executorch.plan @forward", "executorch.plan @encode"))
    assert torch.allclose(stock.run(path, [X], "encode")[0], expected("forward"))
    assert torch.allclose(stock.run(path, [X], "half")[0], expected("half"))


def without_plan(text: str, name: str) -> str:
    """The text without the lines of a method: it ends where its brace is closed at the same indentation."""
    return re.sub(rf"^( *)executorch\.plan @{name} .*?^\1\}}\n", "", text, flags=re.MULTILINE | re.DOTALL)


def test_drop_a_method(edit: Edit, file: bytes, stock: StockRuntime) -> None:
    path = edit(lambda text: without_plan(text, "half"))
    assert [plan.name for plan in open_pte(path).program.execution_plan] == ["forward"]
    assert torch.allclose(stock.run(path, [X])[0], expected("forward"))
    assert path.stat().st_size < len(file)


def test_replace_a_weight(edit: Edit, stock: StockRuntime) -> None:
    """The bias of the last layer, whose numbers stand in the text."""

    def change(text: str) -> str:
        bias = modules()["forward"].second.bias.tolist()
        numbers = next(
            found
            for found in re.findall(r"tensor<3xf32> = #program\.data<f32, \[([^\]]*)\]>", text)
            if torch.allclose(
                torch.tensor([float(number) for number in found.split(",")]), torch.tensor(bias)
            )
        )
        return text.replace(numbers, "10.0, 20.0, 30.0")

    (found,) = stock.run(edit(change), [X])
    bias = modules()["forward"].second.bias.detach()
    torch.testing.assert_close(found, expected("forward") - bias + torch.tensor([10.0, 20.0, 30.0]))


def test_replace_a_call(edit: Edit, stock: StockRuntime) -> None:
    (found,) = stock.run(edit(lambda text: text.replace("aten::relu.out", "aten::neg.out")), [X])
    net = modules()["forward"]
    with torch.no_grad():
        torch.testing.assert_close(found, net.second(-net.first(X) + 1))


@pytest.mark.parametrize("algorithm", ["greedy", "naive"])
def test_plan_the_memory_again(file: bytes, algorithm: str, stock: StockRuntime, tmp_path: Path) -> None:
    model, text, planned, again = (
        tmp_path / name for name in ("model.pte", "model.mlir", "planned.mlir", "again.pte")
    )
    model.write_bytes(file)
    assert et_translate(["--pte-to-mlir", str(model), "-o", str(text)]) == 0
    pipeline = f"plan-memory{{algorithm={algorithm} check=true}},verify-executorch"
    assert et_opt(["-p", pipeline, str(text), "-o", str(planned)]) == 0
    assert et_translate(["--mlir-to-pte", str(planned), "-o", str(again)]) == 0
    for method in ("forward", "half"):
        assert torch.allclose(stock.run(again, [X], method)[0], expected(method))
    sizes = [sum(plan.non_const_buffer_sizes) for plan in open_pte(again).program.execution_plan]
    before = [sum(plan.non_const_buffer_sizes) for plan in open_pte(model).program.execution_plan]
    assert (sizes <= before) if algorithm == "greedy" else (min(sizes) > 0)
