"""Memory: what composite operators give and write, where torch's registration does not say it."""

from __future__ import annotations

from et_ops.fact import declare

declare(
    """
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d batch_norm conv1d conv1d.padding conv2d
    conv2d.padding conv3d conv3d.padding conv_transpose1d conv_transpose2d.input conv_transpose3d.input
    group_norm gru.input gru_cell instance_norm layer_norm linear log_softmax.int lstm.input lstm_cell matmul
    max_pool1d max_pool2d max_pool3d one_hot rms_norm rnn_relu.input rnn_relu_cell rnn_tanh.input rnn_tanh_cell
    scaled_dot_product_attention softmax.int
    """,
    fresh=True,
)
declare("batch_norm native_batch_norm", statistics=("running_mean", "training"))
declare("instance_norm", statistics=("running_mean", "use_input_stats"))
declare(
    """
    dim_order_ops._empty_dim_order empty.memory_format empty_like empty_permuted empty_strided new_empty
    new_empty_strided
    """,
    unspecified=True,
)
declare("alpha_dropout dropout feature_alpha_dropout feature_dropout", drops=True)
declare(
    """
    _conj adjoint conj imag mH matrix_H real resolve_conj resolve_neg to.device to.dtype to.dtype_layout to.other
    view.dtype view_as_complex view_as_real
    """,
    reinterprets=True,
)
