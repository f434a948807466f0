"""Known wrong results of kernels of the stock runtime (executorch 1.5.1).

`test_stock_faults.py` proves each entry: a program with that one kernel gives on the stock runtime what the entry's
model gives on the VM, which is not what torch gives. The sweep counts a wrong result of the stock runtime as a fault
of its own where models of these kernels, in the same file, give that result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from stock_models import (
    Model,
    added_to_what_was_there,
    bytes_summed_in_bytes,
    in_single,
    in_single_over_one,
    modelled,
    power_in_double,
)

from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable import register
from et_vm.kernels.registry import KernelRegistry

aten: Any = torch.ops.aten

DOUBLE = (ScalarType.DOUBLE,)
BYTE = (ScalarType.BYTE,)
INTEGERS = (ScalarType.BYTE, ScalarType.CHAR, ScalarType.SHORT, ScalarType.INT, ScalarType.LONG)
FLOATS = (ScalarType.HALF, ScalarType.BFLOAT16, ScalarType.FLOAT, ScalarType.DOUBLE)


@dataclass(frozen=True)
class Fault:
    """A kernel that does not compute what torch computes, for some element types."""

    operator: str
    types: tuple[ScalarType, ...]
    does: str
    torch_does: str
    model: Model
    inputs: Callable[[torch.dtype], Sequence[torch.Tensor]]
    """Inputs, of the given type, of `program`."""
    program: Callable[..., torch.Tensor]
    """A function of tensors whose file has the kernel, and no other fault."""
    avoided: str = ""
    """The compiler's message instead of the kernel's failure, where it has one."""


def _random(*shape: int) -> Callable[[torch.dtype], list[torch.Tensor]]:
    def make(dtype: torch.dtype) -> list[torch.Tensor]:
        return [torch.rand(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(dtype)]

    return make


def _image(dtype: torch.dtype) -> list[torch.Tensor]:
    (image,) = _random(1, 2, 5, 7)(torch.float64)
    return [image.mul(100).to(dtype)]


def _image_and_places(dtype: torch.dtype) -> list[torch.Tensor]:
    (places,) = _random(1, 4, 6, 2)(torch.float64)
    # In a wide image the place between two pixels is what float16 has few digits left for.
    return [*_random(1, 1, 3, 200)(dtype), places.mul(2).sub(1).to(dtype)]


def _powers(dtype: torch.dtype) -> list[torch.Tensor]:
    return [torch.tensor([3, 7, 5, 2], dtype=dtype), torch.tensor([41, 30, 3, 100], dtype=dtype)]


def _pooled_back(image: torch.Tensor) -> torch.Tensor:
    """The gradient of maxima, for which the memory plan has the bytes of the maxima, which nobody needs any more."""
    values, places = aten.max_pool2d_with_indices(image, [2, 2], [2, 2])
    gradient = torch.ones_like(values)
    return aten.max_pool2d_with_indices_backward(
        gradient, image, [2, 2], [2, 2], [0, 0], [1, 1], False, places
    )


FAULTS = (
    Fault(
        "aten::sum.IntList_out",
        DOUBLE,
        "adds up over one dimension in float32",
        "adds in float64",
        in_single_over_one,
        _random(3, 50),
        lambda x: x.sum(1),
        "two dimensions, one of them of one element",
    ),
    Fault(
        "aten::native_layer_norm.out",
        DOUBLE,
        "computes mean and variance in float32",
        "computes in float64",
        in_single,
        _random(3, 50),
        lambda x: torch.nn.functional.layer_norm(x, [50]),
        "the formula, in float64",
    ),
    Fault(
        "aten::native_group_norm.out",
        DOUBLE,
        "computes mean and variance in float32",
        "computes in float64",
        in_single,
        _random(2, 4, 9),
        lambda x: torch.nn.functional.group_norm(x, 2),
        "the formula, in float64",
    ),
    Fault(
        "aten::_adaptive_avg_pool2d.out",
        DOUBLE,
        "computes in float32",
        "computes in float64",
        in_single,
        _random(1, 2, 5, 7),
        lambda x: torch.nn.functional.adaptive_avg_pool2d(x, (2, 3)),
        "sums over windows, divided",
    ),
    Fault(
        "aten::upsample_bilinear2d.vec_out",
        DOUBLE,
        "computes weights in float32",
        "computes in float64",
        in_single,
        _random(1, 2, 5, 7),
        lambda x: aten.upsample_bilinear2d.vec(x, [3, 3], False, None),
    ),
    Fault(
        "aten::upsample_bilinear2d.vec_out",
        BYTE,
        "drops what is behind the point",
        "rounds to the nearest",
        in_single,
        _image,
        lambda x: aten.upsample_bilinear2d.vec(x, [3, 3], False, None),
    ),
    Fault(
        "aten::_upsample_bilinear2d_aa.out",
        DOUBLE,
        "computes weights in float32",
        "computes in float64",
        in_single,
        _random(1, 2, 5, 7),
        lambda x: aten._upsample_bilinear2d_aa(x, [3, 3], False),
    ),
    Fault(
        "aten::_upsample_bilinear2d_aa.out",
        BYTE,
        "adds up the terms in uint8",
        "computes in fixed point and rounds at the end",
        bytes_summed_in_bytes,
        _image,
        lambda x: aten._upsample_bilinear2d_aa(x, [3, 3], False),
    ),
    Fault(
        "aten::grid_sampler_2d.out",
        (ScalarType.HALF, ScalarType.BFLOAT16),
        "computes in float32 and rounds once",
        "rounds each step to the type of the image",
        in_single,
        _image_and_places,
        lambda x, places: aten.grid_sampler_2d(x, places, 0, 0, False),
    ),
    *(
        Fault(
            f"aten::pow.{overload}",
            INTEGERS,
            "computes in float64, and has the least number of the type, or 0, for what does not fit",
            "multiplies modulo the range of the type",
            power_in_double,
            _powers,
            program,
            avoided,
        )
        for overload, program, avoided in (
            ("Tensor_Tensor_out", lambda x, y: x**y, ""),
            ("Tensor_Scalar_out", lambda x, y: aten.pow.Tensor_Scalar(x, 41) + y, "products"),
            ("Scalar_out", lambda x, y: aten.pow.Scalar(7, y) + x, ""),
        )
    ),
    Fault(
        "aten::max_pool2d_with_indices_backward.grad_input",
        FLOATS,
        "adds to whatever was in the bytes of grad_input",
        "starts at zero",
        added_to_what_was_there,
        _random(1, 2, 4, 6),
        _pooled_back,
        "`scatter_add` to zeros",
    ),
)


def stock_kernels(seen: set[str]) -> KernelRegistry:
    """The portable kernels, with the models of faults in place of the right ones; `seen` gets the operators whose
    faults had a part in what was computed.
    """
    right = KernelRegistry([register])
    wrong = KernelRegistry()
    models: dict[str, dict[ScalarType, Model]] = {}
    for fault in FAULTS:
        models.setdefault(fault.operator, {}).update(dict.fromkeys(fault.types, fault.model))
    for name in right.names():
        if name in models:
            wrong.register(name, modelled(name, models[name], seen))
        else:
            wrong.register_lazy(name, lambda name=name: _found(right, name))
    return wrong


def _found(kernels: KernelRegistry, name: str) -> Any:
    prepare = kernels.lookup(name, ())
    assert prepare is not None
    return prepare
