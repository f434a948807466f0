"""Optimizers against torch.optim, and mistakes with training modules."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.accuracy import assert_accurate
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func

from et_ir import ExecutorchBackendConfig
from et_ir.driver.pipelines import executorch_passes
from et_ir.driver.stages import run_passes
from et_ir.emit import disassemble, write
from et_ir.text import parse_module
from et_ir.universe import dialect_factories
from et_schema.errors import Error, ExecutorchError, InputError
from et_schema.pte import read_pte
from et_vm.training import SGD, get_sgd_optimizer, load_for_training

STEPS = 100
FIXTURE = Path(__file__).parents[2] / "fixtures" / "constants_inline.pte"

SETTINGS: list[dict[str, Any]] = [
    {"lr": 0.1},
    {"lr": 0.1, "momentum": 0.9},
    {"lr": 0.1, "momentum": 0.9, "dampening": 0.5},
    {"lr": 0.05, "momentum": 0.5, "nesterov": True},
    {"lr": 0.1, "weight_decay": 0.01},
    {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.1, "nesterov": True},
]


def gradients(kind: str, shape: tuple[int, ...]) -> Callable[[int], np.ndarray[Any, Any]]:
    draw = np.random.default_rng(1)
    drawn = draw.standard_normal((STEPS, *shape)).astype(np.float32)
    if kind == "zero":
        drawn[:] = 0
    elif kind == "nan":
        drawn[STEPS // 2, 0] = np.nan
    return lambda step: drawn[step]


@pytest.mark.parametrize("kind", ["random", "zero", "nan"])
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: "-".join(settings))
def test_steps_of_sgd(settings: dict[str, Any], kind: str) -> None:
    start = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    gradient = gradients(kind, start.shape)
    true = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    reference = torch.optim.SGD([true], **settings)
    found = start.copy()
    optimizer = get_sgd_optimizer({"w": found}, **settings)
    for step in range(STEPS):
        true.grad = torch.tensor(gradient(step), dtype=torch.float64)
        reference.step()
        optimizer.step({"w": gradient(step)})
        scale = max(1.0, float(true.detach().nan_to_num().abs().max()))
        assert_accurate(found, true.detach(), 8 * (step + 1), scale=scale, what=f"step {step}")
    assert kind != "random" or not np.allclose(found, start)


def test_torch_tensors_share_memory() -> None:
    value = torch.ones(3, requires_grad=True)
    SGD({"w": value}, lr=0.5).step({"w": torch.full((3,), 2.0)})
    assert value.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": -1.0}, "lr is -1.0"),
        ({"lr": 0.1, "momentum": -0.5}, "momentum is -0.5"),
        ({"lr": 0.1, "weight_decay": float("nan")}, "weight_decay is nan"),
        ({"lr": 0.1, "nesterov": True}, "nesterov needs a momentum"),
    ],
)
def test_settings_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SGD({"w": np.zeros(2, np.float32)}, **options)


def test_parameters_that_cannot_be_trained() -> None:
    frozen = np.zeros(2, np.float32)
    frozen.flags.writeable = False
    for value in (np.zeros(2, np.int64), frozen, "w"):
        with pytest.raises(InputError, match="'w' is not a floating-point array that can be written"):
            SGD({"w": value}, lr=0.1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"v": np.ones(2, np.float32)}, "no parameter 'v'"),
        ({"w": np.ones(3, np.float32)}, r"the gradient of 'w' is float32 \[3\], the parameter float32 \[2\]"),
        ({"w": np.ones(2)}, r"is float64 \[2\]"),
        ({"w": 1}, "is int, the parameter"),
    ],
)
def test_gradients_that_do_not_fit(wrong: dict[str, Any], message: str) -> None:
    first, second = np.zeros(2, np.float32), np.zeros(2, np.float32)
    optimizer = SGD({"u": first, "w": second}, lr=0.1)
    with pytest.raises(InputError, match=message):
        optimizer.step({"u": np.ones(2, np.float32), **wrong})
    assert not first.any()
    assert not second.any()


def test_programs_without_gradients() -> None:
    with pytest.raises(ExecutorchError, match="no method of the program has gradients") as caught:
        load_for_training(FIXTURE)
    assert caught.value.code == Error.NotSupported


TEXT = """
program.buffer mutable @w : tensor<2xf32> = #program.data<f32, [1.0, 2.0]>
func.func @fit(%x: tensor<2xf32>) -> (tensor<f32>, tensor<2xf32>, tensor<2xf32>)
    attributes {program.roles = #program.roles<loss, gradient "w", parameter "w">} {
  %0 = program.load @w : tensor<2xf32>
  %1 = edge.mul.Tensor %0, %x : tensor<2xf32>
  %2 = edge.sum.dim_IntList %1 {dim = []} : (tensor<2xf32>) -> tensor<f32>
  %3 = edge.dim_order_ops._clone_dim_order %x : tensor<2xf32>
  func.return %2, %3, %0 : tensor<f32>, tensor<2xf32>, tensor<2xf32>
}
"""


def parsed(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, *(factory() for factory in dialect_factories().values())):
        context.load_dialect(dialect)
    return parse_module(context, text)


def written(module: ModuleOp) -> bytes:
    stream = io.BytesIO()
    write(module, stream)
    return stream.getvalue()


@pytest.fixture(scope="module")
def planned() -> ModuleOp:
    module = parsed(TEXT)
    run_passes(module, executorch_passes(ExecutorchBackendConfig(target="et-vm")))
    return module


@pytest.fixture(scope="module")
def file(planned: ModuleOp) -> bytes:
    """A program whose loss is linear in its parameter: the gradient is the input."""
    return written(planned)


def test_a_program_of_a_text(file: bytes) -> None:
    module = load_for_training(file)
    assert module.method_names == ("fit",)
    assert module.named_parameters()["w"].tolist() == [1.0, 2.0]  # before any execution
    x = np.array([3.0, 4.0], np.float32)
    assert [float(one) for one in module.forward_backward("fit", [x])] == [11.0]
    gradients = module.named_gradients()
    SGD(module.named_parameters(), lr=0.5).step(gradients)
    assert module.named_parameters()["w"].tolist() == [-0.5, 0.0]
    assert [float(one) for one in module.forward_backward("fit", [x])] == [-1.5]
    assert gradients["w"].tolist() == [3.0, 4.0]
    assert module.program.load_method("fit").state["w"].tolist() == [-0.5, 0.0]


def test_torch_inputs_give_torch_tensors(file: bytes) -> None:
    module = load_for_training(file)
    [loss] = module.forward_backward("fit", [torch.tensor([1.0, 1.0])])
    assert isinstance(loss, torch.Tensor)
    module.named_parameters()["w"].zero_()
    [loss] = module.forward_backward("fit", [torch.tensor([1.0, 1.0])])
    assert float(loss) == 0.0
    assert module.named_gradients()["w"].tolist() == [1.0, 1.0]


def test_two_modules_have_parameters_of_their_own(file: bytes) -> None:
    one, other = load_for_training(file), load_for_training(file)
    one.named_parameters()["w"][:] = 0
    assert other.named_parameters()["w"].tolist() == [1.0, 2.0]


def test_roles_are_read_back_from_the_file(file: bytes) -> None:
    text = str(disassemble(read_pte(file)))
    assert 'roles = #program.roles<loss, gradient "w", parameter "w">' in text


def test_gradients_before_the_first_execution(file: bytes) -> None:
    with pytest.raises(ExecutorchError, match="there are no gradients yet") as caught:
        load_for_training(file).named_gradients()
    assert caught.value.code == Error.InvalidState


def test_methods_without_gradients(file: bytes) -> None:
    with pytest.raises(ExecutorchError, match="'forward' has no gradients; training methods are fit"):
        load_for_training(file).forward_backward("forward", [])


def test_constant_methods_that_do_not_fit(planned: ModuleOp) -> None:
    text = str(planned)
    assert text.count("executorch.return 2\n") == 1
    damaged = written(parsed(text.replace("executorch.return 2\n", "executorch.return 7\n")))
    assert "roles" not in str(disassemble(read_pte(damaged)))
    with pytest.raises(ExecutorchError, match="gradients from 1, parameters from 7, 1 names and 3 results"):
        load_for_training(damaged).forward_backward("fit", [np.zeros(2, np.float32)])
