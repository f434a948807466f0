"""Quantized graphs of torch in double precision: what they say of real numbers, to compare runtimes with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch

__all__ = ["DoublePrecision", "in_double_precision"]

Q: Any = torch.ops.quantized_decomposed


_PRODUCTS = (torch.ops.aten.conv2d, torch.ops.aten.convolution, torch.ops.aten.linear)


class DoublePrecision(torch.fx.Interpreter):
    """Runs a graph between quantize and dequantize operations of one scale, or one for each channel, in f64.

    `ties` has, for each tensor that is quantized with one scale, how far from a tie its numbers are, in steps.
    """

    def __init__(
        self, module: Any, given: Sequence[torch.Tensor] = (), *, integer_biases: bool = False
    ) -> None:
        """With `given`, the integers of each such tensor, they are what the program goes on with, so that each tensor
        follows from those before it, and `errors` has how far each is from what follows, in steps. With
        `integer_biases`, those of products are multiples of the product of the scales.
        """
        # Scales of weights are read again where biases are.
        super().__init__(module, garbage_collect_values=not integer_biases)
        self.ties: list[torch.Tensor] = []
        self.errors: list[torch.Tensor] = []
        self._given = iter(given)
        self._integer_biases = integer_biases

    def run_node(self, n: torch.fx.Node) -> Any:
        if not self._integer_biases or getattr(n.target, "overloadpacket", None) not in _PRODUCTS:
            return super().run_node(n)
        x, weight, *others = n.args
        bias = others[0] if others else None
        if not (isinstance(x, torch.fx.Node) and isinstance(weight, torch.fx.Node) and bias is not None):
            return super().run_node(n)
        if (
            x.target is not Q.dequantize_per_tensor.default
            or weight.target is not Q.dequantize_per_channel.default
        ):
            return super().run_node(n)
        _, scales = self.fetch_args_kwargs_from_env(weight)[0][:2]
        # In f32, with the inverse, as compilers for XNNPACK round them.
        inverse = torch.reciprocal(scales.float() * torch.tensor(x.args[1], dtype=torch.float32))
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        bias = torch.round(args[2].float() * inverse).double() * (scales.double() * x.args[1])
        return self.call_function(n.target, (*args[:2], bias, *args[3:]), kwargs)

    def fetch_attr(self, target: str) -> Any:
        value = super().fetch_attr(target)
        return value.double() if torch.is_tensor(value) and value.is_floating_point() else value

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target is Q.quantize_per_tensor.default:
            x, scale, zero_point, least, most, dtype = args
            steps = x / scale
            self.ties.append((steps - torch.floor(steps) - 0.5).abs())
            found = (torch.round(steps) + zero_point).clamp(least, most).to(dtype)
            given = next(self._given, None)
            if given is None:
                return found
            self.errors.append((given.double() - found.double()).abs())
            return given
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
    return cast("torch.Tensor", found[0] if isinstance(found, tuple | list) else found)
