"""Calls of operators whose result types are inferred and that `decompose` leaves as they are."""

from __future__ import annotations

from collections.abc import Iterator

import torch

import dev.torchvision_operators  # noqa: F401  (registers an operator)
from support.decompose_cases import A, Case, f, i, m, p

index = torch.tensor([[0, 1], [2, 0]])


def core() -> Iterator[Case]:
    yield from core_pointwise()
    yield from core_views()
    yield from core_reductions()
    yield from core_windows()
    yield from core_indexing()
    yield from core_backward()
    yield A.mm, f(2, 3), f(3, 4)
    yield A.bmm, f(5, 2, 3), f(5, 3, 4)
    yield A.addmm, f(4), f(2, 3), f(3, 4)
    yield A.addmm, f(2, 1), f(2, 3), f(3, 4), {"beta": 2}
    yield A._cdist_forward, f(2, 5, 3), f(4, 3), 2.0, None
    yield A._pdist_forward, f(5, 3), 2.0
    yield A.full, [2, 3], 1
    yield A.full, [2], 1.5
    yield A.full, [], True
    yield A.full, [2], 1.5, {"dtype": torch.int64}
    yield A.full_like, f(2, 3), 1
    yield A.full_like, i(2), 1.5, {"dtype": torch.float64}
    yield A.scalar_tensor, 3
    yield A.scalar_tensor, 3, {"dtype": torch.int64}
    yield A.empty.memory_format, [2, 3]
    yield A.empty_strided, [2, 3], [1, 2], {"dtype": torch.int64}
    yield A.new_empty_strided, f(3), [2, 3], [3, 1]
    yield A.combinations, f(4)
    yield A.combinations, f(4), 3, True
    yield A.combinations, f(2), 3
    yield A.arange.start_step, 0, 5, 2
    yield A.arange.start_step, 0, 1, 0.3
    yield A.arange.start_step, 5, 0, -2
    yield A.arange.start_step, 0.5, 3, 1, {"dtype": torch.int64}
    yield A.arange.start_step, 3, 3, 1
    yield A.rand, [2, 3]
    yield A.randn, [2], {"dtype": torch.float64}
    yield A.randperm, 4
    yield from core_random()
    yield from core_counting()
    yield from core_factorizations()
    yield A._softmax, f(2, 3), 1, False
    yield A._log_softmax, f(2, 3), 1, False
    yield A.native_layer_norm, f(2, 3, 4), [3, 4], f(3, 4), None, 1e-5
    yield A.native_layer_norm, f(2, 4, dtype=torch.bfloat16), [4], f(4), f(4), 1e-5
    yield A.native_group_norm, f(2, 6, 4), f(6), f(6), 2, 6, 4, 3, 1e-5
    yield A._native_batch_norm_legit_no_training, f(2, 3, 4), f(3), f(3), f(3), p(3), 0.1, 1e-5
    yield A._native_batch_norm_legit.no_stats, f(2, 3, 4), f(3), f(3), True, 0.1, 1e-5
    yield A._to_copy, f(2), {"dtype": torch.bool}
    yield A._fft_r2c, f(3, 8), [0, 1], 0, True
    yield A._fft_r2c, f(3, 8), [1], 0, False
    yield A._fft_c2r, f(3, 5, dtype=torch.complex64), [1], 0, 8
    yield A._fft_c2c, f(3, 5, dtype=torch.complex64), [1], 0, True
    yield A._local_scalar_dense, i()
    yield A._local_scalar_dense, f()
    yield A._local_scalar_dense, m()
    yield A.item, f(1)


def core_pointwise() -> Iterator[Case]:
    unary = (
        A.abs, A.atan, A.ceil, A.cos, A.cosh, A.erf, A.exp, A.expm1, A.floor, A.isinf, A.isnan, A.log, A.log10, A.log1p,
        A.log2, A.logical_not, A.neg, A.reciprocal, A.relu, A.round, A.rsqrt, A.sigmoid, A.sign, A.sin, A.sinh, A.sqrt,
        A.tan, A.tanh, A.trunc, A.acos, A.asin, A.asinh, A.atanh, A.acosh, A.clone, A.alias, A.alias_copy,
        A.detach_copy, A.lift_fresh_copy,
    )  # fmt: skip
    for op in unary:
        yield op, p(2, 3)
        yield op, i(3, low=1)
    for op in (A.gelu, A.elu, A.leaky_relu, A.hardtanh):
        yield op, f(2, 3)
    yield A.abs, f(2, dtype=torch.complex64)
    yield A.bitwise_not, m(2)
    for op in (A.add, A.sub, A.mul, A.div, A.fmod, A.remainder, A.eq, A.ne, A.lt, A.le, A.gt, A.ge):
        yield op.Tensor, f(2, 1), f(3)
        yield op.Tensor, i(2, 1, low=1), p(3)
        yield op.Scalar, i(3), 2.5
    for op in (A.bitwise_and, A.bitwise_or, A.bitwise_xor):
        yield op.Tensor, i(3), i(2, 1)
        yield op.Scalar, i(3), 1
    for op in (A.maximum, A.minimum, A.atan2, A.logical_and, A.logical_or, A.logical_xor):
        yield op, f(2, 1), f(3)
    yield A.div.Tensor_mode, i(3), i(3, low=1), {"rounding_mode": "floor"}
    yield A.div.Tensor_mode, i(3), i(3, low=1), {"rounding_mode": None}
    yield A.div.Scalar_mode, i(3), 2, {"rounding_mode": "trunc"}
    yield A.pow.Tensor_Tensor, p(3), f(3)
    yield A.pow.Tensor_Scalar, i(3), 2
    yield A.pow.Scalar, 2.0, i(3)
    yield A.clamp, f(3), 0, None
    yield A.clamp, i(3), None, 2.5
    yield A.clamp.Tensor, f(3), f(2, 1), None
    yield A.where.self, m(2, 1), f(3), i()
    yield A.copy, f(2), i(2)


def core_views() -> Iterator[Case]:
    x = f(2, 1, 3)
    yield A.view, x, [3, -1]
    yield A.view, f(0, 3), [0, 5]
    yield A.view_copy, x, [6]
    yield A.permute, x, [-1, 0, 1]
    yield A.permute_copy, x, [2, 0, 1]
    yield A.t_copy, f(2, 3)
    yield A.transpose_copy.int, x, 0, 2
    yield A.expand, x, [4, -1, 5, 3]
    yield A.expand_copy, x, [2, 5, 3]
    yield A.slice.Tensor, f(7, 2), 0, 1, -1, 2
    yield A.slice.Tensor, f(7, 2), 0, 5, 2
    yield A.slice.Tensor, f(7, 2), 1
    yield A.slice_copy.Tensor, f(7), 0, -3, 100
    yield A.select.int, x, -1, -2
    yield A.select_copy.int, x, 0, 1
    yield A.squeeze.dim, x, 1
    yield A.squeeze.dim, x, 0
    yield A.squeeze.dims, x, [0, 1]
    yield A.squeeze_copy, x
    yield A.squeeze_copy.dim, x, -2
    yield A.squeeze_copy.dims, x, [1]
    yield A.unsqueeze, x, -1
    yield A.unsqueeze_copy, x, 0
    yield A.diagonal, f(3, 4), 1
    yield A.diagonal_copy, f(3, 4, 5), -1, 2, 0
    yield A.as_strided, f(6), [2, 2], [3, 1]
    yield A.as_strided_copy, f(6), [2, 2], [3, 1], 1
    yield A._reshape_alias_copy, f(6), [2, 3], [3, 1]
    yield A.view_copy.dtype, f(2, 4), torch.int32
    yield A.view_copy.dtype, f(2, 4), torch.int64
    yield A.view_as_real_copy, f(2, dtype=torch.complex64)
    yield A.view_as_complex_copy, f(3, 2)
    yield A._conj_copy, f(2, dtype=torch.complex64)
    yield A._neg_view_copy, f(2)
    yield A.unfold_copy, f(2, 7), 1, 3, 2
    yield A.split_with_sizes, f(5, 2), [1, 4]
    yield A.split_with_sizes_copy, f(2, 5), [0, 5], 1
    yield A.split_copy.Tensor, f(5), 2
    yield A.unbind_copy.int, x, 2
    yield A.narrow_copy, f(5, 2), 0, 1, 3
    yield A.cat, [f(2, 3), f(1, 3)]
    yield A.cat, [f(2, 3), i(2, 1)], -1
    yield A.cat, [f(0), f(2, 3)]
    yield A.cat, [f(0), f(0)]
    yield A.repeat, f(2, 3), [4, 1, 2]
    yield A.flip, x, [0]
    yield A.sym_size.int, x, 1
    yield A.sym_stride.int, x, 1
    yield A.sym_numel, x
    yield A.sym_is_contiguous, x
    yield A.sym_storage_offset, x


def core_reductions() -> Iterator[Case]:
    for op in (A.sum.dim_IntList, A.mean.dim):
        yield op, f(2, 3), [1]
        yield op, f(2, 3), None, True
        yield op, f(2, 3), [0, -1], False, {"dtype": torch.float64}
    yield A.sum.dim_IntList, m(2, 3), []
    yield A.mean, f(2, 3)
    yield A.amax, f(2, 3), [0], True
    yield A.amin, i(2, 3)
    yield A.max.dim, f(2, 3), 1
    yield A.min.dim, i(2, 3), 0, True
    yield A.argmax, f(2, 3)
    yield A.argmin, f(2, 3), 1, True
    yield A.any, m(2)
    yield A.any.dim, f(2, 3), 1
    yield A.any.dim, i(2, 3, low=0, dtype=torch.uint8), 1
    yield A.any.dims, f(2, 3), [0, 1], True
    yield A.prod, i(3)
    yield A.prod.dim_int, f(2, 3), 1, True
    yield A.var.correction, f(2, 3), [1], {"correction": 0}
    yield A.var.dim, f(2, 3), [0], False
    yield A.cumsum, m(2, 3), 1
    yield A.cumsum, f(2, 3), 1, {"dtype": torch.float64}
    yield A.sort, f(2, 3)
    yield A.topk, f(2, 5), 2, 1
    yield A.topk, f(), 1


def core_windows() -> Iterator[Case]:
    yield A.convolution, f(2, 3, 7, 8), f(4, 3, 3, 3), f(4), [2, 1], [1, 0], [1, 2], False, [0, 0], 1
    yield A.convolution, f(2, 4, 5), f(4, 2, 3), None, [2], [1], [1], True, [1], 2
    yield A.convolution, f(1, 2, 5, 5, 5), f(3, 2, 2, 2, 2), None, [1], [0], [1], False, [0], 1
    yield A.avg_pool2d, f(2, 3, 7, 8), [3, 2], [2, 2], [1, 0], True
    yield A.avg_pool3d, f(1, 2, 5, 5, 5), [2, 2, 2]
    yield A.max_pool2d_with_indices, f(2, 3, 8, 8), [3, 3], [2, 2], [1, 1], [1, 1], True
    yield A.max_pool2d_with_indices, f(3, 6, 6), [2, 2], [2, 2], [1, 1], [1, 1], True
    yield A.max_pool3d_with_indices, f(1, 2, 5, 5, 5), [2, 2, 2]
    yield A._adaptive_avg_pool2d, f(2, 3, 7, 8), [3, 2]
    yield A._adaptive_avg_pool3d, f(2, 3, 7, 8, 2), [3, 2, 1]
    yield A.constant_pad_nd, f(2, 3), [1, -1, 0, 2], 1.0
    yield A.reflection_pad1d, f(2, 4), [1, 2]
    yield A.reflection_pad2d, f(2, 4, 4), [1, 2, 0, 1]
    yield A.reflection_pad3d, f(1, 2, 4, 4, 4), [1, 1, 1, 1, 1, 1]
    yield A.replication_pad2d, f(2, 4, 4), [1, 2, 0, 1]
    yield A.replication_pad3d, f(1, 2, 4, 4, 4), [1, 1, 1, 1, 1, 1]
    yield A.upsample_nearest2d.vec, f(1, 2, 3, 4), None, [2.0, 2.5]
    yield A.upsample_bilinear2d.vec, f(1, 2, 3, 4), [6, 6], True, None
    yield A.grid_sampler_2d, f(1, 2, 3, 4), f(1, 5, 6, 2), 0, 0, True
    yield A.col2im, f(1, 12, 6), [4, 4], [2, 3], [1, 1], [0, 0], [1, 1]


def core_backward() -> Iterator[Case]:
    image, every = f(1, 2, 4, 6), [True, True, True]
    yield A._adaptive_avg_pool2d_backward, f(1, 2, 2, 3), image
    yield A.avg_pool2d_backward, f(1, 2, 2, 3), image, [2, 2], [], [0, 0], False, True, None
    largest, places = A.max_pool2d_with_indices(image, [2, 2])
    yield A.max_pool2d_with_indices_backward, largest, image, [2, 2], [], [0, 0], [1, 1], False, places
    geometry = [1, 1], [0, 0], [1, 1], False, [0, 0], 1
    yield A.convolution_backward, f(1, 3, 2, 4), image, f(3, 2, 3, 3), [3], *geometry, every
    yield A.convolution_backward, f(1, 3, 2, 4), image, f(3, 2, 3, 3), None, *geometry, every
    yield A.embedding_dense_backward, f(3, 4), torch.tensor([0, 2, 1]), 5, -1, False
    statistics = f(2, 2), f(2, 2)
    yield A.native_group_norm_backward, f(2, 4, 3), f(2, 4, 3), *statistics, f(4), 2, 4, 3, 2, every
    yield A.native_layer_norm_backward, f(2, 3), f(2, 3), [3], f(2, 1), f(2, 1), f(3), f(3), every


def core_indexing() -> Iterator[Case]:
    yield A.embedding, f(5, 3), index
    row, offsets = torch.tensor([0, 1, 2, 0]), torch.tensor([0, 2, 4])
    for bag in (A._embedding_bag, A._embedding_bag_forward_only):
        for mode in (0, 1, 2):
            yield bag, f(5, 3), row, offsets, False, mode
            yield bag, f(5, 3), row, offsets, False, mode, False, None, True
            yield bag, f(5, 3).double(), row.int(), offsets.int(), False, mode, False, None, True
            yield bag, f(5, 3), row, offsets, False, mode, False, None, True, 1
            for kind in (torch.float16, torch.bfloat16):
                yield bag, f(5, 3).to(kind), row, offsets, False, mode, False, None, True
    yield A.gather, f(3, 4), 0, index
    yield A.index_select, f(3, 4), 1, torch.tensor([0, 2, 2])
    yield A.index_select, f(), 0, torch.tensor([0])
    yield A.index.Tensor, f(3, 4, 5), [None, index, None]
    yield A.index.Tensor, f(3, 4, 5), [index, None, torch.tensor([1, 0])]
    yield A.index.Tensor, f(3, 4, 5), [m(3, 4)]
    yield A.index.Tensor, f(3, 4), [torch.tensor([True, False, True]), torch.tensor([1, 2])]
    yield A.index_put, f(3, 4), [torch.tensor([0, 2])], f(4)
    yield A.scatter.src, f(3, 4), 0, index, f(2, 2)
    yield A.scatter.value, f(3, 4), 0, index, 1
    yield A.scatter_add, f(3, 4), 0, index, f(2, 2)
    yield A.scatter_reduce.two, f(3, 4), 0, index, f(2, 2), "sum"
    yield A.select_scatter, f(3, 4), f(4), 0, 1
    yield A.slice_scatter, f(3, 4), f(2, 4), 0, 1
    yield A.masked_scatter, f(3, 4), m(4), f(12)
    yield A.nonzero, f(3, 4)
    yield torch.ops.torchvision.nms, f(3, 4), f(3), 0.5
    yield A.repeat_interleave.Tensor, i(3, low=0)
    yield A.repeat_interleave.Tensor, torch.tensor([1, 3]), {"output_size": 4}


def others() -> Iterator[Case]:
    """Operators that neither Core ATen has nor `decompose` takes."""
    yield from other_pointwise()
    yield from other_reductions()
    yield from other_windows()
    yield from recurrent()
    yield A.vdot, f(3), f(3)
    yield A.bilinear, f(2, 3), f(2, 4), f(5, 3, 4)
    yield A.linalg_vecdot, f(2, 3), f(3)
    yield A.kron, f(2, 3), f(2)
    yield A.cross, f(2, 3), f(2, 3)
    yield A.linalg_cross, f(2, 3), f(1, 3)
    yield A.pdist, f(4, 3)
    yield A.cartesian_prod, [f(2), f(3)]
    yield A.cartesian_prod, [f(2)]
    yield A._scaled_dot_product_flash_attention_for_cpu, f(2, 4, 5, 8), f(2, 4, 6, 8), f(2, 4, 6, 8)
    for op in (A.linspace, A.logspace):
        yield op.Scalar_Tensor, 0, f(), 3
        yield op.Tensor_Scalar, f(), 1, 3
        yield op.Tensor_Tensor, f(), f(), 3, {"dtype": torch.float64}
    yield A.logspace, 0, 1, 4
    yield A.hann_window, 4
    yield A.hann_window.periodic, 4, False, {"dtype": torch.float64}
    yield A.rand_like, f(2)
    yield A.randn_like, f(2), {"dtype": torch.float64}
    yield A.diag_embed, f(2, 3), 1, 0, -1
    yield A.narrow.Tensor, f(5, 2), 0, i(low=0, high=2), 3
    yield A.unfold, f(2, 7), 1, 3, 2
    yield A.unfold, f(), 0, 1, 1
    yield A.view_as_real, f(2, dtype=torch.complex64)
    yield A.view_as_complex, f(3, 2)
    yield A.resize_as, f(6), f(2, 3)
    yield A.rot90, f(2, 3), 2
    for op in (A.hsplit, A.vsplit):
        yield op.array, f(4, 4, 4), [1, 3]
    yield A.dsplit.array, f(4, 4, 4), [1, 3]
    yield A.fft_fftshift, f(2, 3)
    yield A.fft_ifftshift, f(2, 3), [1]
    yield A.renorm, f(2, 3), 2, 0, 1.0
    yield A.size.int, f(2, 3), 1
    yield A.stride.int, f(2, 3), 1
    yield A.copy, f(2, 3), f(3)
    yield A._unsafe_masked_index, f(3, 4), m(2), [torch.tensor([0, 1]), torch.tensor([1, 2])], 0
    yield (
        A._unsafe_masked_index_put_accumulate,
        f(3, 4),
        m(2),
        [torch.tensor([0, 1]), torch.tensor([1, 2])],
        f(2),
    )
    yield A.diagonal_scatter, f(3, 4), f(3)
    yield A.index_reduce, f(3, 4), 0, torch.tensor([0, 1]), f(2, 4), "amax"
    yield A.scatter.reduce, f(3, 4), 0, index, f(2, 2), {"reduce": "add"}
    yield A.scatter.value_reduce, f(3, 4), 0, index, 2, {"reduce": "multiply"}
    yield A.masked_select, f(3, 4), m(4)
    yield A.argwhere, f(3, 4)
    yield A.repeat_interleave.self_Tensor, f(2, 3), torch.tensor([1, 2]), 0, {"output_size": 3}
    yield A.searchsorted.Tensor, p(4), p(2, 3)
    yield A.bucketize.Tensor, p(2, 3), p(4)
    yield A.isin.Scalar_Tensor, 2, i(4)
    yield A._fused_rms_norm, f(2, 3, 4), [4], f(4), 1e-5
    yield A._native_batch_norm_legit_no_training, f(0), f(0), f(0), f(0), p(0), 0.1, 1e-5
    yield A._native_batch_norm_legit_functional, f(2, 3, 4), f(3), f(3), f(3), p(3), True, 0.1, 1e-5
    yield A._native_batch_norm_legit_functional, f(2, 3, 4), f(3), f(3), f(3), p(3), False, 0.1, 1e-5
    yield A._safe_softmax, f(2, 3), 1


def other_pointwise() -> Iterator[Case]:
    unary = (
        A.angle, A.digamma, A.erfc, A.erfinv, A.i0, A.isreal, A.lgamma, A.signbit, A.special_digamma, A.special_erfc,
        A.special_erfinv, A.special_gammaln, A.special_i0, A.special_log_ndtr, A.special_ndtr, A.special_psi,
        A.conj_physical, A.special_bessel_j0, A.special_bessel_j1, A.special_bessel_y0, A.special_bessel_y1,
        A.special_airy_ai, A.special_erfcx, A.special_i0e, A.special_i1, A.special_i1e, A.special_modified_bessel_i0,
        A.special_modified_bessel_i1, A.special_modified_bessel_k0, A.special_modified_bessel_k1, A.special_ndtri,
        A.special_scaled_modified_bessel_k0, A.special_scaled_modified_bessel_k1, A.special_spherical_bessel_j0,
    )  # fmt: skip
    for op in unary:
        yield op, p(3)
        yield op, i(3, low=1)
    yield A.angle, f(2, dtype=torch.complex64)
    yield A._conj_physical, f(2, dtype=torch.complex64)
    yield A.round.decimals, f(3), {"decimals": 2}
    yield A.special_round, f(3)
    yield A.mvlgamma, p(3) + 3, 2
    yield A.special_multigammaln, p(3) + 3, 2
    yield A.special_polygamma, 1, p(3)
    yield A.bernoulli, p(3)
    yield A.bernoulli.p, f(3), 0.5
    yield A.log_sigmoid_forward, f(3)
    for op in (A.fmax, A.fmin, A.hypot, A.igamma, A.igammac, A.logaddexp2, A.nextafter, A.special_gammainc):
        yield op, p(2, 1), p(3)
    polynomials = (
        A.special_chebyshev_polynomial_t, A.special_chebyshev_polynomial_u, A.special_chebyshev_polynomial_v,
        A.special_chebyshev_polynomial_w, A.special_hermite_polynomial_h, A.special_hermite_polynomial_he,
        A.special_laguerre_polynomial_l, A.special_legendre_polynomial_p, A.special_shifted_chebyshev_polynomial_t,
        A.special_shifted_chebyshev_polynomial_u, A.special_shifted_chebyshev_polynomial_v,
        A.special_shifted_chebyshev_polynomial_w, A.special_zeta,
    )  # fmt: skip
    for op in polynomials:
        yield op, p(2, 1), i(3, low=1)
        yield op, i(3, low=1), i(2, 1, low=1)
    yield A.polygamma, 2, i(3, low=1)
    yield A.remainder.Scalar_Tensor, 2.5, i(3, low=1)
    yield A.ldexp.Tensor, f(2, 1), i(3)
    yield A.ldexp.Tensor, i(3), f(2, 1, dtype=torch.float64)
    yield A.ldexp.Tensor, f(3, dtype=torch.float16), i(3)
    yield A.frexp.Tensor, f(2, 3)
    yield A.special_gammaincc, p(3), p(3)
    for op in (A.gcd, A.lcm):
        yield op, i(3), i(2, 1)
    yield A.copysign.Tensor, i(3), f(3)
    yield A.copysign.Scalar, i(3), -1
    yield A.bitwise_left_shift.Tensor, i(3), i(3, low=0)
    yield A.bitwise_right_shift.Tensor, i(3), i(3, low=0)
    yield A.xlogy.Scalar_Other, i(3), 2
    yield A.xlogy.Scalar_Self, 2, i(3, low=1)
    yield A.special_xlogy.other_scalar, p(3), 2
    yield A.special_xlogy.self_scalar, 2, p(3)
    yield A.special_xlog1py, p(3), p(3)
    yield A.special_xlog1py.other_scalar, p(3), 2
    yield A.special_xlog1py.self_scalar, 2, p(3)
    for reduction in range(3):
        yield A.binary_cross_entropy, f(2, 3).sigmoid(), f(2, 3).sigmoid(), f(3), reduction
    for op in (A.mse_loss, A.l1_loss, A.smooth_l1_loss, A.huber_loss, A.soft_margin_loss):
        yield op, f(2, 3), f(2, 3)
        yield op, f(2, 3), f(2, 3), 0
    yield A.l1_loss, f(2, dtype=torch.complex64), f(2, dtype=torch.complex64)


def other_reductions() -> Iterator[Case]:
    for op in (A.median, A.nanmedian):
        yield op, f(2, 3)
        yield op.dim, f(2, 3), 1
    yield A.mode, f(2, 3), 0, True
    yield A.kthvalue, f(2, 3), 2
    yield A.cumprod, i(2, 3), 1
    yield A.cummax, f(2, 3), 1
    yield A.cummin, f(2, 3), 1
    yield A.logcumsumexp, f(2, 3), 1
    yield A.argsort.stable, f(2, 3), {"stable": True}
    yield A.sort.stable, f(2, 3), {"stable": True}
    yield A.diff, f(2, 5), 2, 1, f(2, 1)
    yield A.diff, f(5), 0
    yield A.sum_to_size, f(2, 3), [1, 3]
    yield A.sum_to_size, m(2, 3), [1, 1]
    for shape, size in (((2, 3), [2, 3]), ((2, 3), []), ((), []), ((1, 3), [3]), ((4, 1, 3), [1, 3])):
        yield A.sum_to_size, i(*shape, dtype=torch.int32), size


def other_windows() -> Iterator[Case]:
    yield A._convolution_mode, f(2, 3, 7), f(4, 3, 3), None, [1], "same", [1], 1
    yield A._convolution_mode, f(2, 3, 7), f(4, 3, 3), None, [2], "valid", [1], 1
    yield A.adaptive_max_pool3d, f(2, 3, 7, 8, 2), [3, 2, 1]
    yield A.segment_reduce, f(5, 2), "sum", {"lengths": torch.tensor([2, 3])}
    yield A.segment_reduce, f(2, 5, 3), "max", {"offsets": torch.tensor([[0, 2, 4, 5]] * 2), "axis": 1}
    yield A.linalg_eigvals, f(2, 3, 3)
    yield A.fractional_max_pool2d, f(2, 3, 7, 8), [2, 3], [3, 4], torch.rand(2, 3, 2)
    yield A.fractional_max_pool2d, f(3, 7, 8), [2, 3], [3, 4], torch.rand(1, 3, 2)
    yield A.fractional_max_pool3d, f(2, 3, 7, 8, 5), [2, 3, 2], [3, 4, 2], torch.rand(2, 3, 3)
    yield A._upsample_bilinear2d_aa, f(2, 3, 4, 4), [3, 6], False
    yield A._upsample_bicubic2d_aa, f(2, 3, 4, 4), [3, 6], True, 2.0, 1.5
    yield A.max_unpool2d, f(2, 3, 2, 2), torch.zeros(2, 3, 2, 2, dtype=torch.int64), [4, 4]
    yield (
        A.max_unpool3d,
        f(2, 1, 1, 1),
        torch.zeros(2, 1, 1, 1, dtype=torch.int64),
        [2, 2, 2],
        [2, 2, 2],
        [0, 0, 0],
    )
    yield A._pad_circular, f(2, 3, 4), [1, 2]
    yield A._pad_enum, f(2, 3, 4), [1, 2], 1
    for dims, kind in ((1, "linear"), (2, "bicubic"), (3, "trilinear")):
        x, size = f(1, 2, *(3,) * dims), [5] * dims
        yield getattr(A, f"upsample_{kind}{dims}d"), x, size, False
        yield getattr(A, f"upsample_{kind}{dims}d").vec, x, None, True, [2.0] * dims
        yield getattr(A, f"_upsample_nearest_exact{dims}d"), x, size
        yield getattr(A, f"_upsample_nearest_exact{dims}d").vec, x, None, [1.5] * dims
    yield A.upsample_nearest3d, f(1, 2, 3, 3, 3), [4, 5, 6]
    yield A.upsample_nearest3d.vec, f(1, 2, 3, 3, 3), [4, 5, 6], None
    for kind in ("bicubic", "bilinear", "lanczos"):
        yield getattr(A, f"_upsample_{kind}2d_aa").vec, f(1, 2, 3, 3), [4, 5], False, None
    yield A.grid_sampler_3d, f(1, 2, 3, 4, 5), f(1, 2, 2, 2, 3), 0, 0, True
    yield A.affine_grid_generator, f(2, 2, 3), [2, 1, 4, 5], True
    yield A.im2col, f(1, 2, 4, 5), [2, 3], [1, 1], [0, 1], [1, 2]


def recurrent() -> Iterator[Case]:
    x, h = f(5, 2, 3), f(1, 2, 4)

    def weights(gates: int) -> list[torch.Tensor]:
        return [f(gates * 4, 3), f(gates * 4, 4), f(gates * 4), f(gates * 4)]

    yield A.lstm.input, x, [h, h], weights(4), True, 1, 0.0, False, False, False
    yield A.gru.input, x, h, weights(3), True, 1, 0.0, False, False, False
    yield A.gru.input, x, torch.cat([h, h]), [*weights(3), *weights(3)], True, 1, 0.0, False, True, False
    yield A.rnn_relu.input, x, h, weights(1), True, 1, 0.0, False, False, False
    yield A.rnn_tanh.input, x, h, weights(1), True, 1, 0.0, False, False, False
    yield A.lstm_cell, x[0], [h[0], h[0]], *weights(4)
    yield A.gru_cell, x[0], h[0], *weights(3)
    yield A.rnn_relu_cell, x[0], h[0], *weights(1)
    yield A.rnn_tanh_cell, x[0], h[0], *weights(1)


def core_random() -> Iterator[Case]:
    yield A.randint, 9, [2, 3]
    yield A.randint.low, -3, 9, [2], {"dtype": torch.int32}
    yield A.randint_like, f(2, 3), 9
    yield A.randint_like.low_dtype, i(2), 1, 9, {"dtype": torch.float64}
    yield A.bernoulli.Tensor, f(2, 3), p(3)
    yield A._standard_gamma, p(2, 3)
    yield A.poisson, p(2, 3)
    yield A.cauchy, f(2)
    yield A.exponential, f(2, 3)
    yield A.geometric, f(2), 0.5
    yield A.log_normal, f(2)
    yield A.uniform, f(2, dtype=torch.float64)
    yield A.random, i(2)
    yield getattr(A.random, "from"), f(2), 1, 5
    yield A.random.to, f(2), 5
    yield A.normal.Tensor_float, f(2, 3)
    yield A.normal.float_Tensor, 0.5, p(2, 3)
    yield A.normal.Tensor_Tensor, f(2, 1), p(3)
    yield A.normal.float_float, 0.5, 1.0, [2, 3], {"dtype": torch.float64}
    yield A.binomial, p(2, 1) * 5, p(3)
    yield A.multinomial, p(4), 2
    yield A.multinomial, p(3, 4), 5, True


def core_counting() -> Iterator[Case]:
    yield A.histc, f(5)
    yield A.histc, f(5), 4, -1, 1
    yield A.histogram.bin_ct, f(2, 3), 4
    yield A.histogram.bins_tensor, f(5), torch.tensor([-1.0, 0, 1]), {"weight": p(5)}
    yield A.bincount, i(4).abs()
    yield A.bincount, i(4).abs(), f(4), 3
    yield A.bincount, i(4).abs(), f(4, dtype=torch.float64)
    yield A._unique2, i(2, 3)
    yield A._unique2, f(2, 3), True, True, True
    yield A.unique_consecutive, i(2, 3), True, False
    yield A.unique_consecutive, i(2, 3), True, True, 1
    yield A.unique_consecutive, i(3), False, False, 0
    yield A.unique_dim, i(2, 3), 1
    yield A.unique_dim_consecutive, i(2, 3), 0
    yield A.nonzero_static, i(2, 3), {"size": 4}


def core_factorizations() -> Iterator[Case]:
    a, tall, wide, b = f(2, 3, 3), f(2, 4, 3), f(3, 5), f(2, 3, 2)
    symmetric = a @ a.mT + torch.eye(3)
    complex64 = torch.complex64
    for matrix in (a, tall, wide, f(2, 2, dtype=complex64)):
        yield A.linalg_lu_factor_ex, matrix
        yield A.linalg_lu, matrix
        yield A.geqrf, matrix
        yield A.linalg_qr, matrix
        yield A._linalg_svd, matrix
    yield A.lu_unpack, *A.linalg_lu_factor_ex(tall)[:2]
    yield A.lu_unpack, *A.linalg_lu_factor_ex(wide)[:2], False, True
    yield A.linalg_lu_solve, *A.linalg_lu_factor_ex(a)[:2], b
    yield A.linalg_lu_solve, *A.linalg_lu_factor_ex(f(3, 3))[:2], f(2, 5, 3), {"left": False}
    yield A.linalg_inv_ex, a
    yield A._linalg_solve_ex, a, b
    yield A._linalg_solve_ex, a, f(2, 3)
    yield A._linalg_solve_ex, a, f(2, 5, 3), {"left": False}
    yield A._linalg_det, a
    yield A._linalg_slogdet, f(2, 2, dtype=complex64)
    yield A.linalg_solve_triangular, a, b, {"upper": True}
    yield A.linalg_solve_triangular, f(3, 3), f(2, 5, 3), {"upper": False, "left": False}
    yield A.triangular_solve, b, f(3, 3)
    if hasattr(A, "cholesky"):  # not from torch 2.14 on
        yield A.cholesky, symmetric
    yield A.linalg_cholesky_ex, symmetric
    yield A.cholesky_inverse, torch.linalg.cholesky(symmetric)
    yield A.cholesky_solve, b, torch.linalg.cholesky(symmetric)
    yield A.linalg_ldl_factor_ex, symmetric
    yield A.linalg_ldl_solve, *A.linalg_ldl_factor_ex(symmetric)[:2], b
    yield A.linalg_matrix_exp, a
    yield A.linalg_matrix_power, a, 3
    yield A.matrix_power, a, -2
    yield A.linalg_householder_product, *A.geqrf(tall)
    yield A.ormqr, *A.geqrf(tall), f(2, 4, 6)
    yield A.ormqr, *A.geqrf(tall), f(2, 6, 4), False
    yield A.linalg_qr, tall, "complete"
    yield A.linalg_qr, wide, "r"
    yield A._linalg_svd, tall, True
    yield A._linalg_svd, wide, False, False
    yield A._linalg_eigh, symmetric
    yield A._linalg_eigh, symmetric, "U", False
    yield A.linalg_eig, a
