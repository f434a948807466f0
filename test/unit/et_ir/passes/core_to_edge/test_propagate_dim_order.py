"""Channels-last programs compute what eager computes, and lay out their outputs as it does."""

import torch
from support.aten_interpreter import Interpreter
from support.modules import run
from torch import Tensor, nn
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import ReturnOp

from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.frontend import import_program

PIPELINE = (
    "remove-assertions,decompose,decompose-traced,canonicalize,fold-batch-norm,constant-fold,canonicalize,cse,dce,"
    "verify-core-aten,views-to-copies,scalars-to-tensors,promote-types,aten-to-edge,memory-formats-to-dim-orders,"
    "propagate-dim-order,remove-redundant-copies,canonicalize,constant-fold,cse,dce,verify-edge"
)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 4, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.norm(self.conv1(x)).relu() * 0.5
        z = self.conv2(y) + y
        return z, z.flatten(1)


def copies(module: ModuleOp) -> int:
    return sum("_clone_dim_order" in op.name for op in module.walk())


def test_from_an_input() -> None:
    torch.manual_seed(0)
    net = Net().eval()
    x = torch.rand(1, 3, 8, 8).to(memory_format=torch.channels_last)
    module = run(import_program(torch.export.export(net, (x,))), PIPELINE)
    (output,) = (op for op in module.walk() if isinstance(op, ReturnOp))
    types = [v.type for v in output.operands]
    assert [dim_order_of(t) for t in types if isinstance(t, TensorType)] == [(0, 2, 3, 1), (0, 1)]
    # Weights are laid out at compile time; only the second output, which is flat, is copied.
    assert copies(module) == 1
    for found, wanted in zip(Interpreter(module).run(x), net(x), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)


class Converts(Net):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return super().forward(x.contiguous(memory_format=torch.channels_last))


def test_from_a_conversion() -> None:
    torch.manual_seed(0)
    net = Converts().eval()
    x = torch.rand(1, 3, 8, 8)
    module = run(import_program(torch.export.export(net, (x,))), PIPELINE)
    assert copies(module) == 2
    for found, wanted in zip(Interpreter(module).run(x), net(x), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)


def test_contiguous_programs_have_no_copies() -> None:
    torch.manual_seed(0)
    net = Net().eval()
    module = run(import_program(torch.export.export(net, (torch.rand(1, 3, 8, 8),))), PIPELINE)
    assert copies(module) == 0


class Returns(Net):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        z, flat = super().forward(x.contiguous(memory_format=torch.channels_last))
        return z.contiguous(), flat


def test_contiguous_is_a_layout_too() -> None:
    torch.manual_seed(0)
    net = Returns().eval()
    x = torch.rand(1, 3, 8, 8)
    module = run(import_program(torch.export.export(net, (x,))), "remove-noops," + PIPELINE)
    (output,) = (op for op in module.walk() if isinstance(op, ReturnOp))
    types = [v.type for v in output.operands]
    assert [dim_order_of(t) for t in types if isinstance(t, TensorType)] == [(0, 1, 2, 3), (0, 1)]
    for found, wanted in zip(Interpreter(module).run(x), net(x), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
