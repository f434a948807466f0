"""Quantized graphs of torch in double precision: what they say of real numbers, to compare runtimes with."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["DoublePrecision", "in_double_precision"]

Q: Any = torch.ops.quantized_decomposed


class DoublePrecision(torch.fx.Interpreter):
    """Runs a graph between quantize and dequantize operations of one scale, or one for each channel, in f64.

    `ties` has, for each tensor that is quantized with one scale, how far from a tie its numbers are, in steps.
    """

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.ties: list[torch.Tensor] = []

    def fetch_attr(self, target: str) -> Any:
        value = super().fetch_attr(target)
        return value.double() if torch.is_tensor(value) and value.is_floating_point() else value

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target is Q.quantize_per_tensor.default:
            x, scale, zero_point, least, most, dtype = args
            steps = x / scale
            self.ties.append((steps - torch.floor(steps) - 0.5).abs())
            return (torch.round(steps) + zero_point).clamp(least, most).to(dtype)
        if target is Q.dequantize_per_tensor.default:
            return (args[0].double() - args[2]) * args[1]
        if target is Q.dequantize_per_channel.default:
            x, scales, zero_points, axis = args[:4]
            shape = [-1 if at == axis else 1 for at in range(x.dim())]
            return (x.double() - zero_points.double().reshape(shape)) * scales.double().reshape(shape)
        found = super().call_function(target, args, kwargs)
        # What is made in the graph, such as zeros.
        is_float = torch.is_tensor(found) and found.dtype == torch.float32
        return found.double() if is_float else found


def in_double_precision(program: torch.export.ExportedProgram, *inputs: torch.Tensor) -> torch.Tensor:
    """The first result of a program, f64."""
    graph: Any = program.module()
    doubles = [one.double() if one.is_floating_point() else one for one in inputs]
    with torch.no_grad():
        found = DoublePrecision(graph).run(*doubles)
    return found[0] if isinstance(found, tuple | list) else found
