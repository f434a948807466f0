"""Simulation of rounding to integers in graphs with observers.

Between `prepare_pt2e` and `convert_pt2e` an observer knows the scale of each value that is to be quantized. Operators
compute in floats, and observers that are switched on round what passes them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from heapq import heapify, heappop, heappush
from typing import Any, Final, cast

import torch
from torch.fx import GraphModule, Interpreter, Node
from torch.fx import node as fx_node
from torch.utils import _pytree as pytree

from et_ir.quantization.graphs import last_reads, order_of_use
from et_ir.quantization.rows import new_floats, slices_of_rows

__all__ = ["Rounding", "Values", "along_channels"]

_ELEMENTS: Final = 1 << 16
"""About how many numbers are rounded at a time, in the caches."""

Values = dict[Node, Any]
"""Values of a run by the nodes that compute them."""
_map_nodes: Final[Callable[[Any, Callable[[Node], Any]], Any]] = cast(Any, fx_node).map_arg


class Rounding(Interpreter):
    """Runs a graph with observers, and rounds what passes some of them."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.values: Values = {}
        self.rounded: frozenset[Node] = frozenset()
        self._nodes = order_of_use(module.graph)
        self._order = {node: number for number, node in enumerate(self._nodes)}
        self._last_reads = last_reads(self._nodes)
        self._rounding: dict[Node, Callable[[torch.Tensor], torch.Tensor]] = {}
        for node in module.graph.nodes:
            if node.op == "call_module":
                observer = module.get_submodule(str(node.target))
                if hasattr(observer, "calculate_qparams") or hasattr(observer, "is_dynamic"):
                    self._rounding[node] = _rounding_of(observer)
        self.observers = frozenset(self._rounding)
        """The nodes that observe a value."""
        self.shifts: dict[Node, torch.Tensor] = {}
        """What is added to the results of layers, `[channels]` each, if they are among the nodes to be rounded."""

    def run(self, *args: Any, **kwargs: Any) -> Any:
        self.values = {}
        return super().run(*args, **kwargs)

    def run_node(self, n: Node) -> Any:
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        self.values[n] = value = self._value(n, args, kwargs)
        return value

    def _value(self, node: Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if node in self._rounding:
            return self._rounding[node](args[0]) if node in self.rounded else args[0]
        schema: Any = getattr(node.target, "_schema", None)
        if schema is not None and schema.is_mutable:
            # Values are kept, and states of the module are those before the run.
            args, kwargs = pytree.tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
        call: Any = getattr(self, node.op)
        value = call(node.target, args, kwargs)
        is_shifted = node in self.shifts and node in self.rounded
        return value + along_channels(self.shifts[node], args[1]) if is_shifted else value

    def value_of(self, node: Node, values: Values, rounded: frozenset[Node]) -> Any:
        """The value of a node, from those that it reads."""
        self.rounded = rounded
        return self._value(node, *_map_nodes((node.args, node.kwargs), values.__getitem__))

    def changed(
        self, exact: Values, rounded: frozenset[Node], stops: Container[Node]
    ) -> Iterator[tuple[Node, Any]]:
        """The values that differ from those without rounding, up to the observers where errors stop, in their order.

        Each is kept until what it changes has been computed.
        """
        self.rounded = rounded
        found: Values = {}

        def given(one: Node) -> Any:
            return found[one] if one in found and one not in stops else exact[one]

        pending = [self._order[node] for node in rounded if node in self._order]
        seen = set(pending)
        heapify(pending)
        while pending:
            node = self._nodes[heappop(pending)]
            args, kwargs = _map_nodes((node.args, node.kwargs), given)
            found[node] = value = self._value(node, args, kwargs)
            del args, kwargs
            yield node, value
            del value
            for one in self._last_reads[node]:
                found.pop(one, None)
            if node in stops or not node.users:
                del found[node]
                continue
            for user in node.users:
                place = self._order[user]
                if place not in seen:
                    seen.add(place)
                    heappush(pending, place)


def along_channels(numbers: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Numbers `[channels]` to be added to the results of a layer, with the dimensions behind that of its channels."""
    return numbers.reshape(-1, *[1] * (weight.dim() - 2))


def _rounded_rows(value: torch.Tensor, scale: torch.Tensor, least: int, most: int) -> torch.Tensor:
    """`fake_quantize_per_channel_affine` of rows without zero points, which takes several times as long."""
    scale = scale.reshape(-1, *[1] * (value.dim() - 1))
    inverse = 1 / scale
    found = new_floats(torch.float32, value.shape)
    for rows in slices_of_rows(value.shape, _ELEMENTS):
        part = torch.mul(value[rows], inverse[rows], out=found[rows])
        part.round_().clamp_(least, most).mul_(scale[rows])
    return found


def _rounding_of(observer: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    """The rounding of a value to the integers that an observer has chosen, and back."""
    least, most = observer.quant_min, observer.quant_max
    if getattr(observer, "is_dynamic", False):

        def of_run(value: torch.Tensor) -> torch.Tensor:
            low, high = value.amin().clamp(max=0), value.amax().clamp(min=0)
            scale = ((high - low) / (most - least)).clamp(min=1e-12)
            zero = (least - torch.round(low / scale)).clamp(least, most).int()
            return torch.fake_quantize_per_tensor_affine(value, scale, zero, least, most)

        return of_run
    scale, zero = observer.calculate_qparams()
    scale, zero = scale.float(), zero.int()
    axis = getattr(observer, "ch_axis", None)
    if scale.numel() > 1 and axis == 0 and not zero.any():
        return lambda value: _rounded_rows(value, scale, least, most)
    if scale.numel() > 1 and axis is not None:
        return lambda value: torch.fake_quantize_per_channel_affine(value, scale, zero, axis, least, most)
    return lambda value: torch.fake_quantize_per_tensor_affine(
        value, scale.reshape(()), zero.reshape(()), least, most
    )
