"""Training steps: optimizers in the graph, against those of torch."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable

import pytest
import torch
from torch import Tensor, nn
from torch.export import ExportedProgram, export

from et_ir import joint_program, training_step
from et_ir.frontend.optimizers import OPTIMIZERS

Make = Callable[[Iterable[Tensor]], torch.optim.Optimizer]

CASES: dict[str, Make] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=1e-3),
    "sgd:lr=0.1,momentum=0.9,weight_decay=0.01,nesterov": lambda p: torch.optim.SGD(
        p, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True
    ),
    "sgd:lr=0.1,momentum=0.8,dampening=0.3": lambda p: torch.optim.SGD(
        p, lr=0.1, momentum=0.8, dampening=0.3
    ),
    "adam": torch.optim.Adam,
    "adam:lr=0.01,beta1=0.8,beta2=0.95,eps=1e-6,weight_decay=0.1,amsgrad": lambda p: torch.optim.Adam(
        p, lr=0.01, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1, amsgrad=True
    ),
    "adamw": torch.optim.AdamW,
    "adamw:lr=0.01,weight_decay=0.2,amsgrad=true": lambda p: torch.optim.AdamW(
        p, lr=0.01, weight_decay=0.2, amsgrad=True
    ),
    "adagrad": torch.optim.Adagrad,
    "adagrad:lr=0.1,lr_decay=0.05,weight_decay=0.01,initial_accumulator_value=0.2": lambda p: (
        torch.optim.Adagrad(p, lr=0.1, lr_decay=0.05, weight_decay=0.01, initial_accumulator_value=0.2)
    ),
    "rmsprop": torch.optim.RMSprop,
    "rmsprop:lr=0.001,alpha=0.9,momentum=0.5,centered,weight_decay=0.01": lambda p: torch.optim.RMSprop(
        p, lr=0.001, alpha=0.9, momentum=0.5, centered=True, weight_decay=0.01
    ),
}


class Net(nn.Module):
    """A layer, a parameter whose gradient is always 0, and the loss."""

    def __init__(self, dtype: torch.dtype = torch.float64) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3, dtype=dtype)
        self.unmoved = nn.Parameter(torch.full((2,), 0.5, dtype=dtype))

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        found = self.layer(x)
        return ((found - y) ** 2).mean() + (self.unmoved * 0).sum(), found.detach()


def net() -> tuple[Net, tuple[Tensor, Tensor]]:
    torch.manual_seed(0)
    return Net(), (torch.randn(5, 4, dtype=torch.float64), torch.randn(5, 3, dtype=torch.float64))


def joint() -> tuple[Net, tuple[Tensor, Tensor], ExportedProgram]:
    module, inputs = net()
    return module, inputs, joint_program(export(module, inputs))


class Steps:
    """Executes a training step by torch, with its state."""

    def __init__(self, program: ExportedProgram) -> None:
        self._program = program
        self.state = {name: value.detach().clone() for name, value in program.state_dict.items()}

    def __call__(self, *inputs: Tensor) -> list[Tensor]:
        signature = self._program.graph_signature
        held = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
        given = iter(inputs)
        names = [node.name for node in self._program.graph.nodes if node.op == "placeholder"]
        arguments = [self.state[held[name]] if name in held else next(given) for name in names]
        with torch.no_grad():
            results = torch.fx.Interpreter(self._program.graph_module).run(*arguments)
        left: list[Tensor] = []
        for spec, value in zip(signature.output_specs, results, strict=True):
            if spec.kind.name.endswith("MUTATION"):
                self.state[str(spec.target)] = value
            else:
                left.append(value)
        return left


def truth(
    module: nn.Module, optimizer: torch.optim.Optimizer, inputs: tuple[Tensor, ...], clip: float = 0
) -> Tensor:
    """The loss before a step of torch."""
    optimizer.zero_grad()
    loss = module(*inputs)[0]
    loss.backward()
    if clip:
        nn.utils.clip_grad_norm_(module.parameters(), clip)
    optimizer.step()
    return loss.detach()


def check(found: dict[str, Tensor], module: nn.Module) -> None:
    for name, value in module.named_parameters():
        torch.testing.assert_close(found[name], value.detach(), rtol=1e-9, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("text", CASES)
def test_a_hundred_steps(text: str) -> None:
    """Step by step, with a gradient of 0 from the first on, and NaN at the end."""
    module, inputs, program = joint()
    steps = Steps(training_step(program, text))
    optimizer = CASES[text](module.parameters())
    for number in range(100):
        batch = tuple(torch.randn_like(one) for one in inputs)
        wanted = truth(module, optimizer, batch)
        loss, outputs = steps(*batch)
        torch.testing.assert_close(loss, wanted, rtol=1e-9, atol=1e-12)
        assert outputs.shape == (5, 3)
        check(steps.state, module)
        assert steps.state["optimizer.step"] == number + 1
    batch = (inputs[0], torch.full_like(inputs[1], torch.nan))
    truth(module, optimizer, batch)
    steps(*batch)
    check(steps.state, module)
    assert all(value.isnan().any() for value in module.layer.parameters())


@pytest.mark.parametrize("largest", [0.05, 1e6])
def test_clipped_gradients(largest: float) -> None:
    module, inputs, program = joint()
    steps = Steps(training_step(program, f"sgd:lr=0.5,clip={largest}"))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    for _ in range(5):
        truth(module, optimizer, inputs, clip=largest)
        steps(*inputs)
        check(steps.state, module)


def test_learning_rate_as_input() -> None:
    module, inputs, program = joint()
    made = training_step(program, "adamw:lr=input")
    assert made.graph_signature.user_inputs[-1] == "lr"
    steps = Steps(made)
    optimizer = torch.optim.AdamW(module.parameters())
    for rate in (0.1, 0.01, 0.0):
        optimizer.param_groups[0]["lr"] = float(torch.tensor(rate))
        truth(module, optimizer, inputs)
        steps(*inputs, torch.tensor(rate))
        check(steps.state, module)
    args, keywords = made.example_inputs
    assert (len(args), keywords) == (3, {})


def test_the_joint_program_stays() -> None:
    """Its state and graph are not those of the step, whose state has the optimizer's; frozen parameters have none."""
    module, inputs = net()
    program = joint_program(export(module, inputs), ["layer.weight"])
    text = str(program.graph)
    made = training_step(program, "adam")
    assert str(program.graph) == text
    moments = [f"optimizer.{name}.layer.weight" for name in ("exp_avg", "exp_avg_sq")]
    assert [name for name in made.state_dict if name not in program.state_dict] == [
        "optimizer.step",
        *moments,
    ]
    before = copy.deepcopy(module.state_dict())
    steps = Steps(made)
    steps(*inputs)
    assert not torch.equal(steps.state["layer.weight"], before["layer.weight"])
    assert torch.equal(steps.state["layer.bias"], before["layer.bias"])
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


def test_programs_without_gradients() -> None:
    module, inputs = net()
    with pytest.raises(ValueError, match="the program has no gradients: make it by joint_program"):
        training_step(export(module, inputs), "sgd")


def test_every_optimizer_is_tested() -> None:
    assert {text.partition(":")[0] for text in CASES} == set(OPTIMIZERS)
