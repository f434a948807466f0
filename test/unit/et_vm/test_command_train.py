"""`et-vm train`: epochs, validation, early stop, checkpoints, and data that do not fit."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from support.vm_commands import run
from torch import nn

from et_ir import ExecutorchBackendConfig, joint_program, to_edge, training_step, with_loss
from et_tools.et_vm import main
from et_tools.exit_codes import ExitCode
from et_tools.vm_train import curve
from et_vm.state.files import read_tensors

BATCH, COUNT = 4, 22


def compiled(optimizer: str) -> bytes:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    inputs = torch.randn(BATCH, 6), torch.randint(0, 3, (BATCH,))
    joint = joint_program(torch.export.export(with_loss(net, nn.functional.cross_entropy), inputs))
    edge = to_edge({"forward": joint, "train_step": training_step(joint, optimizer)})
    return edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("train")
    (folder / "net.pte").write_bytes(compiled("adam:lr=0.05"))
    (folder / "rate.pte").write_bytes(compiled("sgd:lr=input"))
    other = to_edge({"train_step": torch.export.export(nn.ReLU(), (torch.ones(BATCH, 6),))})
    (folder / "other.pte").write_bytes(other.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer)
    draw = np.random.default_rng(0)
    weight = draw.standard_normal((6, 3))
    for name in ("train", "val"):
        x = draw.standard_normal((COUNT, 6)).astype(np.float32)
        np.savez(folder / f"{name}.npz", input=x, target=(x @ weight).argmax(1))
        np.savez(folder / f"{name}-turned.npz", target=(x @ weight).argmax(1), input=x)
    np.savez(folder / "one.npz", input=x)
    np.savez(folder / "few.npz", x=x[:2], y=np.zeros(2, np.int64))
    np.savez(folder / "uneven.npz", x=x, y=np.zeros(2, np.int64))
    return folder


@pytest.fixture
def folder(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for path in files.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_epochs(folder: Path, capsys: Any) -> None:
    """Each epoch has another order, whole batches only; the state is saved, and gone on with."""
    output = run(capsys, "train", "net.pte", "--data", "train.npz", "--save", "out.ptd", "--epochs", "20")
    *lines, course = output.splitlines()
    found = [re.fullmatch(r"epoch (\d+)/20: loss ([\d.e-]+), [\d,]+ samples/s", line) for line in lines]
    assert [int(one[1]) for one in found if one] == list(range(1, 21))
    losses = [float(one[2]) for one in found if one]
    assert losses[-1] < 0.8 * losses[0]
    assert course.startswith("loss ")
    assert read_tensors("out.ptd")["optimizer.step"] == 20 * (COUNT // BATCH)
    more = run(
        capsys,
        "train",
        "net.pte",
        "--data",
        "train-turned.npz",
        "--save",
        "out.ptd",
        "--resume",
        "out.ptd",
        "--json",
    )
    [epoch] = json.loads(more)
    assert epoch["loss"] < 0.8 * losses[0]
    assert read_tensors("out.ptd")["optimizer.step"] == 21 * (COUNT // BATCH)


def test_the_same_seed_gives_the_same_bits(folder: Path, capsys: Any) -> None:
    options = ("train", "net.pte", "--data", "train.npz", "--epochs", "2")
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        run(capsys, *options, "--save", f"{name}.ptd", "--seed", seed)
    files = [(folder / f"{name}.ptd").read_bytes() for name in "abc"]
    assert files[0] == files[1] != files[2]


def test_validation(folder: Path, capsys: Any) -> None:
    """It changes nothing, statistics of batch norms neither; without a better loss, the state of the best stays."""
    options = ("train", "net.pte", "--data", "train.npz", "--epochs", "2", "--seed", "3")
    run(capsys, *options, "--save", "plain.ptd")
    output = run(capsys, *options, "--save", "validated.ptd", "--validate", "val.npz")
    assert all(", validation " in line for line in output.splitlines()[:2])
    assert (folder / "plain.ptd").read_bytes() == (folder / "validated.ptd").read_bytes()
    options = (
        "train",
        "rate.pte",
        "--data",
        "train.npz",
        "--validate",
        "val.npz",
        "--lr",
        "0",
        "--epochs",
        "50",
    )
    assert main([*options, "--save", "stopped.ptd", "--patience", "2", "--json"]) == ExitCode.OK
    printed = capsys.readouterr()
    assert len(json.loads(printed.out)) < 50
    assert "validation has not improved for 2 epochs" in printed.err


def test_learning_rate(folder: Path, capsys: Any) -> None:
    options = ("train", "rate.pte", "--data", "train.npz", "--save", "out.ptd")
    run(capsys, *options, "--lr", "0")
    still = read_tensors("out.ptd")
    run(capsys, *options, "--lr", "0.1")
    moved = read_tensors("out.ptd")
    assert not np.array_equal(still["0.weight"], moved["0.weight"])
    (folder / "out.ptd").unlink()
    message = run(capsys, *options, "--lr", "1e30", "--epochs", "9", code=ExitCode.USAGE)
    assert re.search(r"the loss of step \d+ is (nan|inf): choose a lower learning rate", message)
    assert not (folder / "out.ptd").exists()


def test_interruption(folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step that runs is completed, and the state saved."""
    request = SimpleNamespace(is_requested=False)

    def interrupted(items: range, what: str) -> Iterator[int]:
        for item in items:
            request.is_requested |= item == 2 and what == "epoch 2"
            yield item

    monkeypatch.setattr("et_tools.vm_train.progress", interrupted)
    monkeypatch.setattr("et_tools.vm_train.Interruption", lambda stop: nullcontext(request))
    assert (
        main(["train", "net.pte", "--data", "train.npz", "--save", "out.ptd", "--epochs", "9"]) == ExitCode.OK
    )
    printed = capsys.readouterr()
    assert printed.out.count("epoch") == 1
    assert "interrupted; the state is in out.ptd" in printed.err
    assert read_tensors("out.ptd")["optimizer.step"] == COUNT // BATCH + 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("net.pte", "--data", "one.npz"), "one.npz has 1 array (input), train_step takes input, target"),
        (("net.pte", "--data", "few.npz"), "few.npz has 2 samples, a batch has 4"),
        (("net.pte", "--data", "uneven.npz"), "as many rows: x [22, 6], y [2]"),
        (("net.pte", "--data", "train.npz", "--batch", "2"), "train_step was compiled for batches of 4"),
        (("net.pte", "--data", "train.npz", "--patience", "2"), "--patience needs --validate"),
        (("net.pte", "--data", "train.npz", "--lr", "1"), "the learning rate is no input of the program"),
        (
            ("rate.pte", "--data", "train.npz"),
            "the learning rate is an input of the program: give it with --lr",
        ),
        (("net.pte", "--data", "train.npz", "--method", "train"), "there is no method 'train', did you mean"),
        (("net.pte", "--data", "train.npz", "--resume", "train.npz"), "not a file of tensors"),
        (
            ("other.pte", "--data", "one.npz"),
            "the first output is no loss: float32 [4, 6], expected one number",
        ),
    ],
)
def test_what_does_not_fit(folder: Path, capsys: Any, options: tuple[str, ...], message: str) -> None:
    assert main(["train", *options, "--save", "out.ptd"]) in (ExitCode.USAGE, ExitCode.INVALID_INPUT)
    assert message in capsys.readouterr().err
    assert not (folder / "out.ptd").exists()


def test_curves() -> None:
    assert curve([3.0, 2.0, 1.0]) == "loss 3 █▅▁ 1"
    assert curve([1.0]) == "loss 1 ▁ 1"
    assert len(curve(list(np.linspace(1, 0, 1000)))) < 90
