"""Networks with folded batch norms compute what eager computes, whatever the producer."""

from typing import Any

import pytest
import torch
from support.accuracy import assert_accurate, truth_of
from support.aten_interpreter import Interpreter
from support.modules import run
from torch import Tensor, nn

from et_ir.data.blob import KEEP
from et_ir.dialects.program import ConstantOp
from et_ir.frontend import import_program

PIPELINE = "decompose,decompose-traced,canonicalize,fold-batch-norm,constant-fold,canonicalize,cse,dce,verify-core-aten"


def randomised(module: nn.Module) -> nn.Module:
    """The module in inference form, with statistics and weights that are not the neutral ones."""
    torch.manual_seed(0)
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        if tensor.is_floating_point():
            with torch.no_grad():
                tensor.uniform_(0.5, 2.0) if "var" in name else tensor.uniform_(-1.0, 1.0)
    return module.eval()


def check(module: nn.Module, *inputs: Tensor, folded: bool = True) -> None:
    randomised(module)
    imported = import_program(torch.export.export(module, inputs))
    run(imported, PIPELINE)
    names = [op.name for op in imported.walk()]
    assert ("aten._native_batch_norm_legit_no_training" not in names) == folded
    (found,) = Interpreter(imported).run(*inputs)
    assert_accurate(found, truth_of(module, *inputs))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_convolution(bias: bool, affine: bool) -> None:
    net = nn.Sequential(
        nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2, bias=bias), nn.BatchNorm2d(6, affine=affine)
    )
    check(net, torch.rand(2, 4, 8, 8))


@pytest.mark.parametrize("groups", [1, 2])
def test_transposed_convolution(groups: int) -> None:
    net = nn.Sequential(nn.ConvTranspose2d(4, 6, 3, stride=2, groups=groups), nn.BatchNorm2d(6))
    check(net, torch.rand(2, 4, 5, 5))


def test_other_ranks() -> None:
    check(nn.Sequential(nn.Conv1d(3, 5, 3), nn.BatchNorm1d(5)), torch.rand(2, 3, 9))
    check(nn.Sequential(nn.Conv3d(2, 3, 2), nn.BatchNorm3d(3)), torch.rand(1, 2, 4, 4, 4))
    check(nn.Sequential(nn.ConvTranspose1d(3, 5, 3), nn.BatchNorm1d(5)), torch.rand(2, 3, 9))


@pytest.mark.parametrize("bias", [True, False])
def test_matrix_product(bias: bool) -> None:
    net = nn.Sequential(nn.Linear(5, 7, bias=bias), nn.BatchNorm1d(7))
    # `linear` with a bias becomes a product and a sum: the batch norm has no product in front of it then.
    check(net, torch.rand(3, 5), folded=not bias)


def test_linear_before_decomposition() -> None:
    net = randomised(nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7)))
    x = torch.rand(3, 5)
    module = run(import_program(torch.export.export(net, (x,))), "fold-batch-norm,dce")
    assert [op.name for op in module.walk() if op.name.startswith("aten")] == ["aten.linear"]
    assert_accurate(Interpreter(module).run(x)[0], truth_of(net, x))


def test_half_precision() -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)).half()
    check(net, torch.rand(1, 3, 4, 4).half())


class Shared(nn.Module):
    """A producer with two users, and a convolution whose weight two calls share."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 1)
        self.norm = nn.BatchNorm2d(3)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv(x)
        return self.norm(y) + y


class Twice(Shared):
    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.conv(self.norm(self.conv(x))))


def test_a_second_user_prevents_it() -> None:
    check(Shared(), torch.rand(1, 3, 4, 4), folded=False)


def test_one_weight_in_two_calls() -> None:
    check(Twice(), torch.rand(1, 3, 4, 4))


def test_weights_are_computed_when_asked_for() -> None:
    net = randomised(nn.Sequential(nn.Conv2d(64, 64, 3, bias=False), nn.BatchNorm2d(64)))
    x = torch.rand(1, 64, 5, 5)
    module = run(import_program(torch.export.export(net, (x,))), "fold-batch-norm,dce")
    large: list[Any] = [
        op.value.blob for op in module.walk() if isinstance(op, ConstantOp) and op.value is not None
    ]
    (weight,) = (blob for blob in large if blob.nbytes > KEEP)
    assert weight.view().obj is not weight.view().obj


class Frozen(nn.Module):
    """A batch norm that is written out, as detection models have it."""

    def __init__(self, features: int) -> None:
        super().__init__()
        for name in ("weight", "bias", "running_mean", "running_var"):
            self.register_buffer(name, torch.rand(features))

    def forward(self, x: Tensor) -> Tensor:
        scale = self.weight * (self.running_var + 1e-5).rsqrt()
        shift = self.bias - self.running_mean * scale
        return x * scale.reshape(1, -1, 1, 1) + shift.reshape(1, -1, 1, 1)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("transposed", [True, False])
def test_norms_that_are_written_out(bias: bool, transposed: bool) -> None:
    layer = nn.ConvTranspose2d if transposed else nn.Conv2d
    net = randomised(nn.Sequential(layer(4, 6, 3, groups=2, bias=bias), Frozen(6)))
    x = torch.rand(2, 4, 8, 8)
    imported = import_program(torch.export.export(net, (x,)))
    run(imported, PIPELINE.replace("cse,dce", "fold-scales,cse,dce"))
    assert [op.name for op in imported.walk() if op.name.startswith("aten.")] == ["aten.convolution"]
    (found,) = Interpreter(imported).run(x)
    assert_accurate(found, truth_of(net, x))
