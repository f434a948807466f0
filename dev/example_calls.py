"""Hand-written example calls, for operators whose OpInfo samples are missing or unclear."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import torch

import dev.torchvision_operators  # noqa: F401  # pyright: ignore[reportUnusedImport]  (the same)
import et_ir.frontend.experts  # noqa: F401  # pyright: ignore[reportUnusedImport]  (registers an operator)
from dev.quantized_calls import quantized_calls

__all__ = ["DIM_ORDER", "Case", "calls"]

Case = tuple[Any, tuple[Any, ...], dict[str, Any]]
"""An operator with positional and named arguments."""

DIM_ORDER: Final = {
    "dim_order_ops._clone_dim_order": (
        "%result = edge.dim_order_ops._clone_dim_order %self {dim_order = [0, 2, 3, 1]} : "
        "(tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32, #edge.dim_order<0, 2, 3, 1>>"
    ),
    "dim_order_ops._empty_dim_order": (
        "%result = edge.dim_order_ops._empty_dim_order {size = [2, 3], dim_order = [0, 1]} : () -> tensor<2x3xf32>"
    ),
    "dim_order_ops._to_dim_order_copy": (
        "%result = edge.dim_order_ops._to_dim_order_copy %self {dtype = f16, dim_order = [0, 1]} : "
        "(tensor<2x3xf32>) -> tensor<2x3xf16>"
    ),
}
"""Examples of the operators that are not torch's."""

aten: Any = torch.ops.aten
grouped: Any = torch.ops.grouped


def f(*shape: int) -> torch.Tensor:
    """Numbers between 0 and 1."""
    return torch.rand(shape)


def i(*shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    """Zeros, which index anything."""
    return torch.zeros(shape, dtype=dtype)


def b(*shape: int) -> torch.Tensor:
    """A mask."""
    return torch.ones(shape, dtype=torch.bool)


def z(*shape: int) -> torch.Tensor:
    """Complex numbers."""
    return torch.rand(shape, dtype=torch.complex64)


def calls() -> Iterator[Case]:
    """All calls."""
    groups = (
        *_shapes(), *_images(), *_layers(), *_linear(), *_packed(), *quantized_calls(), *_others()
    )  # fmt: skip
    for target, *args in groups:
        kwargs: dict[str, Any] = args.pop() if args and isinstance(args[-1], dict) else {}
        yield target, tuple(args), kwargs


def _shapes() -> Iterator[tuple[Any, ...]]:
    """Views, copies, indices."""
    yield aten._reshape_alias.default, f(2, 3), [3, 2], [2, 1]
    yield aten._reshape_alias_copy.default, f(2, 3), [3, 2], [2, 1]
    yield aten._reshape_from_tensor.default, f(2, 3), torch.tensor([3, 2])
    yield aten._unsafe_view.default, f(2, 3), [3, 2]
    yield aten._remove_batch_dim.default, f(2, 3), 0, 4, 0
    for op in (aten.as_strided, aten.as_strided_copy):
        yield op.default, f(2, 3), [2, 2], [3, 1]
    yield aten.as_strided_scatter.default, f(2, 3), f(2, 2), [2, 2], [3, 1]
    yield aten.broadcast_tensors.default, [f(2, 1), f(3)]
    yield aten.broadcast_to.default, f(3), [2, 3]
    yield aten.cartesian_prod.default, [f(2), f(3)]
    for op in (aten.cat, aten.concat, aten.concatenate):
        yield op.default, [f(2, 3), f(2, 4)], 1
    yield aten.channel_shuffle.default, f(1, 4, 2, 3), 2
    yield aten.native_channel_shuffle.default, f(1, 4, 2, 3), 2
    for op in (aten.chunk, aten.unsafe_chunk):
        yield op.default, f(4, 3), 2
    yield aten.col2im.default, f(1, 8, 9), [4, 4], [2, 2], [1, 1], [0, 0], [1, 1]
    yield aten.im2col.default, f(1, 2, 4, 4), [2, 2], [1, 1], [0, 0], [1, 1]
    yield aten.constant_pad_nd.default, f(2, 3), [1, 2]
    yield aten.pad.default, f(2, 3), [1, 2]
    yield aten._pad_circular.default, f(1, 2, 3), [1, 1]
    yield aten._pad_enum.default, f(1, 2, 3), [1, 1], 1
    yield aten.copy.default, f(2, 3), f(3)
    for op in (aten.diagonal, aten.diagonal_copy):
        yield op.default, f(3, 4)
    yield aten.diagonal_scatter.default, f(3, 4), f(3)
    for op in (aten.expand, aten.expand_copy):
        yield op.default, f(2, 1), [2, 3]
    yield aten.expand_as.default, f(2, 1), f(2, 3)
    yield aten.flatten.using_ints, f(2, 3, 4), 1
    yield aten.flip.default, f(2, 3), [1]
    yield aten.gather.default, f(2, 3), 1, i(2, 2)
    yield aten.dsplit.array, f(2, 3, 4), [1, 3]
    yield aten.hsplit.array, f(2, 4), [1, 3]
    yield aten.hsplit.int, f(2, 4), 2
    yield aten.vsplit.array, f(4, 3), [1, 3]
    yield aten.vsplit.int, f(4, 3), 2
    yield aten.index.Tensor, f(4, 3), [i(2), i(2)]
    yield aten._unsafe_index.Tensor, f(4, 3), [i(2), i(2)]
    yield aten.index_put.default, f(4, 3), [i(2), i(2)], f(2)
    yield aten._unsafe_index_put.default, f(4, 3), [i(2), i(2)], f(2)
    yield aten._unsafe_masked_index.default, f(4, 3), b(2), [i(2), i(2)], 0
    yield aten._unsafe_masked_index_put_accumulate.default, f(4, 3), b(2), [i(2), i(2)], f(2)
    yield aten.index_add.default, f(4, 3), 0, i(2), f(2, 3)
    yield aten.index_copy.default, f(4, 3), 0, i(2), f(2, 3)
    yield aten.index_fill.int_Scalar, f(4, 3), 0, i(2), 1
    yield aten.index_fill.int_Tensor, f(4, 3), 0, i(2), f()
    yield aten.index_reduce.default, f(4, 3), 0, i(2), f(2, 3), "prod"
    yield aten.index_select.default, f(4, 3), 0, i(2)
    for op in (aten.movedim, aten.moveaxis):
        yield op.int, f(2, 3, 4), 0, 2
        yield op.intlist, f(2, 3, 4), [0, 1], [1, 2]
    for op in (aten.narrow, aten.narrow_copy):
        yield op.default, f(4, 3), 0, 1, 2
    yield aten.narrow.Tensor, f(4, 3), 0, i(), 2
    for op in (aten.permute, aten.permute_copy):
        yield op.default, f(2, 3, 4), [2, 0, 1]
    yield aten.repeat.default, f(2, 3), [2, 1]
    yield aten.tile.default, f(2, 3), [2, 1]
    yield aten.repeat_interleave.Tensor, torch.tensor([1, 2]), {"output_size": 3}
    yield aten.repeat_interleave.self_Tensor, f(2, 3), torch.tensor([1, 2]), 0, {"output_size": 3}
    yield aten.repeat_interleave.self_int, f(2, 3), 2, 0
    yield aten.reshape.default, f(2, 3), [3, 2]
    yield aten.reshape_as.default, f(2, 3), f(3, 2)
    yield aten.roll.default, f(2, 3), [1], [1]
    yield aten.scatter.src, f(2, 3), 1, i(2, 1), f(2, 1)
    yield aten.scatter.value, f(2, 3), 1, i(2, 1), 1
    yield aten.scatter.reduce, f(2, 3), 1, i(2, 1), f(2, 1), {"reduce": "add"}
    yield aten.scatter.value_reduce, f(2, 3), 1, i(2, 1), 2, {"reduce": "multiply"}
    yield aten.scatter_add.default, f(2, 3), 1, i(2, 1), f(2, 1)
    yield aten.scatter_reduce.two, f(2, 3), 1, i(2, 1), f(2, 1), "amax"
    for op in (aten.select, aten.select_copy):
        yield op.int, f(2, 3), 1, 0
    yield aten.select_scatter.default, f(2, 3), f(2), 1, 0
    for op in (aten.slice, aten.slice_copy):
        yield op.Tensor, f(4, 3), 0, 1, 3
    yield aten.slice_scatter.default, f(4, 3), f(2, 3), 0, 1, 3
    for op in (aten.split, aten.split_copy, aten.unsafe_split):
        yield op.Tensor, f(4, 3), 2
    for op in (aten.split_with_sizes, aten.split_with_sizes_copy, aten.unsafe_split_with_sizes):
        yield op.default, f(4, 3), [1, 3]
    yield aten.split.sizes, f(4, 3), [1, 3]
    for op in (aten.squeeze, aten.squeeze_copy):
        yield op.default, f(2, 1, 3)
        yield op.dim, f(2, 1, 3), 1
        yield op.dims, f(2, 1, 3), [1]
    for op in (aten.unsqueeze, aten.unsqueeze_copy):
        yield op.default, f(2, 3), 1
    yield aten.stack.default, [f(2, 3), f(2, 3)], 1
    yield aten.sum_to_size.default, f(2, 3), [1, 3]
    for op in (aten.transpose, aten.transpose_copy):
        yield op.int, f(2, 3), 0, 1
    for op in (aten.t, aten.t_copy, aten.mT, aten.numpy_T, aten.mH, aten.matrix_H, aten.adjoint):
        yield op.default, f(2, 3)
    yield aten.swapaxes.default, f(2, 3), 0, 1
    yield aten.swapdims.default, f(2, 3), 0, 1
    yield aten.take.default, f(2, 3), i(4)
    yield aten.take_along_dim.default, f(2, 3), i(2, 1), 1
    yield aten.tensor_split.indices, f(4, 3), [1, 3]
    yield aten.tensor_split.sections, f(4, 3), 2
    yield aten.unflatten.int, f(4, 3), 0, [2, 2]
    yield aten.unflatten_dense_tensors.default, f(5), [f(2), f(3)]
    for op in (aten.unbind, aten.unbind_copy):
        yield op.int, f(2, 3)
    for op in (aten.unfold, aten.unfold_copy):
        yield op.default, f(5, 3), 0, 2, 1
    for op in (aten.view, aten.view_copy):
        yield op.default, f(2, 3), [3, 2]
        yield op.dtype, f(2, 3), torch.int32
    yield aten.view_as.default, f(2, 3), f(3, 2)
    yield aten.view_as_complex.default, f(3, 2)
    yield aten.view_as_complex_copy.default, f(3, 2)
    yield aten._unique2.default, i(4)
    yield aten.unique_dim.default, i(4, 3), 0
    yield aten.unique_consecutive.default, i(4)
    for op in (aten.vstack, aten.row_stack):
        yield op.default, [f(2, 3), f(1, 3)]
    yield aten.hstack.default, [f(2, 3), f(2, 1)]
    yield aten.meshgrid.default, [f(2), f(3)]
    yield aten.meshgrid.indexing, [f(2), f(3)], {"indexing": "xy"}
    yield aten.pad_sequence.default, [f(2, 3), f(4, 3)]
    yield aten.pixel_shuffle.default, f(1, 4, 2, 3), 2
    yield aten.pixel_unshuffle.default, f(1, 1, 4, 6), 2
    yield aten.resize_as.default, f(2, 3), f(3, 2)
    yield aten._to_copy.default, f(2, 3), {"dtype": torch.float16}
    yield aten.to.dtype, f(2, 3), torch.float16
    yield aten.to.dtype_layout, f(2, 3), {"dtype": torch.float16}
    yield aten.to.device, f(2, 3), torch.device("cpu"), torch.float16
    yield aten.to.other, f(2, 3), i(1)
    yield aten.type_as.default, f(2, 3), i(1)
    yield aten._add_batch_dim.default, f(2, 3), 0, 1


def _images() -> Iterator[tuple[Any, ...]]:
    """Convolutions, pools, resampling."""
    for rank, (conv, transposed) in enumerate(
        (
            (aten.conv1d, aten.conv_transpose1d.default),
            (aten.conv2d, aten.conv_transpose2d.input),
            (aten.conv3d, aten.conv_transpose3d.input),
        ),
        1,
    ):
        image, kernel = (4,) * rank, (3,) * rank
        yield conv.default, f(1, 2, *image), f(5, 2, *kernel), f(5), [1] * rank, [1] * rank
        yield conv.padding, f(1, 2, *image), f(5, 2, *kernel), f(5), [1] * rank, "same"
        yield transposed, f(1, 2, *image), f(2, 5, *kernel), f(5), [2] * rank
    image, kernel, bias = f(1, 2, 4, 4), f(5, 2, 3, 3), f(5)
    yield aten.convolution.default, image, kernel, bias, [1, 1], [1, 1], [1, 1], False, [0, 0], 1
    options = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1, False, False, False)
    yield aten._convolution.deprecated, image, kernel, bias, *options
    yield aten._convolution_mode.default, image, kernel, bias, [1, 1], "same", [1, 1], 1
    yield aten.thnn_conv2d.default, image, kernel, [3, 3], bias, [1, 1], [1, 1]
    yield aten.slow_conv3d.default, f(1, 2, 4, 4, 4), f(5, 2, 3, 3, 3), [3, 3, 3], bias
    for rank, pools in enumerate(
        (
            (aten.avg_pool1d, aten.max_pool1d, aten.max_pool1d_with_indices),
            (aten.avg_pool2d, aten.max_pool2d, aten.max_pool2d_with_indices),
            (aten.avg_pool3d, aten.max_pool3d, aten.max_pool3d_with_indices),
        ),
        1,
    ):
        for op in pools:
            yield op.default, f(1, 2, *(4,) * rank), [2] * rank
    for rank, pools in enumerate(
        (
            (aten.adaptive_avg_pool1d, aten.adaptive_max_pool1d),
            (aten.adaptive_avg_pool2d, aten._adaptive_avg_pool2d, aten.adaptive_max_pool2d),
            (aten.adaptive_avg_pool3d, aten._adaptive_avg_pool3d, aten.adaptive_max_pool3d),
        ),
        1,
    ):
        for op in pools:
            yield op.default, f(1, 2, *(4,) * rank), [2] * rank
    yield aten.fractional_max_pool2d.default, f(1, 2, 5, 5), [2, 2], [3, 3], f(1, 2, 2)
    yield aten.fractional_max_pool3d.default, f(1, 2, 5, 5, 5), [2, 2, 2], [3, 3, 3], f(1, 2, 3)
    yield aten.max_unpool2d.default, f(1, 2, 2, 2), i(1, 2, 2, 2), [4, 4]
    yield aten.max_unpool3d.default, f(1, 2, 2, 2, 2), i(1, 2, 2, 2, 2), [4, 4, 4], [2, 2, 2], [0, 0, 0]
    for rank, pads in enumerate(
        (
            (aten.reflection_pad1d, aten.replication_pad1d),
            (aten.reflection_pad2d, aten.replication_pad2d),
            (aten.reflection_pad3d, aten.replication_pad3d),
        ),
        1,
    ):
        for op in pads:
            yield op.default, f(1, 2, *(4,) * rank), [1] * 2 * rank
    nearest = (
        (aten.upsample_nearest1d, aten._upsample_nearest_exact1d),
        (aten.upsample_nearest2d, aten._upsample_nearest_exact2d),
        (aten.upsample_nearest3d, aten._upsample_nearest_exact3d),
    )
    for rank, ops in enumerate(nearest, 1):
        for op in ops:
            yield op.default, f(1, 2, *(4,) * rank), [8] * rank
            yield op.vec, f(1, 2, *(4,) * rank), [8] * rank, None
    smooth = (
        (aten.upsample_linear1d,),
        (
            aten.upsample_bilinear2d, aten.upsample_bicubic2d, aten._upsample_bilinear2d_aa,
            aten._upsample_bicubic2d_aa,
        ),
        (aten.upsample_trilinear3d,),
    )  # fmt: skip
    for rank, ops in enumerate(smooth, 1):
        for op in ops:
            yield op.default, f(1, 2, *(4,) * rank), [8] * rank, False
            yield op.vec, f(1, 2, *(4,) * rank), [8] * rank, False, None
    yield aten._upsample_lanczos2d_aa.vec, f(1, 2, 4, 4), [8, 8], False, None
    yield aten.affine_grid_generator.default, f(1, 2, 3), [1, 2, 4, 4], False
    for op in (aten.grid_sampler, aten.grid_sampler_2d):
        yield op.default, f(1, 2, 4, 4), f(1, 3, 3, 2), 0, 0, False
    yield aten.grid_sampler_3d.default, f(1, 2, 4, 4, 4), f(1, 3, 3, 3, 3), 0, 0, False


def _layers() -> Iterator[tuple[Any, ...]]:
    """Normalizations, dropout, embeddings, attention, recurrent layers, losses, quantization."""
    channels, image = f(2), f(1, 2, 4, 4)
    statistics = (channels, channels.clone(), channels.clone(), channels.clone())
    yield (
        aten.avg_pool2d_backward.default,
        f(1, 2, 2, 3),
        f(1, 2, 4, 6),
        [2, 2],
        [],
        [0, 0],
        False,
        True,
        None,
    )
    yield (
        aten.convolution_backward.default,
        f(1, 3, 2, 4), f(1, 2, 4, 6), f(3, 2, 3, 3), [3], [1, 1], [0, 0], [1, 1], False, [0, 0], 1,
        [True, True, True],
    )  # fmt: skip
    yield aten.embedding_dense_backward.default, f(3, 4), i(3), 5, -1, False
    yield (
        aten.native_group_norm_backward.default,
        f(2, 4, 3), f(2, 4, 3), f(2, 2), f(2, 2), f(4), 2, 4, 3, 2, [True, True, True],
    )  # fmt: skip
    yield (
        aten.native_layer_norm_backward.default,
        f(2, 3), f(2, 3), [3], f(2, 1), f(2, 1), f(3), f(3), [True, True, True],
    )  # fmt: skip
    yield aten.batch_norm.default, image, *statistics, False, 0.1, 1e-5, False
    yield aten.instance_norm.default, image, *statistics, True, 0.1, 1e-5, False
    yield aten._native_batch_norm_legit.no_stats, image, *statistics[:2], True, 0.1, 1e-5
    yield aten._native_batch_norm_legit_functional.default, image, *statistics, True, 0.1, 1e-5
    yield aten._native_batch_norm_legit_no_training.default, image, *statistics, 0.1, 1e-5
    yield aten.group_norm.default, f(1, 4, 3, 3), 2, f(4), f(4)
    yield aten.native_group_norm.default, f(1, 4, 3, 3), f(4), f(4), 1, 4, 9, 2, 1e-5
    yield aten.layer_norm.default, f(2, 3), [3], f(3), f(3)
    yield aten.native_layer_norm.default, f(2, 3), [3], f(3), f(3), 1e-5
    yield aten.rms_norm.default, f(2, 3), [3], f(3)
    yield aten._fused_rms_norm.default, f(2, 3), [3], f(3), 1e-5
    yield aten._weight_norm.default, f(2, 3), f(2, 1)
    yield aten._weight_norm_interface.default, f(2, 3), f(2, 1)
    for op in (aten.dropout, aten.alpha_dropout, aten.native_dropout):
        yield op.default, f(2, 3), 0.5, True
    for op in (aten.feature_dropout, aten.feature_alpha_dropout):
        yield op.default, f(1, 2, 3), 0.5, True
    yield aten.bernoulli.p, f(2, 3), 0.5
    yield aten.embedding.default, f(10, 4), i(2, 3)
    yield aten.embedding_bag.default, f(10, 4), i(6), torch.tensor([0, 3])
    yield aten._embedding_bag.default, f(10, 4), i(6), torch.tensor([0, 3])
    yield aten._embedding_bag_forward_only.default, f(10, 4), i(6), torch.tensor([0, 3])
    yield (
        aten.embedding_bag.padding_idx,
        f(10, 4),
        i(6),
        torch.tensor([0, 3]),
        False,
        0,
        False,
        None,
        False,
        0,
    )
    heads = (f(1, 2, 3, 4), f(1, 2, 5, 4), f(1, 2, 5, 4))
    yield aten.scaled_dot_product_attention.default, *heads
    yield aten._scaled_dot_product_attention_math.default, *heads
    yield aten._scaled_dot_product_flash_attention_for_cpu.default, *heads
    for gates, cells in (
        (1, (aten.rnn_relu, aten.rnn_tanh)),
        (3, (aten.gru,)),
        (4, (aten.lstm,)),
    ):
        parameters = [f(4 * gates, 3), f(4 * gates, 4)]
        for op in cells:
            state = [f(1, 2, 4), f(1, 2, 4)] if gates == 4 else f(1, 2, 4)
            yield op.input, f(2, 5, 3), state, parameters, False, 1, 0.0, False, False, True
            yield op.data, f(6, 3), torch.tensor([2, 2, 2]), state, parameters, False, 1, 0.0, False, False
    for gates, op in (
        (1, aten.rnn_relu_cell),
        (1, aten.rnn_tanh_cell),
        (3, aten.gru_cell),
        (4, aten.lstm_cell),
    ):
        state = [f(2, 4), f(2, 4)] if gates == 4 else f(2, 4)
        yield op.default, f(2, 3), state, f(4 * gates, 3), f(4 * gates, 4)
    yield aten._pad_packed_sequence.default, f(5, 3), torch.tensor([2, 2, 1]), True, 0, 3
    yield aten.prelu.default, f(2, 3), f(3)
    yield aten.cross_entropy_loss.default, f(2, 3), i(2)
    for op in (aten.nll_loss, aten.nll_loss_nd, aten.multi_margin_loss):
        yield op.default, f(2, 3), i(2)
    yield aten.nll_loss_forward.default, f(2, 3), i(2), None, 1, -100
    yield aten.nll_loss2d.default, f(1, 3, 4, 4), i(1, 4, 4)
    yield aten.nll_loss2d_forward.default, f(1, 3, 4, 4), i(1, 4, 4), None, 1, -100
    yield aten.multilabel_margin_loss.default, f(2, 3), i(2, 3)
    yield aten.multilabel_margin_loss_forward.default, f(2, 3), i(2, 3), 1
    yield aten.cosine_embedding_loss.default, f(2, 3), f(2, 3), torch.ones(2)
    yield aten.cosine_similarity.default, f(2, 3), f(2, 3)
    for op in (aten.triplet_margin_loss, aten.margin_ranking_loss):
        yield op.default, f(2, 3), f(2, 3), f(2, 3)
    yield aten.poisson_nll_loss.default, f(2, 3), f(2, 3), True, False, 1e-8, 1
    scores, classes = f(5, 2, 4).log_softmax(-1), torch.ones(2, 3, dtype=torch.int64)
    yield aten.ctc_loss.IntList, scores, classes, [5, 5], [3, 3]
    yield aten._ctc_loss.default, scores, classes, [5, 5], [3, 3]
    yield aten._ctc_loss.Tensor, scores, classes, torch.tensor([5, 5]), torch.tensor([3, 3])
    yield aten.ctc_loss.Tensor, scores, classes, torch.tensor([5, 5]), torch.tensor([3, 3])
    yield aten.fake_quantize_per_tensor_affine.default, f(2, 3), 0.1, 0, -128, 127
    qparams = (torch.tensor([0.1]), i(1, dtype=torch.int32))
    yield aten.fake_quantize_per_tensor_affine.tensor_qparams, f(2, 3), *qparams, -128, 127
    yield aten.fake_quantize_per_channel_affine.default, f(2, 3), f(2), i(2, dtype=torch.int32), 0, -128, 127
    yield aten._choose_qparams_per_tensor.default, f(2, 3)
    yield aten.choose_qparams_optimized.default, f(6), 6, 200, 0.16, 8
    yield aten._rowwise_prune.default, f(3, 4), b(3), torch.int64
    yield aten.one_hot.default, i(3), 4


def _linear() -> Iterator[tuple[Any, ...]]:
    """Products and factorizations of matrices."""
    yield aten.linear.default, f(2, 3), f(4, 3), f(4)
    yield grouped.linear.default, f(4, 3), f(10, 3), torch.tensor([1, 4])
    yield aten.bilinear.default, f(2, 3), f(2, 4), f(5, 3, 4), f(5)
    for op in (aten.mm, aten.matmul, aten.linalg_matmul):
        yield op.default, f(2, 3), f(3, 4)
    yield aten._int_mm.default, i(32, 16, dtype=torch.int8), i(16, 8, dtype=torch.int8)
    yield aten.bmm.default, f(2, 3, 4), f(2, 4, 5)
    yield aten.mv.default, f(2, 3), f(3)
    for op in (aten.outer, aten.ger):
        yield op.default, f(2), f(3)
    yield aten.inner.default, f(2, 3), f(4, 3)
    yield aten.addmm.default, f(4), f(2, 3), f(3, 4)
    yield aten.addmv.default, f(2), f(2, 3), f(3)
    yield aten.addr.default, f(2, 3), f(2), f(3)
    yield aten.addbmm.default, f(3, 5), f(2, 3, 4), f(2, 4, 5)
    yield aten.baddbmm.default, f(2, 3, 5), f(2, 3, 4), f(2, 4, 5)
    for op in (aten.chain_matmul, aten.linalg_multi_dot):
        yield op.default, [f(2, 3), f(3, 4), f(4, 5)]
    yield aten.einsum.default, "ij,jk->ik", [f(2, 3), f(3, 4)]
    yield aten.tensordot.default, f(2, 3), f(3, 4), [1], [0]
    yield aten.kron.default, f(2, 3), f(4, 5)
    for op in (aten.cdist, aten._euclidean_dist):
        yield op.default, f(2, 3), f(4, 3)
    yield aten._cdist_forward.default, f(2, 3), f(4, 3), 2.0, None
    yield aten.nuclear_norm.dim, f(2, 3), [0, 1]
    for op in (aten.pdist, aten._pdist_forward):
        yield op.default, f(4, 3)
    yield aten.orgqr.default, f(4, 3), f(3)
    yield aten.linalg_solve.default, f(3, 3), f(3, 2)
    yield aten.linalg_solve_ex.default, f(3, 3), f(3, 2)
    yield aten.linalg_solve_triangular.default, f(3, 3), f(3, 2), {"upper": True}
    yield aten.lu_solve.default, f(3, 2), f(3, 3), torch.tensor([1, 2, 3], dtype=torch.int32)
    yield aten.linalg_tensorinv.default, torch.eye(6).reshape(2, 3, 6), 2
    yield aten.linalg_tensorsolve.default, torch.eye(6).reshape(2, 3, 6), f(2, 3)
    yield aten.linalg_vecdot.default, f(2, 3), f(2, 3)
    for op in (aten.linalg_cross, aten.cross):
        yield op.default, f(2, 3), f(2, 3)
    for op in (aten.linalg_matrix_rank.tol_tensor, aten.linalg_pinv.rcond_tensor):
        yield op, f(2, 3), f()
    definite = torch.eye(3)
    for op in (
        aten.cholesky,
        aten.cholesky_inverse,
        aten.linalg_eig,
        aten._linalg_eigh,
        aten.linalg_matrix_exp,
    ):
        yield op.default, definite
    for op in (aten._linalg_det, aten._linalg_slogdet, aten.linalg_ldl_factor, aten.linalg_ldl_factor_ex):
        yield op.default, definite
    yield aten.cholesky_solve.default, f(3, 2), definite
    yield aten.triangular_solve.default, f(3, 2), definite
    yield aten._linalg_solve_ex.default, f(3, 3), f(3, 2)
    yield aten._linalg_svd.default, f(2, 3)
    yield aten.geqrf.default, f(4, 3)
    yield aten.linalg_householder_product.default, f(4, 3), f(3)
    yield aten.ormqr.default, f(4, 3), f(3), f(4, 2)
    yield aten.linalg_lu.default, f(4, 3)
    pivots = torch.tensor([1, 2, 3], dtype=torch.int32)
    yield aten.linalg_lu_solve.default, f(3, 3), pivots, f(3, 2)
    yield aten.linalg_ldl_solve.default, f(3, 3), pivots, f(3, 2)
    yield aten.lu_unpack.default, f(3, 3), pivots
    for op in (aten.linalg_eigvals, aten.linalg_eigh, aten.linalg_eigvalsh, aten.inverse, aten.linalg_inv):
        yield op.default, definite
    yield aten.linalg_cholesky.default, definite
    yield aten.linalg_cholesky_ex.default, definite
    yield aten.linalg_matrix_norm.default, f(2, 3), 2
    for matrix in (f(2, 3),):
        yield aten.linalg_svd.default, matrix, False
        yield aten.svd.default, matrix
        yield aten.linalg_qr.default, matrix
        yield aten.qr.default, matrix


def _packed() -> Iterator[tuple[Any, ...]]:
    """Layers on weights that FBGEMM has quantized and packed."""
    yield aten.fbgemm_linear_quantize_weight.default, f(4, 3)
    yield aten.fbgemm_pack_gemm_matrix_fp16.default, f(3, 4)
    half = aten.fbgemm_pack_gemm_matrix_fp16(f(4, 3))
    yield aten.fbgemm_linear_fp16_weight.default, f(2, 3), half, f(4)
    yield aten.fbgemm_linear_fp16_weight_fp32_activation.default, f(2, 3), half, f(4)

    def weight(rows: int, columns: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, float, int]:
        quantised, offsets, _, _ = aten.fbgemm_linear_quantize_weight(f(rows, columns))
        return quantised, aten.fbgemm_pack_quantized_matrix(quantised), offsets, 0.1, 0

    quantised, packed, *rest = weight(4, 3)
    yield aten.fbgemm_pack_quantized_matrix.default, quantised
    yield aten.fbgemm_pack_quantized_matrix.KN, quantised, 3, 4
    yield aten.fbgemm_linear_int8_weight.default, f(2, 3), quantised, packed, *rest, f(4)
    yield aten.fbgemm_linear_int8_weight_fp32_activation.default, f(2, 3), quantised, packed, *rest, f(4)
    for gates, op in (
        (1, aten.quantized_rnn_relu_cell),
        (1, aten.quantized_rnn_tanh_cell),
        (3, aten.quantized_gru_cell),
        (4, aten.quantized_lstm_cell),
    ):
        rows = 4 * gates
        inputs, hidden = weight(rows, 3), weight(rows, 4)
        state = [f(2, 4), f(2, 4)] if gates == 4 else f(2, 4)
        weights = (inputs[0], hidden[0], f(rows), f(rows), inputs[1], hidden[1], inputs[2], hidden[2])
        numbers = (inputs[3], hidden[3], inputs[4], hidden[4])
        yield op.default, f(2, 3), state, *weights, *numbers
    scale, zero_point = torch.tensor([0.1]), i(1, dtype=torch.int32)
    yield aten._wrapped_linear_prepack.default, f(4, 3), scale, zero_point, f(4)
    prepacked = aten._wrapped_linear_prepack(f(4, 3), scale, zero_point, f(4))
    numbers = (scale, zero_point, prepacked, scale, zero_point)
    yield aten._wrapped_quantized_linear_prepacked.default, f(2, 3), *numbers, 4


def _others() -> Iterator[tuple[Any, ...]]:
    """The remaining operators: checks, ranges, spectra, searches."""
    yield aten._assert_async.msg, b(1), "out of range"
    yield aten._assert_tensor_metadata.default, f(2, 3), [2, 3]
    yield aten._has_compatible_shallow_copy_type.default, f(2, 3), f(2, 3)
    yield aten.add.Tensor, f(2, 3), f(3)
    yield torch.ops.torchvision.nms.default, f(3, 4), f(3), 0.5
    yield aten.arange.start_step, 0, 10, 2
    yield aten.full.default, [2, 3], 1.0
    yield aten.full_like.default, f(2, 3), 1
    yield aten.fill.Tensor, f(2, 3), f()
    yield aten.bincount.default, i(4)
    for op in (aten.clamp, aten.clip):
        yield op.default, f(2, 3), 0, 1
        yield op.Tensor, f(2, 3), f(3), f(3)
    for op in (aten.div, aten.divide):
        yield op.Scalar_mode, f(2, 3), 2, {"rounding_mode": "floor"}
        yield op.Tensor_mode, f(2, 3), f(3), {"rounding_mode": "trunc"}
    for op in (aten.mul, aten.multiply, aten.div, aten.divide, aten.subtract, aten.sub):
        yield op.Tensor, f(2, 3), f(3)
    yield aten.where.default, b(2, 3)
    yield aten.where.self, b(2, 3), f(2, 3), f(2, 3)
    yield aten.where.ScalarOther, b(2, 3), f(2, 3), 0
    yield aten.where.ScalarSelf, b(2, 3), 0, f(2, 3)
    yield aten.where.Scalar, b(2, 3), 1, 0
    yield aten.masked_fill.Scalar, f(2, 3), b(2, 3), 0
    yield aten.masked_fill.Tensor, f(2, 3), b(2, 3), f()
    yield aten.masked_select.default, f(2, 3), b(2, 3)
    yield aten.masked_scatter.default, f(2, 3), b(2, 3), f(6)
    for op in (aten.all, aten.any, aten.mean, aten.sum, aten.prod):
        yield op.default, f(2, 3)
    for op in (aten.amax, aten.amin):
        yield op.default, f(2, 3), [1]
    for op in (aten.argmax, aten.argmin):
        yield op.default, f(2, 3), 1
    for op in (aten.all, aten.any):
        yield op.dims, f(2, 3), [1]
    for op in (aten.max, aten.min, aten.median, aten.nanmedian, aten.all, aten.any):
        yield op.dim, f(2, 3), 1
    for op in (aten.trapezoid, aten.trapz, aten.cumulative_trapezoid):
        yield op.dx, f(2, 3)
        yield op.x, f(2, 3), f(3)
    yield aten.mode.default, f(2, 3)
    yield aten.frobenius_norm.dim, f(2, 3), [1]
    yield aten.norm.ScalarOpt_dim, f(2, 3), 2, [1]
    yield aten.norm.ScalarOpt_dim_dtype, f(2, 3), 2, [1], False, {"dtype": torch.float64}
    for op in (aten.mean, aten.var, aten.std, aten.var_mean, aten.std_mean):
        yield op.dim, f(2, 3), [1]
    for op in (aten.var, aten.std, aten.var_mean, aten.std_mean):
        yield op.correction, f(2, 3), [1], {"correction": 0}
        yield op.default, f(2, 3)
    yield aten.sum.dim_IntList, f(2, 3), [1]
    yield aten.count_nonzero.dim_IntList, f(2, 3), [1]
    for op in (aten.logsumexp, aten.special_logsumexp):
        yield op.default, f(2, 3), [1]
    for op in (aten.nansum, aten.nanmean):
        yield op.default, f(2, 3), [1]
    for op in (aten.quantile, aten.nanquantile):
        yield op.default, f(2, 3), torch.tensor([0.25, 0.75]), 1
        yield op.scalar, f(2, 3), 0.5, 1
    for op in (aten.bucketize,):
        yield op.Tensor, f(2, 3), f(4)
        yield op.Scalar, 0.5, f(4)
    yield aten.searchsorted.Tensor, f(4), f(2, 3)
    yield aten.searchsorted.Scalar, f(4), 0.5
    yield aten.topk.default, f(2, 3), 2
    yield aten.kthvalue.default, f(2, 3), 2
    yield aten.multinomial.default, f(2, 3), 2
    yield aten.nonzero_static.default, f(2, 3), {"size": 4}
    yield aten.isin.Tensor_Tensor, f(2, 3), f(4)
    yield aten.isin.Scalar_Tensor, 1, f(4)
    yield aten.isin.Tensor_Scalar, f(2, 3), 1
    yield aten.histc.default, f(6), 4
    for op in (aten.histogramdd,):
        yield op.default, f(6, 2), [3, 4]
        yield op.int_bins, f(6, 2), 3
        yield op.TensorList_bins, f(6, 2), [torch.tensor([0.0, 0.5, 1.0]), torch.tensor([0.0, 1.0])]
    yield aten.gradient.array, f(3, 4), {"dim": [0]}
    yield aten.gradient.scalarint, f(4), {"spacing": 2}
    yield aten.gradient.scalararray, f(3, 4), {"spacing": 2, "dim": [0, 1]}
    yield aten.gradient.scalarrayarray, f(3, 4), {"spacing": [1, 2], "dim": [0, 1]}
    yield aten.gradient.scalarrayint, f(4), {"spacing": [2]}
    yield aten.gradient.tensorarray, f(3, 4), {"spacing": [torch.arange(3.0)], "dim": [0]}
    yield aten.gradient.tensorarrayint, f(4), {"spacing": [torch.arange(4.0)]}
    for op in (aten.fft_fft, aten.fft_ifft, aten.fft_fft2, aten.fft_ifft2, aten.fft_fftn, aten.fft_ifftn):
        yield op.default, z(2, 4)
    for op in (
        aten.fft_rfft,
        aten.fft_rfft2,
        aten.fft_rfftn,
        aten.fft_ihfft,
        aten.fft_ihfft2,
        aten.fft_ihfftn,
    ):
        yield op.default, f(2, 4)
    for op in (
        aten.fft_irfft,
        aten.fft_irfft2,
        aten.fft_irfftn,
        aten.fft_hfft,
        aten.fft_hfft2,
        aten.fft_hfftn,
    ):
        yield op.default, z(2, 3)
    for op in (aten.fft_fftshift, aten.fft_ifftshift):
        yield op.default, f(2, 4)
    yield aten._fft_c2c.default, z(2, 4), [1], 0, True
    yield aten._fft_r2c.default, f(2, 4), [1], 0, True
    yield aten._fft_c2r.default, z(2, 3), [1], 2, 4
    yield aten.stft.default, f(16), 4, 2, None, torch.ones(4), {"return_complex": True}
    yield aten.stft.center, f(16), 4, 2, None, torch.ones(4), {"return_complex": True}
    yield aten.istft.default, z(3, 9), 4, 2, None, torch.ones(4)
    yield aten._sobol_engine_draw.default, i(2), 3, i(2, 30), 2, 0, torch.float32
    for op in (aten._conj, aten._conj_copy, aten._conj_physical, aten.conj, aten.conj_physical):
        yield op.default, z(2, 3)
    for op in (aten.resolve_conj, aten.real, aten.imag, aten.angle):
        yield op.default, z(2, 3)
    yield aten._chunk_cat.default, [f(2, 3), f(4, 3)], 0, 2
    yield aten._local_scalar_dense.default, f(1)
    yield aten.item.default, f(1)
    yield aten.is_nonzero.default, f(1)
    yield aten.can_cast.default, torch.float32, torch.int64
    yield aten.promote_types.default, torch.float16, torch.float32
    yield aten.result_type.Scalar, i(2, 3), 0.5
    yield aten.result_type.Scalar_Scalar, 1, 0.5
    yield aten.result_type.Scalar_Tensor, 0.5, i(2, 3)
    yield aten.result_type.Tensor, f(2, 3), i(2, 3)
    for op in (aten.linspace, aten.logspace):
        yield op.Scalar_Tensor, 0, f(), 5
        yield op.Tensor_Scalar, f(), 5, 5
        yield op.Tensor_Tensor, f(), f(), 5
    yield aten.threshold.default, f(2, 3), 0.5, 0
    yield aten.norm_except_dim.default, f(2, 3)
    for op in (aten.corrcoef, aten.cov):
        yield op.default, f(3, 4)
    yield aten.prod.dim_int, f(2, 3), 1
    yield aten.randperm.default, 4
    yield aten.glu.default, f(2, 4)
    yield aten.add.Scalar, f(2, 3), 2
    yield aten.eye.m, 2, 3
    indices, offsets, values = torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 1, 2]), f(2)
    columns, blocks = torch.tensor([1, 0]), f(2, 1, 1)
    yield aten._validate_sparse_coo_tensor_args.default, indices, values, [2, 2]
    for op in (aten._validate_sparse_csr_tensor_args, aten._validate_sparse_csc_tensor_args):
        yield op.default, offsets, columns, values, [2, 2]
    for op in (aten._validate_sparse_bsr_tensor_args, aten._validate_sparse_bsc_tensor_args):
        yield op.default, offsets, columns, blocks, [2, 2]
    operands = (offsets, columns, values)
    yield aten._validate_sparse_compressed_tensor_args.default, *operands, [2, 2], torch.sparse_csr
    yield aten.geometric.default, f(2, 3), 0.5
    yield aten.put.default, f(2, 3), i(2), f(2)
    yield aten.segment_reduce.default, f(5, 3), "sum", {"lengths": torch.tensor([2, 3])}
    yield aten.histogram.bin_ct, f(6), 4
    yield aten.histogram.bins_tensor, f(6), torch.tensor([0.0, 0.5, 1.0])
    yield aten.binomial.default, torch.full((2, 3), 10.0), f(2, 3)
    yield aten.unique_dim_consecutive.default, i(4, 3), 0
    yield aten.empty_permuted.default, [2, 3], [1, 0]
    yield aten.new_empty_strided.default, f(2, 3), [2, 4], [4, 1]
    yield getattr(aten.random, "from"), i(2, 3), 0, 10
    yield aten.random.to, i(2, 3), 10
    yield aten.random.default, i(2, 3)
    yield aten.normal.Tensor_Tensor, f(2, 3), f(2, 3)
    yield aten.normal.float_float, 0.0, 1.0, [2, 3]
    yield aten.tensor_split.tensor_indices_or_sections, f(4, 3), torch.tensor([1, 3])
    yield aten.native_batch_norm.default, f(1, 2, 4, 4), f(2), f(2), f(2), f(2), False, 0.1, 1e-5
