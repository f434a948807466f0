"""Joint programs: which parameters are trained, and what is said of programs that have no gradients."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import ExportedProgram, export

from et_ir.frontend.training import TrainingError, joint_program, trained_parameters, with_loss


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(4, 5), nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.relu(self.body(x)))


def program_of(module: nn.Module | None = None) -> ExportedProgram:
    module = with_loss(module or Net(), nn.functional.cross_entropy)
    return export(module, (torch.randn(6, 4), torch.randint(0, 3, (6,))))


HEAD = ["head.0.weight", "head.0.bias", "head.1.weight", "head.1.bias"]
ALL = ["body.weight", "body.bias", *HEAD]


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        ((), ALL),
        (("head",), HEAD),
        (("head.*",), HEAD),
        (("head.1", "body.bias"), ["body.bias", *HEAD[2:]]),
        (("*.bias",), [name for name in ALL if name.endswith("bias")]),
        (("head.?.weight",), [HEAD[0], HEAD[2]]),
    ],
)
def test_patterns(patterns: Sequence[str], names: list[str]) -> None:
    program = program_of()
    assert trained_parameters(program, patterns) == names
    joint = joint_program(program, patterns)
    gradients = [
        spec.target
        for spec in joint.graph_signature.output_specs
        if spec.kind.name == "GRADIENT_TO_PARAMETER"
    ]
    assert gradients == names
    assert trained_parameters(program) == ALL, "the program has changed"


def calls(program: ExportedProgram) -> int:
    return sum(node.op == "call_function" for node in program.graph.nodes)


def test_backward_of_others_is_pruned() -> None:
    program = program_of()
    assert (
        calls(joint_program(program, ["head.1"]))
        < calls(joint_program(program, ["head"]))
        < calls(joint_program(program))
    )


def test_values() -> None:
    module = Net()
    x, y = torch.randn(6, 4), torch.randint(0, 3, (6,))
    program = joint_program(program_of(module), ["head"])
    values = [*(dict(module.named_parameters())[name] for name in ALL), x, y]
    loss, scores, *gradients = program.graph_module(*values)
    found = module(x)
    expected = nn.functional.cross_entropy(found, y)
    expected.backward()  # pyright: ignore[reportUnknownMemberType]  (torch states no types)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(scores, found)
    for name, gradient in zip(HEAD, gradients, strict=True):
        torch.testing.assert_close(gradient, module.get_parameter(name).grad)


def test_inputs_are_those_of_module_and_loss() -> None:
    def weighted(scores: Tensor, x: Tensor, weight: Tensor, power: int = 2) -> Tensor:
        return ((scores - x) * weight).pow(power).mean()

    module = with_loss(Net(), weighted)
    assert list(inspect.signature(module.forward).parameters) == ["x", "target_x", "weight"]
    x, y, w = torch.randn(6, 4), torch.randn(6, 3), torch.rand(3)
    loss, scores = module(x, y, w)
    assert not scores.requires_grad
    torch.testing.assert_close(loss, ((scores - y) * w).pow(2).mean())


def test_outputs_after_the_loss_are_detached() -> None:
    class Trained(Net):
        def forward(self, x: Tensor) -> dict[str, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
            scores = super().forward(x)
            return {"loss": scores.square().mean(), "scores": scores}

    module = with_loss(Trained())
    found = module(torch.randn(2, 4))
    assert found["loss"].requires_grad
    assert not found["scores"].requires_grad
    assert list(joint_program(export(module, (torch.randn(2, 4),)), ["head"]).graph_signature.user_outputs)


class Parameters(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w, self.v = nn.Parameter(torch.rand(4) + 0.5), nn.Parameter(torch.rand(3))
        self.counts = nn.Parameter(torch.arange(4), requires_grad=False)


def with_forward(forward: Callable[[Any, Tensor], Any]) -> nn.Module:
    return type("WithForward", (Parameters,), {"forward": forward})()


# Export keeps the lines of functions named `forward`.
class Overwriting(Parameters):
    def forward(self, x: Tensor) -> Tensor:
        y = torch.exp(self.w)
        z = torch.sigmoid(x * y)
        y.add_(1)  # overwrites
        return z.sum() + y.sum()


class Writing(Parameters):
    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            self.w.add_(1)  # writes
        return (self.w * x).sum()


class Stepping(Parameters):
    def forward(self, x: Tensor) -> Tensor:
        return (x + torch.heaviside(self.w, self.w)).sum()  # has no derivative


MISTAKES: dict[str, tuple[Callable[[Any, Tensor], Any], str, str]] = {
    "vector": (lambda self, x: x * self.w, "is a tensor of 2x4, not one number", "mean() or sum()"),
    "number": (
        lambda self, x: (3, (x * self.w).sum()),
        "the loss is 3, not a tensor",
        "return the loss first",
    ),
    "index": (lambda self, x: (x * self.w).argmax(), "does not depend on a trained parameter", "detach()"),
    "detached": (
        lambda self, x: (x * self.w.detach()).sum(),
        "does not depend on a trained parameter",
        "detach()",
    ),
    "unused": (lambda self, x: (x * self.w).sum(), "does not depend on the parameter v", "train only others"),
    "overwritten": (
        Overwriting.forward,
        "'aten::add_': overwrites values that gradients",
        "compute a new tensor",
    ),
    "parameter": (Writing.forward, "writes to the parameter w, which is trained", "outside of forward"),
    "derivative": (
        Stepping.forward,
        "'aten::heaviside': the operator has no derivative",
        "compute with others",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_programs_without_gradients(name: str) -> None:
    function, message, fix = MISTAKES[name]
    program = export(with_forward(function), (torch.rand(2, 4),))
    before = [node.meta.get("val") for node in program.graph.nodes]
    with pytest.raises(TrainingError) as caught:
        joint_program(program, () if name == "unused" else ["w"])
    [diagnostic] = caught.value.diagnostics
    assert message in diagnostic.text
    assert fix in diagnostic.fix
    assert [node.meta.get("val") for node in program.graph.nodes] == before
    lines, start = inspect.getsourcelines(function)
    marked = [start + number for number, line in enumerate(lines) if "  # " in line]
    if marked:
        assert (diagnostic.file, diagnostic.line) == (__file__, marked[0])


def test_nothing_to_train() -> None:
    frozen = Net().requires_grad_(False)
    with pytest.raises(TrainingError, match="has 6 parameters, none of which requires gradients"):
        joint_program(export(frozen, (torch.rand(2, 4),)))
    with pytest.raises(TrainingError, match="has no parameters"):
        joint_program(export(nn.ReLU(), (torch.rand(2, 4),)))


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("haed", "no parameter matches 'haed', did you mean 'head'?"),
        ("tail.*", "no parameter matches 'tail.*'; there are body.weight, body.bias, head.0.weight, "),
        ("body", "'body': the parameter body.weight does not require gradients"),
    ],
)
def test_patterns_without_parameters(pattern: str, message: str) -> None:
    module = Net()
    module.body.requires_grad_(False)
    with pytest.raises(ValueError, match="parameter") as caught:
        trained_parameters(program_of(module), [pattern])
    assert message in str(caught.value)


def test_integer_parameters() -> None:
    program = export(with_forward(lambda self, x: (x * self.w * self.counts).sum()), (torch.rand(2, 4),))
    with pytest.raises(
        ValueError, match="the parameter counts is int64: gradients are those of floating-point"
    ):
        joint_program(program, ["counts"])
    joint = joint_program(program, ["[cw]*"])
    assert [spec.target for spec in joint.graph_signature.output_specs if spec.target] == ["w"]


def test_losses_that_hide_their_inputs() -> None:
    with pytest.raises(TrainingError, match="how many inputs it takes"):
        with_loss(Net(), lambda *values: values[0].mean())
