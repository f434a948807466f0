"""Table of C kernels by operator and element types.

A kernel takes tensors of any dim order and shape. The dim orders in kernel keys restrict which calls are accepted; they
do not select among kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from et_schema.scalar_type import ScalarType
from et_vm.kernels.libraries import load_library
from et_vm.kernels.registry import parameters_of
from et_vm.micro.keys import KernelKey
from et_vm.micro.tables import kind_mask

__all__ = ["KERNELS", "Kernel", "parameter_masks", "type_masks"]

_F32: Final = frozenset({ScalarType.FLOAT})
_I8: Final = frozenset({ScalarType.CHAR})
_SCALES: Final = frozenset({ScalarType.FLOAT, ScalarType.DOUBLE})
_BIASES: Final = frozenset({ScalarType.FLOAT, ScalarType.INT})
_MOVED: Final = frozenset(kind for kind in ScalarType if not kind.is_complex)
"""Types whose elements are moved as they are."""


class Kernel(NamedTuple):
    """A function of the runtime in C, `et_NAME`, compiled where `ET_KERNEL_NAME` is defined."""

    operator: str
    name: str
    types: tuple[frozenset[ScalarType], ...]
    """Element types of the tensors that it takes by parameter; the last stands for all that follow."""
    uniform: bool = False
    """Whether all tensors of a call have to have one element type."""
    group: str = ""
    """A macro that the functions it shares with others need."""
    optional: int = -1
    """Which of the tensors may be missing."""
    in_place: bool = False
    """Whether the result may be written over an argument of the same type and layout. Other calls whose arguments have
    memory in common with the result are refused."""

    def types_of(self, at: int) -> frozenset[ScalarType]:
        """The element types of tensor `at`."""
        return self.types[min(at, len(self.types) - 1)]

    def takes(self, key: KernelKey) -> bool:
        """Whether the kernel supports calls with such tensors."""
        kinds = [kind for kind, _ in key]
        if self.uniform and len(set(kinds)) > 1:
            return False
        if all(kind in self.types_of(at) for at, kind in enumerate(kinds)):
            return True
        # Without the one that may be missing.
        return self.optional >= 0 and all(
            kind in self.types_of(at + (at >= self.optional)) for at, kind in enumerate(kinds)
        )


_TENSOR: Final = kind_mask(frozenset({"Tensor"}))


def _float(operator: str, name: str) -> Kernel:
    return Kernel(operator, name, (_F32,))


def _elementwise(operator: str, name: str) -> Kernel:
    return Kernel(operator, name, (_F32,), in_place=True)


def _moving(operator: str, name: str) -> Kernel:
    return Kernel(operator, name, (_MOVED,), uniform=True, group="MOVEMENT")


def _integer(operator: str, name: str) -> Kernel:
    return Kernel(operator, name, (_I8,), group="INTEGER")


def _layer(operator: str, name: str) -> Kernel:
    """Input, weight, scales, and a bias that may be missing."""
    return Kernel(operator, name, (_I8, _I8, _SCALES, _BIASES, _I8), group="INTEGER", optional=3)


KERNELS: Final[tuple[Kernel, ...]] = (
    _elementwise("aten::add.out", "add_f32"),
    _elementwise("aten::sub.out", "sub_f32"),
    _elementwise("aten::mul.out", "mul_f32"),
    _elementwise("aten::div.out", "div_f32"),
    _elementwise("aten::maximum.out", "maximum_f32"),
    _elementwise("aten::minimum.out", "minimum_f32"),
    _elementwise("aten::add.Scalar_out", "add_scalar_f32"),
    _elementwise("aten::mul.Scalar_out", "mul_scalar_f32"),
    _elementwise("aten::relu.out", "relu_f32"),
    _elementwise("aten::sigmoid.out", "sigmoid_f32"),
    _elementwise("aten::hardtanh.out", "hardtanh_f32"),
    _float("aten::mm.out", "mm_f32"),
    _float("aten::bmm.out", "bmm_f32"),
    _float("aten::addmm.out", "addmm_f32"),
    _float("aten::convolution.out", "convolution_f32"),
    _elementwise("aten::_softmax.out", "softmax_f32"),
    _float("aten::mean.out", "mean_f32"),
    _float("aten::constant_pad_nd.out", "constant_pad_f32")._replace(group="MOVEMENT"),
    _moving("aten::permute_copy.out", "permute_copy"),
    _moving("aten::view_copy.out", "view_copy")._replace(in_place=True),
    _moving("aten::slice_copy.Tensor_out", "slice_copy"),
    _moving("aten::as_strided_copy.out", "as_strided_copy"),
    _moving("aten::cat.out", "cat"),
    Kernel("quantized_decomposed::quantize_per_tensor.out", "quantize", (_F32, _I8)),
    Kernel("quantized_decomposed::dequantize_per_tensor.out", "dequantize", (_I8, _F32)),
    _layer("integer::linear.out", "integer_linear"),
    _layer("integer::convolution.out", "integer_convolution"),
    _integer("integer::max_pool2d.out", "integer_max_pool2d"),
    _integer("integer::avg_pool2d.out", "integer_avg_pool2d"),
    _integer("integer::mean.dim_out", "integer_mean"),
    Kernel("integer::lookup.out", "integer_lookup", (_I8,)),
    _integer("integer::add.out", "integer_add")._replace(in_place=True),
    _integer("integer::mul.out", "integer_mul")._replace(in_place=True),
)
"""All of them."""


def parameter_masks(operator: str) -> Sequence[int]:
    """The kinds that each parameter of an operator takes, the outputs last, as `et_vm` declares them."""
    prepare = load_library("portable").registered(operator)
    params = None if prepare is None else parameters_of(prepare)
    assert params is not None, f"{operator} has no kernel here that says what it takes"
    return [kind_mask(one.kinds) for one in params]


def type_masks(kernel: Kernel) -> Sequence[int]:
    """The element types that each parameter takes, as bits by their numbers; 0 for those that are no tensors."""
    masks: list[int] = []
    tensors = 0
    for kinds in parameter_masks(kernel.operator):
        mask = 0
        if kinds & _TENSOR:
            mask = sum(1 << kind for kind in kernel.types_of(tensors))
            tensors += 1
        masks.append(mask)
    return masks
