"""Training on both runtimes, of files of both compilers: each step as in double precision."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from stock import compile_stock
from support.accuracy import assert_accurate
from torch import Tensor, nn
from training_on_stock import train_on_stock
from training_programs import CASES, WithLoss, joint

from et_ir import (
    EdgeCompileConfig,
    ExecutorchBackendConfig,
    to_edge,
    to_edge_transform_and_lower,
    training_step,
)
from et_ir.backends.native import NativePartitioner
from et_vm.runtime import Runtime
from et_vm.training import get_sgd_optimizer, load_for_training

OPTIONS: dict[str, Any] = {"lr": 0.05, "momentum": 0.9, "weight_decay": 1e-3, "nesterov": True}
ROUNDINGS = 64
"""Of an element of a parameter in a step: sums of a few dozen terms, forward and backward."""
LONG = 120
SHORT = 4


def steps_of(name: str) -> int:
    return LONG if name == "mlp" else SHORT


def true_steps(
    module: nn.Module, batches: list[tuple[Tensor, ...]]
) -> list[tuple[Tensor, dict[str, Tensor]]]:
    """The loss before and the parameters after each step, in double precision."""
    exact = copy.deepcopy(module).double()
    optimizer = torch.optim.SGD(exact.parameters(), **OPTIONS)
    found: list[tuple[Tensor, dict[str, Tensor]]] = []
    for batch in batches:
        optimizer.zero_grad()
        loss = exact(*(x.double() if x.is_floating_point() else x for x in batch))[0]
        loss.backward()
        optimizer.step()
        found.append(
            (loss.detach(), {name: value.detach().clone() for name, value in exact.named_parameters()})
        )
    return found


def check(steps: list[tuple[Any, Any]], truth: list[tuple[Tensor, dict[str, Tensor]]]) -> None:
    assert len(steps) == len(truth)
    for number, ((loss, found), (true_loss, true)) in enumerate(zip(steps, truth, strict=True), 1):
        assert found.keys() == true.keys()
        terms = number * ROUNDINGS
        assert_accurate(
            loss, true_loss, terms, scale=max(1.0, float(true_loss)), what=f"the loss of step {number}"
        )
        for name, value in found.items():
            scale = max(1.0, float(true[name].abs().max()))
            assert_accurate(value, true[name], terms, scale=scale, what=f"{name} after step {number}")
    first = truth[0][1]
    assert all(not torch.equal(first[name], truth[-1][1][name]) for name in first), "nothing is trained"


def compiled(program: torch.export.ExportedProgram, target: str, level: str = "1") -> bytes:
    edge = to_edge(program, compile_config=EdgeCompileConfig(level=level))
    return edge.to_executorch(ExecutorchBackendConfig(target=target, level=level)).buffer


@pytest.mark.parametrize("name", CASES)
def test_stock_trains_files_of_ours(name: str, tmp_path: Path) -> None:
    module, program = CASES[name].program()
    batches = [CASES[name].batch(seed) for seed in range(steps_of(name))]
    check(
        train_on_stock(compiled(program, "stock-1.5"), batches, OPTIONS, tmp_path),
        true_steps(module, batches),
    )


def on_vm(file: bytes, batches: list[tuple[Tensor, ...]], kernels: str = "portable") -> list[tuple[Any, Any]]:
    module = load_for_training(file, poison=True, kernels=kernels)
    optimizer = get_sgd_optimizer(module.named_parameters(), **OPTIONS)
    steps: list[tuple[Any, Any]] = []
    for batch in batches:
        loss, *_ = module.forward_backward("forward", [x.numpy() for x in batch])
        optimizer.step(module.named_gradients())
        steps.append((loss, {name: value.copy() for name, value in module.named_parameters().items()}))
    return steps


@pytest.mark.parametrize("name", CASES)
def test_et_vm_trains_files_of_ours(name: str) -> None:
    module, program = CASES[name].program()
    batches = [CASES[name].batch(seed) for seed in range(steps_of(name))]
    truth = true_steps(module, batches)
    for level in ("0", "1") if name == "mlp" else ("1",):
        check(on_vm(compiled(program, "et-vm", level), batches), truth)


@pytest.mark.parametrize("name", ["mlp", "embedding"])
def test_et_vm_trains_files_of_stock(name: str) -> None:
    module, program = CASES[name].program()
    batches = [CASES[name].batch(seed) for seed in range(steps_of(name))]
    check(on_vm(compile_stock(program), batches), true_steps(module, batches))


def test_torch_kernels() -> None:
    module, program = CASES["pools"].program()
    batches = [CASES["pools"].batch(seed) for seed in range(SHORT)]
    check(on_vm(compiled(program, "et-vm-aten"), batches, "aten"), true_steps(module, batches))


def test_running_statistics_are_those_of_the_module() -> None:
    module, program = CASES["pools"].program()
    batch = CASES["pools"].batch(1)
    loaded = load_for_training(compiled(program, "et-vm"))
    loaded.forward_backward("forward", [x.numpy() for x in batch])
    exact = copy.deepcopy(module).double()
    exact(batch[0].double(), batch[1])
    state = loaded.program.load_method("forward").state
    buffers = {name: value for name, value in exact.named_buffers() if value.is_floating_point()}
    assert len(buffers) == 2
    for name, value in buffers.items():
        assert_accurate(state[name], value, 256, what=name)


def test_gradients_of_inputs_are_refused() -> None:
    module = WithLoss(nn.Linear(6, 3))
    x, y = CASES["mlp"].batch(0)
    program = joint(module, (x.requires_grad_(), y))
    with pytest.raises(Exception, match="gradient of the input") as caught:
        to_edge(program)
    assert "detach()" in str(caught.value)


LAYERS = (
    lambda: nn.Linear(6, 6),
    lambda: nn.LayerNorm(6),
    lambda: nn.RMSNorm(6),
    lambda: nn.GroupNorm(2, 6),
    nn.Tanh,
    nn.GELU,
    nn.SiLU,
    nn.Softplus,
    lambda: nn.Softmax(-1),
    lambda: nn.LogSoftmax(-1),
    lambda: nn.Bilinear(6, 6, 6),
)


class Mixed(nn.Module):
    """Random layers, some with what an earlier one gives."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(seed)
        torch.manual_seed(seed)
        chosen = torch.randint(0, len(LAYERS), (5,), generator=draw).tolist()
        self.layers = nn.ModuleList([nn.Linear(6, 6), *(LAYERS[at]() for at in chosen)])
        self.sources = [int(torch.randint(0, at + 1, (), generator=draw)) for at in range(len(self.layers))]

    def forward(self, x: Tensor) -> Tensor:
        values = [x]
        for layer, source in zip(self.layers, self.sources, strict=True):
            other = values[source]
            given = layer(values[-1], other) if isinstance(layer, nn.Bilinear) else layer(values[-1])
            values.append(given + other * torch.sigmoid(given))
        return torch.stack([value.square().mean() for value in values]).sum()


@pytest.mark.parametrize("seed", range(12))
def test_gradients_of_random_modules(seed: int) -> None:
    module = Mixed(seed)
    x = torch.randn(5, 6, generator=torch.Generator().manual_seed(seed))
    loaded = load_for_training(compiled(joint(module, (x,)), "et-vm"), poison=True)
    [loss] = loaded.forward_backward("forward", [x.numpy()])
    exact = copy.deepcopy(module).double()
    true_loss = exact(x.double())
    true_loss.backward()
    assert_accurate(loss, true_loss.detach(), 4 * ROUNDINGS)
    true = {name: value.grad for name, value in exact.named_parameters()}
    scale = max(float(value.abs().max()) for value in true.values() if value is not None)
    for name, value in loaded.named_gradients().items():
        assert_accurate(value, true[name], 8 * ROUNDINGS, scale=scale, what=name)
    assert loaded.named_gradients().keys() == true.keys()


OPTIMIZERS: dict[str, Callable[[Iterable[Tensor]], torch.optim.Optimizer]] = {
    "sgd:lr=0.05,momentum=0.9,dampening=0.1": lambda p: torch.optim.SGD(
        p, lr=0.05, momentum=0.9, dampening=0.1
    ),
    "adam:lr=0.01": lambda p: torch.optim.Adam(p, lr=0.01),
    "adamw:lr=0.01,amsgrad": lambda p: torch.optim.AdamW(p, lr=0.01, amsgrad=True),
    "adagrad:lr=0.05": lambda p: torch.optim.Adagrad(p, lr=0.05),
    "rmsprop:lr=0.01,momentum=0.5,centered": lambda p: torch.optim.RMSprop(
        p, lr=0.01, momentum=0.5, centered=True
    ),
}
STEPS = 20


def parameters_after(
    module: nn.Module, batches: list[tuple[Tensor, Tensor]], text: str, dtype: torch.dtype
) -> dict[str, Tensor]:
    """Those after steps of torch in an element type."""
    trained = copy.deepcopy(module).to(dtype)
    optimizer = OPTIMIZERS[text](trained.parameters())
    for x, y in batches:
        optimizer.zero_grad()
        trained(x.to(dtype), y)[0].backward()
        optimizer.step()
    return {name: value.detach().double() for name, value in trained.named_parameters()}


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("text", OPTIMIZERS)
def test_optimizers_in_the_program(text: str, native: bool) -> None:
    """Beside double precision, no more than some times the error of torch; other methods see the parameters."""
    case = CASES["mlp"]
    module, program = case.program()
    batches = [case.batch(seed) for seed in range(STEPS)]
    exact, eager = (
        parameters_after(module, batches, text, dtype) for dtype in (torch.float64, torch.float32)
    )
    edge = to_edge_transform_and_lower(
        {"forward": program, "train_step": training_step(program, text)},
        partitioner=[NativePartitioner()] if native else [],
    )
    buffer = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    trained = load_for_training(buffer, allow_native=native)
    step = trained.program.load_method("train_step")
    losses = [float(step.execute(list(batch))[0]) for batch in batches]
    assert losses[0] == pytest.approx(float(module(*batches[0])[0].detach()), rel=1e-6)
    trained.forward_backward("forward", list(batches[0]))
    for name, value in trained.named_parameters().items():
        scale = 2.0**-23 * max(1.0, float(exact[name].abs().max()))
        allowed = 8 * (eager[name] - exact[name]).abs().max() + STEPS * scale
        assert (torch.as_tensor(value).double() - exact[name]).abs().max() <= allowed, name
    assert step.state["optimizer.step"] == STEPS


def test_training_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    """With the same bits as without a stop."""
    case = CASES["mlp"]
    _, program = case.program()
    edge = to_edge({"train_step": training_step(program, "adamw:lr=0.01,amsgrad")})
    buffer = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    batches = [list(case.batch(seed)) for seed in range(6)]
    whole = Runtime.get().load_program(buffer).load_method("train_step")
    for batch in batches:
        whole.execute(batch)
    first = Runtime.get().load_program(buffer).load_method("train_step")
    for batch in batches[:3]:
        first.execute(batch)
    first.state.save(tmp_path / "state.ptd")
    second = Runtime.get().load_program(buffer).load_method("train_step")
    second.state.load(tmp_path / "state.ptd")
    for batch in batches[3:]:
        second.execute(batch)
    assert list(second.state) == list(whole.state)
    for name in whole.state:
        assert second.state[name].tobytes() == whole.state[name].tobytes(), name
