"""Operators with sizes of their operands, and those that read sizes."""

from __future__ import annotations

from et_ops.fact import declare

declare("_softmax _log_softmax native_layer_norm native_group_norm cumsum", keeps_shape=True)
declare("alias alias_copy clone _to_copy", keeps_shape=True)
declare("integer.lookup", keeps_shape=True, shares_layout=True)
declare("dim_order_ops._clone_dim_order dim_order_ops._to_dim_order_copy", keeps_shape=True)
declare("arange arange.start arange.start_step", counts=True)
declare("sym_size.int sym_numel sym_stride.int sym_storage_offset", reads_sizes=True)
declare(
    """
    cumsum sum.dim_IntList mean.dim amax amin logsumexp linalg_vector_norm prod.dim_int any.dim any.dims
    var.correction var.dim argmax argmin
    """,
    reduces=True,
)
declare(
    """
    channel_shuffle clone dim_order_ops._clone_dim_order flip fliplr flipud index_select narrow_copy
    native_channel_shuffle pixel_shuffle pixel_unshuffle repeat repeat_interleave.self_int roll rot90 tile
    unsafe_chunk unsafe_split.Tensor unsafe_split_with_sizes
    """,
    moves=True,
)
declare(
    """
    _reshape_alias _unsafe_view alias clone contiguous detach dim_order_ops._clone_dim_order flatten.using_ints
    lift_fresh_copy ravel reshape squeeze squeeze.dim squeeze.dims unflatten.int unsqueeze view
    """,
    reshapes=True,
)
declare("permute t transpose.int", permutes=True)
declare(
    """
    as_strided_copy embedding gather index_select select_copy.int slice_copy.Tensor split_copy.Tensor
    split_with_sizes_copy
    """,
    reads_part=True,
)
declare(
    """
    index_copy index_fill.int_Scalar index_put masked_fill.Scalar scatter.src scatter.value scatter_add
    select_scatter slice_scatter
    """,
    updates=True,
)
