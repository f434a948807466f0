"""Quantization specifications of activations, weights and biases.

They have the names of ExecuTorch's quantizers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import torch
from torchao.quantization.pt2e import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PlaceholderObserver,
)
from torchao.quantization.pt2e.quantizer import QuantizationSpec

from et_ir.quantization.observers import HistogramObserver, PerChannelMinMaxObserver

__all__ = ["QuantizationConfig", "get_symmetric_quantization_config"]

_LEAST_SCALE: Final = 2**-12
"""Scales are at least this: XNNPACK's requantization takes no smaller quotients."""


@dataclass(frozen=True)
class QuantizationConfig:
    """Quantization of values; `None` leaves them in floats."""

    input_activation: QuantizationSpec | None
    """Of the operands that are computed."""
    output_activation: QuantizationSpec | None
    """Of results. Without it, what layers read is rounded, and nothing else."""
    weight: QuantizationSpec | None
    """Of constant operands of layers."""
    bias: QuantizationSpec | None
    """Of what layers add."""
    is_qat: bool = False
    """Whether the module is trained with quantized values."""
    clamps: bool = False
    """Whether a clamp behind a layer, a sum or a product, as of ReLU6, is computed together with it, as ReLU always is:
    their result alone is rounded. ExecuTorch's quantizers round before the clamp, too; without it, scales are also
    shared by the same operators as there, in place of all that move elements."""

    @property
    def is_dynamic(self) -> bool:
        """Whether scales of activations are computed at run time."""
        return self.input_activation is not None and bool(self.input_activation.is_dynamic)

    def with_channels_in(self, axis: int) -> QuantizationConfig:
        """The same for a layer whose weight has its output channels in another dimension."""
        spec = self.weight
        if spec is None or spec.ch_axis in (None, axis):
            return self
        return replace(self, weight=replace(spec, ch_axis=axis))


def get_symmetric_quantization_config(
    is_per_channel: bool = False,
    is_qat: bool = False,
    is_dynamic: bool = False,
    act_qmin: int = -128,
    act_qmax: int = 127,
    weight_qmin: int = -127,
    weight_qmax: int = 127,
) -> QuantizationConfig:
    """Activations of 8 bits with one scale and zero point, and symmetric weights of 8 bits; biases stay floats.

    `is_per_channel`: a scale for each output channel of a weight. `is_qat`: fake quantization for training.
    `is_dynamic`: scales of activations are computed at run time. The other arguments are the limits of the integers;
    those of 4 bits are -8 and 7.
    """
    activation = _activation(is_qat=is_qat, is_dynamic=is_dynamic, limits=(act_qmin, act_qmax))
    return QuantizationConfig(
        activation,
        None if is_dynamic else activation,
        _weight(is_per_channel=is_per_channel, is_qat=is_qat, limits=(weight_qmin, weight_qmax)),
        None,
        is_qat,
    )


def _activation(*, is_qat: bool, is_dynamic: bool, limits: tuple[int, int]) -> QuantizationSpec:
    least, most = limits
    arguments: dict[str, Any] = {"eps": _LEAST_SCALE}
    observer: Any
    average: Any = MovingAverageMinMaxObserver
    if is_qat and is_dynamic:
        observer = FakeQuantize
        # The average over one batch is that of the batch alone.
        arguments |= {"observer": average.with_args(averaging_constant=1)}
    elif is_qat:
        observer = FusedMovingAvgObsFakeQuantize
    else:
        observer = PlaceholderObserver if is_dynamic else HistogramObserver
    return QuantizationSpec(
        dtype=torch.int8,
        quant_min=least,
        quant_max=most,
        qscheme=torch.per_tensor_affine,
        is_dynamic=is_dynamic,
        observer_or_fake_quant_ctr=observer.with_args(**arguments),
    )


def _weight(*, is_per_channel: bool, is_qat: bool, limits: tuple[int, int]) -> QuantizationSpec:
    least, most = limits
    arguments: dict[str, Any] = {"eps": _LEAST_SCALE}
    observer: Any = PerChannelMinMaxObserver if is_per_channel else MinMaxObserver
    if is_qat:
        observer = FusedMovingAvgObsFakeQuantize
        arguments["observer"] = (
            MovingAveragePerChannelMinMaxObserver if is_per_channel else MovingAverageMinMaxObserver
        )
    return QuantizationSpec(
        dtype=torch.int8,
        quant_min=least,
        quant_max=most,
        qscheme=torch.per_channel_symmetric if is_per_channel else torch.per_tensor_symmetric,
        ch_axis=0 if is_per_channel else None,
        observer_or_fake_quant_ctr=observer.with_args(**arguments),
    )
