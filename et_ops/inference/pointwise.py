"""Pointwise operators: broadcasting and type promotion."""

from __future__ import annotations

from et_ops.dtypes import (
    BOOL,
    C128,
    F64,
    I32,
    I64,
    DType,
    as_float,
    promote_categories,
    real_of,
)
from et_ops.inference.meta import UNKNOWN, Meta, Mismatch, Number, number_dtype, rule
from et_ops.inference.shapes import below, broadcast, known, numel, unlike, with_size, wrap_dim

__all__ = ["promoted"]

_MOST_TERMS = 1 << 24
_MOST_DECIMALS = 1000


def promoted(*operands: Meta | Number | None) -> DType:
    """The element type that operands promote to: tensors with dimensions, tensors without, then Python
    numbers.
    """
    dimensioned: list[DType] = []
    zero_dim: list[DType] = []
    numbers: list[DType] = []
    for operand in operands:
        if operand is None:
            continue
        if not isinstance(operand, Meta) or operand.wrapped:
            numbers.append(number_dtype(operand))
        elif operand.shape:
            dimensioned.append(operand.dtype)
        else:
            zero_dim.append(operand.dtype)
    found = promote_categories(dimensioned, zero_dim, numbers)
    if found is None:
        raise ValueError("no operands to infer an element type from")
    return found


def _shape(*operands: Meta | Number | None) -> tuple[int, ...]:
    return broadcast(*(operand.shape for operand in operands if isinstance(operand, Meta)))


@rule(
    """
    absolute alias alias_copy alpha_dropout bitwise_not ceil celu clone contiguous detach
    detach_copy dropout elu feature_alpha_dropout feature_dropout fix floor frac
    gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu lift_fresh_copy log_sigmoid mish
    nan_to_num neg negative positive relu relu6 round selu sgn sign silu softplus
    softshrink special_round threshold trunc zero _conj_copy _conj_physical _neg_view_copy conj_physical
    prelu _prelu_kernel rrelu bernoulli bernoulli.p data dim_order_ops._clone_dim_order
    _standard_gamma bernoulli.Tensor cauchy exponential geometric log_normal poisson random uniform
    normal.Tensor_float
    """
)
def same_as_self(self: Meta, *_: object) -> Meta:
    return Meta(self.shape, self.dtype)


@rule("round.decimals")
def round_decimals(self: Meta, decimals: int) -> Meta:
    # More is no power of ten in any type; in integers of Python, which torch's shape rule computes, it has no end.
    if decimals != UNKNOWN and abs(decimals) > _MOST_DECIMALS:
        raise Mismatch("decimals", f"a number from {-_MOST_DECIMALS} to {_MOST_DECIMALS}", decimals)
    return self


@rule("random.from")
def random_from(self: Meta, low: int, high: int | None, *_: object) -> Meta:
    most = 2**63 - 1 if high is None else high
    if UNKNOWN not in (low, most) and low >= most:
        raise Mismatch("from", f"a number below {most}", low)
    return self


@rule("random.to")
def random_to(self: Meta, high: int, *_: object) -> Meta:
    if high < 1 and high != UNKNOWN:
        raise Mismatch("to", "a positive number", high)
    return self


@rule("copy")
def copy(self: Meta, src: Meta, non_blocking: bool) -> Meta:
    if unlike(broadcast(self.shape, src.shape), self.shape):
        raise Mismatch("src", f"a shape that broadcasts to {list(self.shape)}", src)
    return self


@rule("abs")
def absolute(self: Meta) -> Meta:
    return Meta(self.shape, real_of(self.dtype))


@rule(
    """
    acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh cos cosh deg2rad
    digamma erf erfc erfinv exp exp2 expm1 i0 lgamma log log10 log1p log2 logit rad2deg
    reciprocal rsqrt sigmoid sin sinc sinh special_digamma special_entr special_erf special_erfc
    special_erfinv special_exp2 special_expit special_expm1 special_gammaln special_i0 special_log1p
    special_log_ndtr special_logit special_ndtr special_psi special_sinc sqrt tan
    tanh special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_erfcx
    special_i0e special_i1 special_i1e special_modified_bessel_i0 special_modified_bessel_i1
    special_modified_bessel_k0 special_modified_bessel_k1 special_ndtri special_scaled_modified_bessel_k0
    special_scaled_modified_bessel_k1 special_spherical_bessel_j0
    """
)
def float_unary(self: Meta, *_: object) -> Meta:
    dtype = as_float(self.dtype)
    return Meta(self.shape, dtype)


@rule("mvlgamma", "special_multigammaln")
def multivariate_gamma(self: Meta, p: int) -> Meta:
    """Torch adds up `p` terms of each element, after it has computed all of them."""
    count = numel(self.shape) or 0
    if p < 1 and p != UNKNOWN:
        raise Mismatch("p", "a positive number", p)
    if known(count) and below(_MOST_TERMS // max(count, 1) + 64, p):
        raise Mismatch("p", f"at most {_MOST_TERMS // max(count, 1) + 64} for {count} elements", p)
    return float_unary(self)


@rule("angle")
def angle(self: Meta) -> Meta:
    return Meta(self.shape, real_of(as_float(self.dtype)))


@rule("polygamma", "special_polygamma")
def polygamma(n: int, self: Meta) -> Meta:
    if n < 0 and n != UNKNOWN:
        raise Mismatch("n", "a non-negative order", n)
    return float_unary(self)


@rule("frexp.Tensor")
def frexp(self: Meta) -> tuple[Meta, Meta]:
    if not self.dtype.is_float:
        raise Mismatch("self", "a tensor of float type", self.dtype.torch_name)
    return self, Meta(self.shape, I32)


@rule(
    """
    isfinite isinf isnan isneginf isposinf isreal logical_not signbit
    """
)
def predicate(self: Meta) -> Meta:
    return Meta(self.shape, BOOL)


@rule("square")
def square(self: Meta) -> Meta:
    return Meta(self.shape, I64 if self.dtype is BOOL else self.dtype)


@rule(
    """
    __and__.Scalar __and__.Tensor __or__.Scalar __or__.Tensor __xor__.Scalar __xor__.Tensor
    __lshift__.Scalar __lshift__.Tensor __rshift__.Scalar __rshift__.Tensor add.Scalar add.Tensor
    bitwise_and.Scalar bitwise_and.Tensor bitwise_left_shift.Tensor bitwise_left_shift.Tensor_Scalar
    bitwise_or.Scalar bitwise_or.Tensor bitwise_right_shift.Tensor bitwise_right_shift.Tensor_Scalar
    bitwise_xor.Scalar bitwise_xor.Tensor floor_divide floor_divide.Scalar fmax fmin fmod.Scalar
    fmod.Tensor gcd hypot lcm logaddexp logaddexp2 max.other maximum min.other minimum mul.Scalar
    mul.Tensor multiply.Scalar multiply.Tensor nextafter remainder.Scalar remainder.Scalar_Tensor
    remainder.Tensor rsub.Scalar rsub.Tensor sub.Scalar sub.Tensor subtract.Scalar subtract.Tensor
    """
)
def arithmetic(self: Meta | Number, other: Meta | Number, *_: object) -> Meta:
    return Meta(_shape(self, other), promoted(self, other))


@rule("heaviside", "clamp_max", "clamp_max.Tensor", "clamp_min", "clamp_min.Tensor")
def binary(self: Meta, other: Meta | Number) -> Meta:
    return Meta(_shape(self, other), promoted(self, other))


@rule(
    """
    arctan2 atan2 copysign.Scalar copysign.Tensor div.Scalar div.Tensor divide.Scalar divide.Tensor
    igamma igammac ldexp.Tensor special_gammainc special_gammaincc special_xlog1py special_xlog1py.other_scalar
    special_xlog1py.self_scalar special_xlogy special_xlogy.other_scalar special_xlogy.self_scalar
    true_divide.Scalar true_divide.Tensor xlogy.Scalar_Other xlogy.Scalar_Self xlogy.Tensor special_zeta
    special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
    special_chebyshev_polynomial_w special_hermite_polynomial_h special_hermite_polynomial_he
    special_laguerre_polynomial_l special_legendre_polynomial_p special_shifted_chebyshev_polynomial_t
    special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v
    special_shifted_chebyshev_polynomial_w
    """
)
def float_binary(self: Meta | Number, other: Meta | Number) -> Meta:
    return Meta(_shape(self, other), as_float(promoted(self, other)))


@rule("div.Scalar_mode", "div.Tensor_mode", "divide.Scalar_mode", "divide.Tensor_mode")
def divide(self: Meta, other: Meta | Number, rounding_mode: str | None) -> Meta:
    return float_binary(self, other) if rounding_mode is None else arithmetic(self, other)


@rule("pow.Scalar pow.Tensor_Scalar pow.Tensor_Tensor")
def power(self: Meta | Number, exponent: Meta | Number) -> Meta | None:
    # Torch's kernels and its shape functions disagree on powers of booleans.
    dtype = promoted(self, exponent)
    return None if dtype is BOOL else Meta(_shape(self, exponent), dtype)


@rule("float_power.Scalar", "float_power.Tensor_Scalar", "float_power.Tensor_Tensor")
def float_power(self: Meta | Number, exponent: Meta | Number) -> Meta:
    return Meta(_shape(self, exponent), C128 if promoted(self, exponent).is_complex else F64)


@rule(
    """
    eq.Scalar eq.Tensor ge.Scalar ge.Tensor greater.Scalar greater.Tensor greater_equal.Scalar
    greater_equal.Tensor gt.Scalar gt.Tensor isclose le.Scalar le.Tensor less.Scalar less.Tensor
    less_equal.Scalar less_equal.Tensor logical_and logical_or logical_xor lt.Scalar lt.Tensor ne.Scalar
    ne.Tensor not_equal.Scalar not_equal.Tensor
    """
)
def comparison(self: Meta, other: Meta | Number, *_: object) -> Meta:
    return Meta(_shape(self, other), BOOL)


@rule("clamp", "clamp.Tensor", "clip", "clip.Tensor")
def clamp(self: Meta, min: Meta | Number | None, max: Meta | Number | None) -> Meta:
    return Meta(_shape(self, min, max), promoted(self, min, max))


@rule("where.self", "where.Scalar", "where.ScalarOther", "where.ScalarSelf")
def where(condition: Meta, self: Meta | Number, other: Meta | Number) -> Meta:
    return Meta(_shape(condition, self, other), promoted(self, other))


@rule("addcmul", "addcdiv")
def addcmul(self: Meta, tensor1: Meta, tensor2: Meta, value: Number) -> Meta:
    return Meta(_shape(self, tensor1, tensor2), promoted(self, tensor1, tensor2))


@rule("lerp.Scalar", "lerp.Tensor")
def lerp(self: Meta, end: Meta, weight: Meta | Number) -> Meta:
    return Meta(_shape(self, end, weight), self.dtype)


@rule("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(self: Meta, mask: Meta, value: Meta | Number) -> Meta:
    return Meta(_shape(self, mask), self.dtype)


@rule("isin.Tensor_Tensor", "isin.Tensor_Scalar")
def isin(elements: Meta, *_: object) -> Meta:
    return Meta(elements.shape, BOOL)


@rule("isin.Scalar_Tensor")
def isin_scalar(*_: object) -> Meta:
    return Meta((), BOOL)


@rule("native_dropout")
def native_dropout(input: Meta, p: float, train: bool | None) -> tuple[Meta, Meta]:
    if not 0 <= p <= 1:
        raise Mismatch("p", "a probability", p)
    return Meta(input.shape, input.dtype), Meta(input.shape, BOOL)


@rule("log_sigmoid_forward")
def log_sigmoid_forward(self: Meta) -> tuple[Meta, Meta]:
    # The buffer is empty on CUDA and of the input's shape on CPU.
    return Meta(self.shape, self.dtype), Meta(self.shape, self.dtype)


@rule("l1_loss")
def l1_loss(self: Meta, target: Meta, reduction: int) -> Meta:
    loss = pointwise_loss(self, target, reduction)
    return Meta(loss.shape, real_of(loss.dtype))


@rule("mse_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "kl_div")
def pointwise_loss(self: Meta, target: Meta, reduction: int, *_: object) -> Meta:
    shape = broadcast(self.shape, target.shape)
    return Meta(() if reduction else shape, promoted(self, target))


@rule("binary_cross_entropy")
def binary_cross_entropy(self: Meta, target: Meta, weight: Meta | None, reduction: int) -> Meta:
    if unlike(target.shape, self.shape):
        raise Mismatch("target", f"shape {list(self.shape)}", target)
    if weight is not None and unlike(broadcast(weight.shape, self.shape), self.shape):
        raise Mismatch("weight", f"a shape that broadcasts to {list(self.shape)}", weight)
    return Meta(() if reduction else self.shape, self.dtype)


@rule("glu")
def glu(self: Meta, dim: int) -> Meta:
    axis = wrap_dim(dim, self.rank)
    if not self.shape:
        raise Mismatch("self", "a dimension to halve", self)
    size = self.shape[axis]
    if known(size) and size % 2:
        raise ValueError(f"glu halves a dimension, but its size is {size}")
    return Meta(with_size(self.shape, axis, size // 2 if known(size) else UNKNOWN), self.dtype)
