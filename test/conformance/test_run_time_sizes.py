"""Modules whose sizes are known at run time only lower to Core ATen and to the edge level, and both give eager's
results for several sizes, from one lowering; so does one file on every runtime.

Batches and sequences, for operators that only torch decomposes (recurrent networks, losses, resampling) and those that
patterns do (attention, matrix products). Each level is evaluated by calling torch's operators one by one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F
from stock import StockRuntime
from support.aten_interpreter import Interpreter
from support.programs import Calls
from sweep.compare import difference
from torch import Tensor, nn
from torch.export import Dim, export
from torch.utils import _pytree as pytree

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.diagnostics import PassReport
from et_ir.driver.pipelines import aten_passes, core_aten_passes, edge_passes
from et_ir.driver.stages import run_passes
from et_ir.frontend import import_program
from et_ir.targets.lookup import DEFAULT
from et_ir.verification import verify_module
from et_vm.runtime import Runtime

N = Dim("n", min=3, max=16)
BATCH, ROWS, COLUMNS, WHOLE = {0: N}, {1: N}, {2: N}, None
SIZES = (4, 3, 9)
"""The first is what is exported with."""
RUN = (9, 16, 3, 5)
"""The sizes of the runs of one file, in order: tensors grow as far as they can, shrink as far as they can, and grow."""
LIMITS = {
    name: message
    for message, names in {
        "'aten::avg_pool3d.out': .* has no kernel": ("local_response_norm", "avg_pool3d"),
        "'aten::_adaptive_avg_pool3d.out': .* has no kernel": ("adaptive_avg_pool3d",),
        "'aten::col2im.out': .* has no kernel": ("fold",),
        "'aten::_embedding_bag_forward_only.out': .* has no kernel": (
            "embedding_bag",
            "embedding_bag of maxima",
        ),
        "'aten::scatter_reduce.two_out': .* has no kernel": ("index_reduce along",),
        "'aten::searchsorted.Tensor_out': .* has no kernel": ("searchsorted along",),
        "'aten::_fft_c2c.out': .* has no kernel": ("fft along",),
        "'aten::constant_pad_nd.out' of .* takes no complex": ("irfft along",),
    }.items()
    for name in names
}
"""Errors of programs for which stock has no kernels, where dynamic sizes leave no alternative."""

BOTH = {0: Dim("b", min=3, max=16), 1: Dim("s", min=3, max=32)}


class Case(NamedTuple):
    """A function, its inputs for a size, and the dimensions of that size."""

    module: nn.Module
    inputs: Callable[[int], tuple[Any, ...]]
    dynamic: tuple[Any, ...]


def r(*shape: int) -> Tensor:
    return torch.randn(shape)


def ids(*shape: int, high: int = 5) -> Tensor:
    return torch.randint(0, high, shape)


def of(function: Callable[..., Any], inputs: Callable[[int], tuple[Any, ...]], *dynamic: Any) -> Case:
    """A case that calls a function."""
    return Case(Calls(function), inputs, (dynamic,))


def layer(module: nn.Module, inputs: Callable[[int], tuple[Any, ...]], *dynamic: Any) -> Case:
    return Case(module.eval(), inputs, dynamic)


class SelfAttention(nn.Module):
    def __init__(self, *, weights: bool) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.weights = weights

    def forward(self, x: Tensor) -> Any:
        return self.attention(x, x, x, need_weights=self.weights)


def recurrent() -> dict[str, Case]:
    cases: dict[str, Case] = {}
    for cell in (nn.LSTM, nn.GRU, nn.RNN):
        for options in ({}, {"bidirectional": True, "num_layers": 2}, {"batch_first": True}):
            batch = BATCH if "batch_first" in options else ROWS
            shape = (lambda n: (r(n, 5, 3),)) if batch is BATCH else (lambda n: (r(5, n, 3),))
            name = " ".join((cell.__name__, *options))
            cases[name] = layer(cell(3, 4, **options), shape, batch)
    for cell in (nn.LSTMCell, nn.GRUCell, nn.RNNCell):
        cases[cell.__name__] = layer(cell(3, 4), lambda n: (r(n, 3),), BATCH)
    return cases


def losses() -> dict[str, Case]:
    classes: dict[str, Callable[..., Any]] = {
        "cross_entropy": F.cross_entropy,
        "cross_entropy, smoothed": lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1),
        "cross_entropy, not reduced": lambda x, y: F.cross_entropy(x, y, reduction="none", ignore_index=1),
        "nll_loss": F.nll_loss,
        "multi_margin_loss": F.multi_margin_loss,
    }
    pairs: dict[str, Callable[..., Any]] = {
        "cross_entropy of probabilities": lambda x, y: F.cross_entropy(x, y.softmax(1)),
        "binary_cross_entropy": lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
        "binary_cross_entropy_with_logits": lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()),
        "poisson_nll_loss": F.poisson_nll_loss,
        "hinge_embedding_loss": lambda x, y: F.hinge_embedding_loss(x, y.sign()),
        "margin_ranking_loss": lambda x, y: F.margin_ranking_loss(x, y, y.sign()),
        "triplet_margin_loss": lambda x, y: F.triplet_margin_loss(x, y, x * y),
        "cosine_embedding_loss": lambda x, y: F.cosine_embedding_loss(x, y, y[:, 0].sign()),
        "multilabel_soft_margin_loss": lambda x, y: F.multilabel_soft_margin_loss(x, y.sigmoid()),
        "cosine_similarity": F.cosine_similarity,
        "pairwise_distance": F.pairwise_distance,
    }
    return {
        **{name: of(f, lambda n: (r(n, 5), ids(n)), BATCH, BATCH) for name, f in classes.items()},
        **{name: of(f, lambda n: (r(n, 4), r(n, 4)), BATCH, BATCH) for name, f in pairs.items()},
        "cross_entropy of rows": of(F.cross_entropy, lambda n: (r(2, 5, n), ids(2, n)), COLUMNS, ROWS),
        "nll_loss of images": of(F.nll_loss, lambda n: (r(n, 5, 3, 4), ids(n, 3, 4)), BATCH, BATCH),
    }


def normalizations() -> dict[str, Case]:
    return {
        "layer_norm": layer(nn.LayerNorm(4), lambda n: (r(n, n + 1, 4),), BOTH),
        "layer_norm of two": layer(nn.LayerNorm((3, 4)), lambda n: (r(n, 3, 4),), BATCH),
        "rms_norm": layer(nn.RMSNorm(4), lambda n: (r(n, 3, 4),), BATCH),
        "group_norm": layer(nn.GroupNorm(2, 4), lambda n: (r(n, 4, 5),), BATCH),
        "group_norm of rows": layer(nn.GroupNorm(2, 4), lambda n: (r(2, 4, n),), COLUMNS),
        "instance_norm": layer(nn.InstanceNorm1d(4, affine=True), lambda n: (r(n, 4, 5),), BATCH),
        "instance_norm of squares": layer(
            nn.InstanceNorm2d(2, affine=True), lambda n: (r(n, 2, n, 4),), BATCH | COLUMNS
        ),
        "batch_norm": layer(nn.BatchNorm1d(4), lambda n: (r(n, 4, 5),), BATCH),
        "local_response_norm": layer(nn.LocalResponseNorm(2), lambda n: (r(n, 4, 5, 5),), BATCH),
        "normalize": of(F.normalize, lambda n: (r(n, 4),), BATCH),
    }


def attention() -> dict[str, Case]:
    attend = F.scaled_dot_product_attention
    both = {0: BOTH[0], 2: BOTH[1]}
    square = {0: N, 1: N}

    def three(n: int) -> tuple[Tensor, ...]:
        return r(2, 2, n, 4), r(2, 2, n, 4), r(2, 2, n, 4)

    return {
        "attention": of(attend, lambda n: tuple(r(n, 2, n + 1, 4) for _ in range(3)), both, both, both),
        "causal": of(lambda *a: attend(*a, is_causal=True), three, *(COLUMNS,) * 3),
        "masked": of(attend, lambda n: (*three(n), torch.eye(n) > 0), *(COLUMNS,) * 3, square),
        "biased": of(attend, lambda n: (*three(n), r(n, n)), *(COLUMNS,) * 3, square),
        "grouped": of(
            lambda *a: attend(*a, enable_gqa=True),
            lambda n: (r(2, 4, n, 4), r(2, 2, n, 4), r(2, 2, n, 4)),
            *(COLUMNS,) * 3,
        ),
        "MultiheadAttention": layer(SelfAttention(weights=False), lambda n: (r(n, n + 1, 8),), BOTH),
        "MultiheadAttention, weights": layer(SelfAttention(weights=True), lambda n: (r(n, n + 1, 8),), BOTH),
        "TransformerEncoderLayer": layer(
            nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), lambda n: (r(n, n + 1, 8),), BOTH
        ),
        "TransformerDecoderLayer": layer(
            nn.TransformerDecoderLayer(8, 2, 16, batch_first=True),
            lambda n: (r(n, n + 1, 8), r(n, 4, 8)),
            BOTH,
            {0: BOTH[0]},
        ),
    }


def images() -> dict[str, Case]:
    cases = {
        f"interpolate {mode}": of(
            lambda x, mode=mode: (
                F.interpolate(x, scale_factor=2, mode=mode),
                F.interpolate(x, (6, 7), mode=mode),
            ),
            lambda n: (r(n, 2, 4, 5),),
            BATCH,
        )
        for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area")
    }
    for mode in ("reflect", "replicate", "circular", "constant"):
        cases[f"pad {mode}"] = of(
            lambda x, mode=mode: (F.pad(x, (1, 2), mode=mode), F.pad(x[:, None], (1, 2, 1, 0), mode=mode)),
            lambda n: (r(n, 3, 5),),
            BATCH,
        )
    return cases | {
        "interpolate linear": of(
            lambda x: F.interpolate(x, scale_factor=2, mode="linear"), lambda n: (r(n, 2, 5),), BATCH
        ),
        "interpolate trilinear": of(
            lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"), lambda n: (r(n, 2, 3, 4, 5),), BATCH
        ),
        "pixel_shuffle": of(lambda x: F.pixel_shuffle(x, 2), lambda n: (r(n, 8, 3, 4),), BATCH),
        "pixel_shuffle of rows": of(lambda x: F.pixel_shuffle(x, 2), lambda n: (r(2, 8, n, 4),), COLUMNS),
        "pixel_unshuffle": of(lambda x: F.pixel_unshuffle(x, 2), lambda n: (r(n, 2, 6, 4),), BATCH),
        "channel_shuffle": of(lambda x: F.channel_shuffle(x, 2), lambda n: (r(n, 4, 3, 4),), BATCH),
        "unfold": of(lambda x: F.unfold(x, (2, 3), padding=1, stride=2), lambda n: (r(n, 2, 5, 6),), BATCH),
        "fold": of(lambda x: F.fold(x, (4, 5), (2, 2)), lambda n: (r(n, 8, 12),), BATCH),
        "windows": of(lambda x: x.unfold(1, 3, 2), lambda n: (r(n, 9),), BATCH),
        "adaptive_max_pool1d": layer(nn.AdaptiveMaxPool1d(3), lambda n: (r(n, 3, 8),), BATCH),
        "adaptive_max_pool2d": layer(nn.AdaptiveMaxPool2d(3), lambda n: (r(n, 3, 8, 7),), BATCH),
        "adaptive_avg_pool3d": layer(nn.AdaptiveAvgPool3d(3), lambda n: (r(n, 3, 4, 5, 6),), BATCH),
        "avg_pool3d": layer(nn.AvgPool3d(2), lambda n: (r(n, 3, 4, 4, 4),), BATCH),
        "lp_pool2d": layer(nn.LPPool2d(2, 2), lambda n: (r(n, 3, 8, 8),), BATCH),
        "grid_sample": of(
            lambda x, y: F.grid_sample(x, y.tanh(), align_corners=False),
            lambda n: (r(n, 2, 4, 5), r(n, 3, 3, 2)),
            BATCH,
            BATCH,
        ),
    }


def products() -> dict[str, Case]:
    einsum = {
        "bij,bjk->bik": ((3, 4), (4, 5)),
        "bhid,bhjd->bhij": ((2, 3, 4), (2, 5, 4)),
        "bi,bj->bij": ((3,), (4,)),
        "bij->bji": ((3, 4),),
        "bij,bij->b": ((3, 4), (3, 4)),
    }
    cases = {
        f"einsum {equation}": of(
            lambda *a, equation=equation: torch.einsum(equation, *a),
            lambda n, shapes=shapes: tuple(r(n, *shape) for shape in shapes),
            *(BATCH,) * len(shapes),
        )
        for equation, shapes in einsum.items()
    }
    return cases | {
        "einsum of rows": of(
            lambda x, y: torch.einsum("bid,bjd->bij", x, y), lambda n: (r(2, n, 4), r(2, n, 4)), ROWS, ROWS
        ),
        "bilinear": layer(nn.Bilinear(3, 4, 5), lambda n: (r(n, 3), r(n, 4)), BATCH, BATCH),
        "tensordot": of(lambda x, y: torch.tensordot(x, y, 1), lambda n: (r(n, 6, 4), r(4, 3)), BATCH, WHOLE),
        "addbmm": of(torch.addbmm, lambda n: (r(2, 3), r(n, 2, 4), r(n, 4, 3)), WHOLE, BATCH, BATCH),
        "cdist": of(torch.cdist, lambda n: (r(n, 6, 4), r(n, 3, 4)), BATCH, BATCH),
        "matrix_power": of(lambda x: torch.linalg.matrix_power(x, 3), lambda n: (r(n, 4, 4),), BATCH),
        "cross": of(lambda x: torch.cross(x, x + 1, dim=1), lambda n: (r(n, 3),), BATCH),
    }


def elements() -> dict[str, Case]:
    return {
        "embedding_bag": layer(nn.EmbeddingBag(7, 4), lambda n: (ids(n, 3),), BATCH),
        "embedding_bag of maxima": layer(nn.EmbeddingBag(7, 4, mode="max"), lambda n: (ids(n, 3),), BATCH),
        "roll": of(lambda x: (torch.roll(x, 1, 0), torch.roll(x, -4, 1)), lambda n: (r(n, 6),), BATCH),
        "repeat_interleave": of(
            lambda x: (x.repeat_interleave(2, 1), x.repeat_interleave(2, 0)), lambda n: (r(n, 6),), BATCH
        ),
        "meshgrid": of(
            lambda x, y: torch.meshgrid(x, y, indexing="ij"), lambda n: (r(n), r(4)), BATCH, WHOLE
        ),
        "diff": of(lambda x: torch.diff(x, dim=1), lambda n: (r(n, 6),), BATCH),
        "quantile": of(lambda x: torch.quantile(x, 0.3, 1), lambda n: (r(n, 5),), BATCH),
        "bucketize": of(
            lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])), lambda n: (r(n, 4),), BATCH
        ),
        "broadcast_tensors": of(torch.broadcast_tensors, lambda n: (r(n, 1), r(4)), BATCH, WHOLE),
        "atleast_3d": of(torch.atleast_3d, lambda n: (r(n, 8),), BATCH),
        "trapezoid": of(torch.trapezoid, lambda n: (r(n, 5),), BATCH),
        "renorm": of(lambda x: torch.renorm(x, 2, 0, 1.0), lambda n: (r(n, 3),), BATCH),
        "diag_embed": of(torch.diag_embed, lambda n: (r(n, 4),), BATCH),
        "matrix_norm": of(torch.linalg.matrix_norm, lambda n: (r(n, 4),), BATCH),
        "rfft": of(lambda x: torch.view_as_real(torch.fft.rfft(x)), lambda n: (r(n, 8),), BATCH),
        "new tensors": of(lambda x: torch.empty(x.shape[0], 3).fill_(2.0), lambda n: (r(n),), BATCH),
    }


def heights() -> dict[str, Case]:
    """Images whose height is not known."""
    cases: dict[str, Callable[[Tensor], Any]] = {
        "pad reflect": lambda x: F.pad(x, (1, 1, 2, 2), mode="reflect"),
        "pad circular": lambda x: F.pad(x, (1, 1, 2, 2), mode="circular"),
        "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
        "windows": lambda x: x.unfold(2, 2, 1),
        "interpolate by 1.5": lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear"),
    }
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area"):
        cases[f"interpolate {mode}"] = lambda x, mode=mode: (
            F.interpolate(x, scale_factor=2, mode=mode),
            F.interpolate(x, (7, 6), mode=mode),
        )
    return {f"{name} of any height": of(f, lambda n: (r(2, 2, n, 5),), COLUMNS) for name, f in cases.items()}


def arithmetic() -> dict[str, Case]:
    """Sizes computed from others, and numbers."""
    functions: dict[str, Callable[[Tensor], Any]] = {
        "affine_grid": lambda x: F.affine_grid(
            torch.stack([x, x + 1], 1), (x.shape[0], 2, 4, 5), align_corners=False
        ),
        "affine_grid of volumes": lambda x: F.affine_grid(
            torch.ones(3, 4) * x.sum(1)[:, None, None], (x.shape[0], 2, 3, 2, 5), align_corners=True
        ),
        "twice": lambda x: torch.zeros(2 * x.shape[0]) + 1,
        "one more": lambda x: torch.arange(x.shape[0] + 1),
        "halves between": lambda x: torch.arange(x.shape[0]) + 0.5,
        "mean": lambda x: x.sum(0) / x.shape[0],
        "scaled": lambda x: x * (x.shape[0] * 2 + 1),
        "squared": lambda x: x * x.shape[0] ** 2,
        "returned": lambda x: (x + 1, x.shape[0] * 3 - 1),
        "padded to a multiple": lambda x: F.pad(x, (0, 0, 0, (-x.shape[0]) % 4)),
        "at least": lambda x: torch.zeros(torch.sym_max(x.shape[0], 8)),
        "repeat": lambda x: x.repeat(2, 3),
    }
    return {
        **{f"{name}, computed": of(f, lambda n: (r(n, 3),), BATCH) for name, f in functions.items()},
        "pixel_unshuffle of rows": of(
            lambda x: F.pixel_unshuffle(x, 2), lambda n: (r(2, 2, 2 * n, 4),), {2: 2 * N}
        ),
        "stft": of(
            lambda x: torch.stft(
                x, 8, 3, 6, torch.hann_window(6), normalized=True, return_complex=True
            ).abs(),
            lambda n: (r(n, 32),),
            BATCH,
        ),
        "stft of any length": of(
            lambda x: torch.view_as_real(torch.stft(x, 8, window=torch.ones(8), return_complex=True)),
            lambda n: (r(2, 8 * n),),
            {1: 8 * N},
        ),
        "the difference of two": of(
            lambda x, y: torch.ones(x.shape[0], y.shape[0]).tril(y.shape[0] - x.shape[0]),
            lambda n: (r(n, 3), r(n + 2, 3)),
            BATCH,
            {0: Dim("m", min=4, max=20)},
        ),
        "masked_select by a larger mask": of(
            lambda x, y: torch.masked_select(x, y > 0), lambda n: (r(4), r(n, 4)), WHOLE, BATCH
        ),
    }


def numbers() -> dict[str, Case]:
    """Operators that take a size for a number, not as the size of something."""
    functions: dict[str, Callable[[Tensor, Any], Tensor]] = {
        "linspace": lambda x, n: torch.linspace(0, n, 5),
        "roll": lambda x, n: torch.roll(x, n // 2, 0),
        "threshold": lambda x, n: F.threshold(x, 0.1, n),
        "softplus": lambda x, n: F.softplus(x, beta=n),
        "lerp": lambda x, n: torch.lerp(x, x + 1, n / 2),
        "renorm": lambda x, n: torch.renorm(x, 2, 0, n),
        "celu": lambda x, n: F.celu(x, alpha=n),
        "xlogy": lambda x, n: torch.xlogy(x.abs(), n),
        "repeat_interleave": lambda x, n: torch.repeat_interleave(x, n, 1)[:, :3],
        "a power": lambda x, n: x * n**-0.5,
    }
    return {
        f"number of {name}": of(lambda x, f=function: f(x, x.shape[0]), lambda n: (r(n, 3),), BATCH)
        for name, function in functions.items()
    }


def along() -> dict[str, Case]:
    """Operators that search, cut or write along the dimension whose size is not known."""
    rows: dict[str, Callable[[Tensor], Any]] = {
        "diff": lambda x: torch.diff(x, n=2, dim=0),
        "trapezoid": lambda x: (torch.trapezoid(x, dim=0), torch.cumulative_trapezoid(x, dim=0)),
        "median": lambda x: (x.median(), x.median(0), x.median(0, keepdim=True)),
        "nanmedian": lambda x: (x.where(x < 1, torch.nan).nanmedian(), x.nanmedian(0)),
        "kthvalue": lambda x: (x.kthvalue(2, 0), x.kthvalue(x.shape[0] - 1, 0, keepdim=True)),
        "quantile": lambda x: (torch.quantile(x, 0.3, 0), torch.nanquantile(x, torch.tensor([0.2, 1.0]), 0)),
        "fft": lambda x: (
            torch.view_as_real(torch.fft.fft(x[:, :3], dim=0, norm="forward")),
            torch.view_as_real(torch.fft.ifft(torch.fft.fft(x[:, :3], dim=0))),
            torch.view_as_real(torch.fft.ihfft(x[:, :3], dim=0).resolve_conj()),
        ),
        "irfft": lambda x: (
            torch.fft.irfft(torch.fft.rfft(x[:, :3], dim=0), x.shape[0], dim=0),
            torch.fft.irfft(torch.fft.rfft(x[:, :3], dim=0), dim=0, norm="forward"),
            torch.fft.hfft(torch.fft.ihfft(x[:, :3], dim=0), 4, dim=0),
        ),
        "put": lambda x: (
            x.put(torch.tensor([1, -2]), x[0, :2]),
            x.put(torch.tensor([[1, 1]]), x[:1, :2], accumulate=True),
        ),
        "bucketize": lambda x: torch.bucketize(x, x[:, 0].abs().cumsum(0)),
        "searchsorted": lambda x: torch.searchsorted(x[:, 0].abs().cumsum(0), x, out_int32=True),
        "isin": lambda x: (torch.isin(x, x[:, 0]), torch.isin(x, x[1:, 0], invert=True)),
        "take": lambda x: x.take(torch.tensor([1, -2])),
        "index_reduce": lambda x: x.index_reduce(0, torch.tensor([2, 0]), x[:2], "amax"),
        "diagonal_scatter": lambda x: (
            torch.diagonal_scatter(x[:, :3], x[:3, 0]),
            torch.diagonal_scatter(x @ x.T, x[:-1, 0], 1),
            torch.diagonal_scatter(x @ x.T, x[2:, 0], -2),
        ),
        "as_strided": lambda x: (
            x.as_strided((x.shape[0], 2), (4, 1)),
            x.as_strided((x.shape[0] - 1, 4), (4, 2), 1),
        ),
        "as_strided_scatter": lambda x: torch.as_strided_scatter(x, x[:, 2:], (x.shape[0], 2), (4, 2), 1),
        "cdist": lambda x: (torch.cdist(x[::2], x[:2]), torch.cdist(x.T, x.T, p=1.0)),
        "adaptive_max_pool1d": lambda x: F.adaptive_max_pool1d(x.T, 3),
        "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x.T.expand(2, 1, 4, -1), (2, 3)),
        "adaptive_max_pool3d": lambda x: F.adaptive_max_pool3d(x.T.expand(2, 1, 3, 4, -1), (2, 3, 2)),
        "split": lambda x: tuple(y + 1 for y in x.split([1, x.shape[0] - 3, 2])),
        "tensor_split": lambda x: tuple(y + 1 for y in x.tensor_split((1, 2))),
        "rfft": lambda x: (
            torch.view_as_real(torch.fft.rfft(x[:, :3], dim=0)),
            torch.view_as_real(torch.fft.rfft(x[:, :3], 5, dim=0, norm="ortho")),
        ),
    }
    whole: dict[str, Callable[[Tensor], Any]] = {
        "chunk": lambda x: tuple(y + 1 for y in x.chunk(3)),
        "split by a size": lambda x: tuple(y + 1 for y in x.split(x.shape[0] // 3)),
        "tensor_split into parts": lambda x: tuple(y + 1 for y in x.tensor_split(6)),
        "vsplit": lambda x: tuple(y + 1 for y in x.vsplit(3)),
        "hsplit": lambda x: tuple(y + 1 for y in x.T.hsplit(3)),
        "dsplit": lambda x: tuple(y + 1 for y in x.T[None].dsplit(3)),
    }
    spectra: dict[str, dict[str, Any]] = {
        "istft": {},
        "istft, normalized": {"normalized": True},
        "istft from the first element": {"center": False},
        "istft of overlaps that do not divide a frame": {"hop_length": 5},
        "istft with a shorter window": {"win_length": 10},
        "istft of both sides": {"onesided": False},
        "istft, shortened": {"length": 30},
        "istft, lengthened": {"length": 300},
    }

    def inverse(x: Tensor, length: int | None = None, **options: Any) -> Tensor:
        options = {"hop_length": 4, **options}
        window = torch.hann_window(options.get("win_length", 16)) + 0.1
        onesided = options.pop("onesided", True)
        transformed = torch.stft(x, 16, window=window, return_complex=True, **options)
        if not onesided:
            transformed = torch.cat([transformed, transformed[:, 1:8]], 1)
        return torch.istft(transformed, 16, window=window, onesided=onesided, length=length, **options)

    return {
        **{f"{name} along": of(f, lambda n: (r(2 * n, 4),), {0: 2 * N}) for name, f in rows.items()},
        **{f"{name} of a multiple": of(f, lambda n: (r(6 * n, 4),), {0: 6 * N}) for name, f in whole.items()},
        **{
            f"{name} along": of(partial(inverse, **options), lambda n: (r(2, 16 * n),), {1: 16 * N})
            for name, options in spectra.items()
        },
        "chunk of many": of(
            lambda x: tuple(y + 1 for y in x.chunk(2)),
            lambda n: (r(2 * n),),
            {0: 2 * Dim("n", min=3, max=100_000)},
        ),
    }


TABLES = (
    along,
    heights,
    arithmetic,
    recurrent,
    losses,
    normalizations,
    attention,
    images,
    products,
    elements,
    numbers,
)
CASES = {name: case for table in TABLES for name, case in table().items()}


def exported(case: Case) -> torch.export.ExportedProgram:
    torch.manual_seed(0)
    with warnings.catch_warnings(action="ignore"):
        return export(case.module, case.inputs(SIZES[0]), dynamic_shapes=case.dynamic, strict=False)


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore:index_reduce", "ignore:The length of signal is shorter")
@pytest.mark.parametrize("name", CASES)
def test_one_lowering_for_all_sizes(name: str) -> None:
    case = CASES[name]
    module = import_program(exported(case))
    for passes in (aten_passes(), core_aten_passes(), edge_passes()):
        run_passes(module, passes)
        verify_module(module)
        for size in SIZES:
            inputs = case.inputs(size)
            with torch.no_grad():
                wanted = pytree.tree_leaves(case.module(*inputs))
            found = Interpreter(module).run(*(value.clone() for value in inputs))
            assert difference(found, wanted) is None, f"for {size}"


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore:index_reduce", "ignore:The length of signal is shorter")
@pytest.mark.parametrize("name", CASES)
def test_one_file_for_all_sizes(name: str, tmp_path: Path, stock: StockRuntime) -> None:
    case = CASES[name]
    program = to_edge(exported(case))
    runs: dict[str, Callable[[Sequence[Any]], Sequence[Any]]] = {}
    for target in ("et-vm", DEFAULT):
        path = tmp_path / f"{target}.pte"
        options = ExecutorchBackendConfig(target=target)
        if target == DEFAULT and name in LIMITS:
            with pytest.raises(PassReport, match=LIMITS[name]):
                program.to_executorch(options)
            continue
        path.write_bytes(program.to_executorch(options).buffer)
        for library in ("portable", "aten"):
            method = Runtime.get().load_program(path, kernels=library, poison=True).load_method("forward")
            runs[f"{library}, {target}"] = method.execute
        if target == DEFAULT:
            runs["stock"] = partial(stock.run, path)
    for size in RUN:
        inputs = case.inputs(size)
        with torch.no_grad():
            wanted = pytree.tree_leaves(case.module(*inputs))
        for label, run in runs.items():
            found = list(run([value.clone() for value in inputs]))
            assert difference(found, wanted) is None, f"{label}, for {size}"


EMPTY = {
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "products of rows": lambda x: x.expand(2, *x.shape) @ x.mT,
    "products of matrices": lambda x: x.expand(2, 5, *x.shape) @ x.mT.expand(2, 5, 3, x.shape[0]),
    "linear": lambda x: F.linear(x.expand(2, *x.shape), torch.ones(5, 3)),
}


@pytest.mark.parametrize("name", EMPTY)
def test_no_rows(name: str, tmp_path: Path, stock: StockRuntime) -> None:
    """A size that may be zero: no view leaves another one to be found by a division."""
    function = EMPTY[name]
    program = export(
        Calls(function), (r(4, 3),), dynamic_shapes=(({0: Dim("n", min=0, max=8)},),), strict=False
    )
    path = tmp_path / "model.pte"
    path.write_bytes(to_edge(program).to_executorch(ExecutorchBackendConfig(target=DEFAULT)).buffer)
    for size in (4, 0, 1, 8):
        x = r(size, 3)
        wanted = [function(x)]
        for library in ("portable", "aten"):
            method = Runtime.get().load_program(path, kernels=library, poison=True).load_method("forward")
            assert difference(list(method.execute([x])), wanted) is None, f"{library}, {size}"
        assert difference(stock.run(path, [x]), wanted) is None, f"stock, {size}"
