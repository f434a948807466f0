"""Models as machine code for inputs of any size within bounds: one file, against eager at several sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F
from support.programs import Calls
from torch import Tensor, nn
from torch.export import Dim
from torch.utils import _pytree as pytree

from et_backends.codegen.object_code import INSTRUCTION_SETS
from et_backends.native.compiler import NativePartitioner
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.dialects.edge import EdgeOp
from et_vm.backends.cpu import cpu_features
from et_vm.runtime import Runtime
from examples.models.bert import bert
from examples.models.llama import llama
from examples.models.mobilenet_v2 import mobilenet_v2
from examples.models.resnet18 import resnet18

SETS = [name for name, one in INSTRUCTION_SETS.items() if cpu_features().issuperset(one.cpu_flags)]
ACCURACY = 1e-4
"""Of an output, its largest error to its standard deviation."""

BATCH, LENGTH, PIECES = Dim("batch", min=1, max=3), Dim("length", min=2, max=64), Dim("pieces", min=2, max=5)


class Case(NamedTuple):
    """A model, how its inputs vary, and inputs for a batch and a length."""

    model: Callable[[], tuple[nn.Module, Any]]
    dynamic: tuple[Any, ...]
    inputs: Callable[[int, int], tuple[Tensor, ...]]
    sizes: Sequence[tuple[int, int]]


def tokens(batch: int, length: int) -> tuple[Tensor, ...]:
    return (torch.randint(1, 8192, (batch, length)),)


def padded_tokens(batch: int, length: int) -> tuple[Tensor, ...]:
    """The last token of each row is padding."""
    ids, mask = torch.randint(1000, 30522, (batch, length)), torch.ones(batch, length, dtype=torch.int64)
    ids[:, -1] = mask[:, -1] = 0
    return ids, mask


def pictures(batch: int, pieces: int) -> tuple[Tensor, ...]:
    return (torch.randn(batch, 3, 32 * pieces, 32 * pieces + 32),)


TEXTS = ((3, 17), (1, 2), (3, 64), (2, 33), (1, 5))
IMAGES = {0: BATCH, 2: 32 * PIECES, 3: 32 * PIECES + 32}
CASES = {
    "bert": Case(bert, ({0: BATCH, 1: LENGTH}, {0: BATCH, 1: LENGTH}), padded_tokens, TEXTS),
    "llama": Case(llama, ({0: BATCH, 1: LENGTH},), tokens, TEXTS),
    "mobilenet_v2": Case(mobilenet_v2, (IMAGES,), pictures, ((2, 3), (1, 2), (3, 5))),
    "resnet18": Case(resnet18, (IMAGES,), pictures, ((2, 3), (1, 2), (3, 5))),
}


@pytest.mark.slow
@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("name", CASES)
def test_accuracy_at_several_sizes(name: str, instruction_set: str) -> None:
    case = CASES[name]
    torch.manual_seed(0)
    module = case.model()[0].eval()
    program = torch.export.export(module, case.inputs(*case.sizes[0]), dynamic_shapes=case.dynamic)
    edge = to_edge_transform_and_lower(
        program, partitioner=NativePartitioner(instruction_sets=[instruction_set])
    )
    names = [op.name for op in edge.module.walk()]
    assert not {"edge.mm", "edge.bmm", "edge.convolution", "edge._softmax"} & set(names)
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    methods = [
        Runtime(threads=threads).load_program(file, allow_native=True, poison=True).load_method("forward")
        for threads in (1, 2)
    ]
    for sizes in case.sizes:
        inputs = case.inputs(*sizes)
        with torch.no_grad():
            wanted = pytree.tree_leaves(module(*inputs))
        for method in methods:
            for got, expected in zip(method.execute(inputs), wanted, strict=True):
                assert got.shape == expected.shape
                assert (got - expected).abs().max() <= ACCURACY * expected.std(), sizes


class CrossAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)

    def forward(self, q: Tensor, k: Tensor) -> Tensor:
        return self.attention(q, k, k, need_weights=False)[0]


def separable(**options: Any) -> nn.Module:
    return nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=8, **options), nn.ReLU(), nn.Conv2d(8, 16, 1))


def by_sample(x: Tensor, w: Tensor) -> Tensor:
    """Convolutions of which each sample has its own filters."""
    groups = x.shape[0] * x.shape[1]
    return F.conv2d(x.reshape(1, -1, 8, 8), w.reshape(-1, 1, 3, 3), groups=groups).relu()


def placed(x: Tensor) -> Tensor:
    """Numbers of elements that depend on sizes, of several kinds."""
    batch, length = x.shape
    odd = torch.arange(1, 2 * length + 1, 2, dtype=torch.float32)
    early = torch.arange(length) < 3
    return torch.cat([torch.full((batch, 2), 2.5), x * odd + torch.ones_like(x), x * early], 1)


def random(*shapes: Sequence[int]) -> tuple[Tensor, ...]:
    return tuple(torch.randn(*shape) for shape in shapes)


SIZE, OTHER = Dim("size", min=4, max=24), Dim("other", min=4, max=24)
ROWS = {0: BATCH}
LAYERS: dict[str, Case] = {
    "attention over another length": Case(
        lambda: (CrossAttention(), None),
        ({0: BATCH, 1: SIZE}, {0: BATCH, 1: OTHER}),
        lambda n, m: random((2, n, 16), (2, m, 16)),
        ((5, 7), (9, 4), (24, 24)),
    ),
    **{
        f"separable convolution, stride {stride}": Case(
            lambda stride=stride: (separable(stride=stride), None),
            ({2: SIZE, 3: OTHER},),
            lambda n, m: random((1, 8, n, m)),
            ((12, 12), (5, 20), (24, 4)),
        )
        for stride in (1, 2)
    },
    "windows of a padded signal": Case(
        lambda: (Calls(lambda x: F.pad(x, (2, 2)).unfold(1, 5, 2) * torch.arange(5.0)), None),
        (({0: BATCH, 1: SIZE},),),
        lambda n, m: random((n, m)),
        ((2, 12), (3, 20), (1, 4)),
    ),
    "filters of each sample": Case(
        lambda: (Calls(by_sample), None),
        ((ROWS, ROWS),),
        lambda n, _: random((n, 3, 8, 8), (n, 3, 3, 3)),
        ((2, 0), (3, 0)),
    ),
    "signal of one channel": Case(
        lambda: (nn.Sequential(nn.Conv1d(1, 8, 3), nn.GELU()), None),
        ({2: SIZE},),
        lambda n, _: random((1, 1, n)),
        ((20, 0), (9, 0), (4, 0)),
    ),
    **{
        f"signals, {name}": Case(
            lambda options=options: (nn.Sequential(nn.Conv1d(16, 16, 3, **options), nn.GELU()), None),
            ({0: BATCH, 2: 2 * Dim("half", min=3, max=12)},),
            lambda n, batch: random((batch, 16, n)),
            ((20, 2), (8, 3), (6, 1)),
        )
        for name, options in {
            "strided": {"stride": 2},
            "padded": {"padding": 1},
            "dilated": {"padding": 4, "dilation": 4},
            "by channel": {"groups": 16, "bias": False},
            "by groups": {"groups": 4, "padding": 1},
        }.items()
    },
    **{
        f"transposed signals, {name}": Case(
            lambda options=options: (nn.Sequential(nn.ConvTranspose1d(16, 8, 4, **options), nn.GELU()), None),
            ({0: BATCH, 2: SIZE},),
            lambda n, batch: random((batch, 16, n)),
            ((20, 2), (8, 3), (6, 1)),
        )
        for name, options in {
            "doubled": {"stride": 2, "padding": 1},
            "by groups": {"stride": 3, "groups": 4, "bias": False},
        }.items()
    },
    "places and constants": Case(
        lambda: (Calls(placed), None),
        (({0: BATCH, 1: SIZE},),),
        lambda n, batch: random((batch, n)),
        ((20, 2), (9, 3), (4, 1)),
    ),
    "groups of images": Case(
        lambda: (nn.Sequential(nn.Conv2d(12, 36, 3, groups=2, stride=2, padding=1), nn.ReLU()), None),
        ({0: BATCH, 2: SIZE, 3: OTHER},),
        lambda n, m: random((2, 12, n, m)),
        ((12, 9), (5, 20), (24, 4)),
    ),
    "transposed images": Case(
        lambda: (nn.Sequential(nn.ConvTranspose2d(6, 10, (3, 2), (1, 2)), nn.ReLU()), None),
        ({0: BATCH, 2: SIZE, 3: OTHER},),
        lambda n, m: random((2, 6, n, m)),
        ((12, 9), (5, 20), (24, 4)),
    ),
}


LEFT = {
    "filters of each sample": {"edge.convolution", "edge.view_copy"},
}
"""Operators that stay with et-vm."""


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_any_size(name: str) -> None:
    """No partition is given up: what native code does not take is known before it is compiled."""
    case = LAYERS[name]
    torch.manual_seed(0)
    module = case.model()[0].eval()
    program = torch.export.export(module, case.inputs(*case.sizes[0]), dynamic_shapes=case.dynamic)
    partitioner = NativePartitioner(instruction_sets=[SETS[0]])
    edge = to_edge_transform_and_lower(program, partitioner=partitioner, strict=True)
    left = {op.name for op in edge.module.walk() if isinstance(op, EdgeOp)} - {"edge.sym_size.int"}
    assert left == LEFT.get(name, set())
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    method = Runtime().load_program(file, allow_native=True, poison=True).load_method("forward")
    for sizes in case.sizes:
        inputs = case.inputs(*sizes)
        with torch.no_grad():
            wanted = module(*inputs)
        (got,) = method.execute(inputs)
        assert got.shape == wanted.shape
        assert (got - wanted).abs().max() <= ACCURACY * wanted.std(), sizes
