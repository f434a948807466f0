"""et-compile --train: the programs it makes, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.command_line import Command

from et_vm.training import TrainingModule, get_sgd_optimizer, load_for_training, seed

NET = """
import torch
from torch import nn
from torch.nn.functional import cross_entropy


class Net(nn.Module):
    def __init__(self, rate=0.0):
        super().__init__()
        torch.manual_seed(0)
        self.body = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Dropout(rate), nn.ReLU())
        self.head = nn.Linear(5, 3)

    def forward(self, x):
        return self.head(self.body(x))


class Trained(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x, y):
        scores = self.net(x)
        return cross_entropy(scores, y), scores


INPUTS = torch.randn(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])


def net():
    return Net(), INPUTS


def alone():
    return Net(), INPUTS[:1]


def trained():
    return Trained(Net()), INPUTS


def two():
    net = Net(0.5)
    return {"predict": (net, INPUTS[:1]), "forward": (Trained(net), INPUTS)}


def other():
    return {"step": trained()}


def exported():
    return torch.export.export(Detached(Net()), INPUTS)


class Detached(Trained):
    def forward(self, x, y):
        loss, scores = super().forward(x, y)
        return loss, scores.argmax(1)


class Overwriting(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.rand(4))

    def forward(self, x):
        y = torch.exp(self.w)
        z = torch.sigmoid(x * y)
        y.add_(1)
        return z.sum() + y.sum()


def overwriting():
    return Overwriting(), INPUTS[:1]


def hidden(*values):
    return values[0].mean()


class Dropped(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.rand(50) + 0.5)

    def forward(self, x):
        return nn.functional.dropout(x * self.w, 0.3, self.training).sum()


def dropped():
    return Dropped(), (torch.ones(20, 50),)
"""

HEAD = ["head.weight", "head.bias"]
BODY = [f"body.{layer}.{name}" for layer in (0, 1) for name in ("weight", "bias")]


@pytest.fixture(autouse=True)
def written(workplace: Path) -> None:
    (workplace / "trained.py").write_text(NET)


def compiled(command: Command, model: str, *options: str) -> TrainingModule:
    ran = command("et-compile", f"trained.py:{model}", "-o", "x.pte", "--target", "et-vm", *options)
    assert ran.code == 0, ran.err
    assert "warning" not in ran.err
    return load_for_training(Path("x.pte").read_bytes())


def batch() -> list[np.ndarray]:
    return [np.random.default_rng(0).standard_normal((6, 4), np.float32), np.array([0, 1, 2, 0, 1, 2])]


@pytest.mark.parametrize(
    ("model", "options", "names"),
    [
        ("trained", ("--train",), [f"net.{name}" for name in BODY + HEAD]),
        ("net", ("--train", "loss=cross_entropy"), BODY + HEAD),
        ("net", ("--train=loss=torch.nn.functional:cross_entropy", "--trainable", "head"), HEAD),
        (
            "trained",
            ("--train", "--trainable", "net.head.*", "--trainable", "*.0.bias"),
            ["net.body.0.bias", *(f"net.{name}" for name in HEAD)],
        ),
        ("exported", ("--train", "--trainable", "*head*"), [f"net.{name}" for name in HEAD]),
    ],
)
def test_training(command: Command, model: str, options: tuple[str, ...], names: list[str]) -> None:
    module = compiled(command, model, *options)
    assert list(module.named_parameters()) == names
    before = {name: value.copy() for name, value in module.named_parameters().items()}
    optimizer = get_sgd_optimizer(module.named_parameters(), lr=0.1, momentum=0.9)
    losses: list[float] = []
    for _ in range(40):
        losses.append(float(module.forward_backward("forward", batch())[0]))
        optimizer.step(module.named_gradients())
    assert losses[-1] < losses[0] * 0.7
    assert any((value != before[name]).any() for name, value in module.named_parameters().items())


def test_model_may_follow(command: Command) -> None:
    assert (
        command("et-compile", "--train", "trained.py:trained", "-o", "x.pte", "--target", "et-vm").code == 0
    )


def test_other_methods_share_the_parameters(command: Command) -> None:
    module = compiled(command, "two", "--train")
    assert (
        list(module.program.method_names)[:2] == ["predict", "forward"]
        or "predict" in module.program.method_names
    )
    predict = module.program.load_method("predict")
    x, _ = batch()
    first, second = (predict.execute([x])[0].copy() for _ in range(2))
    np.testing.assert_array_equal(first, second)  # in evaluation mode, without dropout
    for value in module.named_parameters().values():
        value[...] = 0
    assert not predict.execute([x])[0].any()
    module.forward_backward("forward", batch())
    scores = [module.forward_backward("forward", batch())[1] for _ in range(4)]
    assert not any(one.any() for one in scores)


@pytest.mark.parametrize("target", ["stock-1.5", "et-vm"])
def test_dropout(command: Command, target: str) -> None:
    """The loss is linear in the parameters: with the gradient's own mask, their product is the loss."""
    module = compiled(command, "dropped", "--train", "--target", target)
    x = [np.ones((20, 50), np.float32)]
    losses: set[float] = set()
    for _ in range(3):
        [loss] = module.forward_backward("forward", x)
        [gradient], [value] = module.named_gradients().values(), module.named_parameters().values()
        assert abs(float(loss) - float((gradient.astype(np.float64) * value).sum())) < 1e-3
        kept = gradient * np.float32(0.7)
        np.testing.assert_allclose(kept, np.rint(kept), atol=1e-4)
        assert 8 < kept.mean() < 20
        losses.add(float(loss))
    assert len(losses) == 3, "each step draws its own mask"
    drawn: list[bytes] = []
    for number in (1, 1, 2):
        seed(number)
        module.forward_backward("forward", x)
        drawn.append(next(iter(module.named_gradients().values())).tobytes())
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(
    ("model", "options", "code", "message"),
    [
        ("net", ("--trainable", "head"), 2, "--trainable needs --train"),
        ("net", ("--train=cross_entropy",), 2, "'cross_entropy' is no loss: expected loss=FUNCTION"),
        ("net", ("--train", "loss=cross_entrpy"), 2, "has no function 'cross_entrpy'"),
        (
            "net",
            ("--train", "loss=cross_entropy", "--trainable", "haed"),
            2,
            "no parameter matches 'haed', did you mean 'head'?",
        ),
        ("net", ("--train", "--quantize", "int8-weights"), 2, "--train and --quantize exclude each other"),
        ("net", ("--train", "loss=hidden"), 3, "the function hidden: does not say how many inputs it takes"),
        ("alone", ("--train",), 3, "is a tensor of 6x3, not one number"),
        ("exported", ("--train", "loss=cross_entropy"), 2, "is an exported program"),
        ("other", ("--train",), 2, "has no method 'forward', which is the one that is trained; it has step"),
        ("overwriting", ("--train",), 3, "'aten::add_': overwrites values that gradients are computed from"),
    ],
)
def test_mistakes(command: Command, model: str, options: tuple[str, ...], code: int, message: str) -> None:
    ran = command("et-compile", f"trained.py:{model}", "-o", "x.pte", "--target", "et-vm", *options)
    assert ran.code == code, ran.err
    assert message in ran.err
    assert not Path("x.pte").exists()
    if code == 3 and model != "net":
        line = next(
            number
            for number, text in enumerate(NET.splitlines(), 1)
            if ("y.add_(1)" if model == "overwriting" else "self.head(self") in text
        )
        assert f"trained.py:{line}" in ran.err


def test_texts_have_no_module(command: Command) -> None:
    ran = command("et-compile", "relu.mlir", "-o", "x.pte", "--train")
    assert ran.code == 2
    assert "--train needs a module, file.py:factory" in ran.err
