"""Layers in integers beside those in floats: bytes of weights, and noise of weights and outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import inf, log10
from operator import getitem
from typing import Any, Final

import torch
from torch.fx import GraphModule, Interpreter, Node

from et_ir.frontend.sources import node_module_path
from et_ir.quantization.graphs import (
    BATCH_NORMS,
    flat_inputs,
    kept_state,
    last_reads,
    order_of_use,
    tensor_of,
)
from et_ir.quantization.rows import rowwise, slices_of_rows

__all__ = ["WEIGHTS", "Layer", "Noise", "compare_layers", "first_undefined"]

_aten: Final[Any] = torch.ops.aten
WEIGHTS: Final[dict[object, int]] = {
    _aten.conv1d.default: 1,
    _aten.conv2d.default: 1,
    _aten.conv2d.padding: 1,
    _aten.convolution.default: 1,
    _aten.conv_transpose1d.default: 1,
    _aten.conv_transpose2d.input: 1,
    _aten.embedding.default: 0,
    _aten.linear.default: 1,
}
"""The operators of layers, and which argument is their weight."""

_Visit = Callable[[torch.Tensor], None]
_Key = tuple[str, int]
"""The path of a module, and which of its calls."""


@dataclass(frozen=True)
class Layer:
    """A layer before and after quantization."""

    name: str
    """The path of its module."""
    operator: str
    """Without its overload, as `conv2d`."""
    bytes_before: int
    """Of the weight."""
    bytes_after: int
    """Of the integers and their scales; equal to `bytes_before` where the layer stays in floats."""
    weight_sqnr: float
    """Of the weight, in dB; infinite where it is the same."""
    output_sqnr: float
    """Of what the layer computes of the calibration data, in dB, with the error of the layers before it."""

    @property
    def is_quantized(self) -> bool:
        """Whether the weight is stored as integers."""
        # A small weight may take as many bytes with its scales.
        return self.bytes_after != self.bytes_before or self.weight_sqnr != inf


class Noise:
    """Energy of a signal and of its error, over several tensors."""

    def __init__(self) -> None:
        self.signal = 0.0
        self.error = 0.0

    def add(self, wanted: torch.Tensor, found: torch.Tensor) -> None:
        """Of a tensor, and of what it was to be."""
        if wanted is found:
            return
        for rows in slices_of_rows(wanted.shape) if wanted.dim() else [...]:
            exact = wanted[rows].double()
            self.signal += float(exact.square().sum())
            self.error += float((exact - found[rows].double()).square_().sum())

    @property
    def ratio(self) -> float:
        """In dB."""
        if not self.error:
            return inf
        return 10 * log10(self.signal / self.error) if self.signal else -inf


class _Values(Interpreter):
    """Runs a graph, keeps the values of some nodes, and hands those of weights on as they are computed."""

    def __init__(
        self, module: GraphModule, kept: Iterable[Node], visits: Mapping[Node, Sequence[_Visit]]
    ) -> None:
        super().__init__(module, garbage_collect_values=False)
        self._order = order_of_use(module.graph)
        self._last_reads = last_reads(self._order)
        self._kept = frozenset(kept)
        self._visits = visits

    def values(self, inputs: Sequence[Any]) -> dict[Node, torch.Tensor]:
        """The values that are kept, of a run on the inputs in the order of the placeholders."""
        found: dict[Node, torch.Tensor] = {}
        self.env = {}
        self.args_iter = iter(inputs)
        for node in self._order:
            self.env[node] = value = self.run_node(node)
            if node in self._kept:
                found[node] = value
            for visit in self._visits.get(node, ()):
                visit(value)
            del value
            for one in self._last_reads[node]:
                del self.env[one]
        return found

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return rowwise(target, args, kwargs)


class _Constants(_Values):
    """Computes of a graph only what some values need, unless that is an input."""

    def __init__(self, module: GraphModule, kept: Iterable[Node]) -> None:
        super().__init__(module, kept, {})
        pending, self._needed = list(self._kept), set[Node]()
        while pending:
            node = pending.pop()
            if node not in self._needed:
                self._needed.add(node)
                pending += node.all_input_nodes
        if any(node.op == "placeholder" for node in self._needed):
            self._needed = set(module.graph.nodes)

    def run_node(self, n: Node) -> Any:
        return super().run_node(n) if n in self._needed or n.op == "placeholder" else None

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return next(iter(args), None)  # of an observer, which has seen the value


def _run(values: _Values, batch: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[Node, torch.Tensor]:
    module: Any = values.module
    with torch.no_grad(), kept_state(module):
        return values.values(flat_inputs(module, batch, kwargs))


def _layers(module: GraphModule) -> dict[_Key, Node]:
    """The calls of layers by the module that makes them."""
    found: dict[_Key, Node] = {}
    for node in module.graph.nodes:
        if node.op == "call_function" and node.target in WEIGHTS:
            path, number = node_module_path(node), 0
            while (path, number) in found:
                number += 1
            found[path, number] = node
    return found


def _weight(node: Node) -> Node | None:
    found = node.args[WEIGHTS[node.target]]
    return found if isinstance(found, Node) else None


def _stored_bytes(module: GraphModule, weight: Node) -> int:
    """The bytes of the data that a weight is made of; numbers of 4 bits take half a byte each."""
    pending, total, seen = [weight], 0.0, set[Node]()
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.op == "get_attr":
            tensor: torch.Tensor = tensor_of(module, node)
            total += tensor.numel() * (tensor.element_size() if tensor.dtype != torch.int8 else _width(node))
        pending += node.all_input_nodes
    return round(total)


def _width(node: Node) -> float:
    """Bytes of each of the integers that a node reads, by the limits that their users name."""
    for user in node.users:
        limits = [one for one in user.args if isinstance(one, int) and not isinstance(one, bool)]
        if user.args and user.args[0] is node and any(pair == (-8, 7) for pair in pairwise(limits)):
            return 0.5
    return 1.0


def _result(node: Node, folded: Node) -> Node:
    """Where the result of a layer is that is `folded` in another graph: behind its batch normalization, if that is part
    of the layer there.
    """
    norm = _norm(node)
    return node if norm is None or _norm(folded) is not None else norm


def _norm(node: Node) -> Node | None:
    """The first result of the batch normalization that reads a layer, maybe by way of an observer."""
    for user in node.users:
        if user.op == "call_module":
            return _norm(user)
        if user.target in BATCH_NORMS:
            first = [one for one in user.users if one.target is getitem and one.args[1] == 0]
            return user if user.target is _aten.batch_norm.default or not first else first[0]
    return None


def compare_layers(
    plain: GraphModule,
    quantized: GraphModule,
    batches: Sequence[tuple[Any, ...]],
    kwargs: Mapping[str, Any],
    reference: GraphModule,
) -> list[Layer]:
    """The layers of a module in floats and after quantization, in the order in which they are called.

    Weights are compared with those of `plain`, which has batch normalizations folded into them, and results with those
    of `reference`, the module as it was exported. All three are `ExportedProgram.module()`, and run on `batches`.
    """
    before, after, whole = _layers(plain), _layers(quantized), _layers(reference)
    pairs = {key: (node, after[key]) for key, node in before.items() if key in after}
    results = {key: _result(whole[key], node) for key, (node, _) in pairs.items() if key in whole}
    weights, outputs = {key: Noise() for key in pairs}, {key: Noise() for key in pairs}
    read = [weight for one, _ in pairs.values() if (weight := _weight(one)) is not None]
    stored = _run(_Constants(plain, read), batches[0], kwargs)
    visits: dict[Node, list[_Visit]] = {}
    for key, (one, other) in pairs.items():
        first, second = _weight(one), _weight(other)
        if first in stored and second is not None:
            visits.setdefault(second, []).append(partial(weights[key].add, stored[first]))
    for batch in batches:
        wanted = _run(_Values(reference, results.values(), {}), batch, kwargs)
        found = _run(_Values(quantized, [other for _, other in pairs.values()], visits), batch, kwargs)
        visits = {}  # the weights are those of the first run
        for key, (_, other) in pairs.items():
            if results.get(key) in wanted and other in found:
                outputs[key].add(wanted[results[key]], found[other])
    return [
        Layer(
            path or "(the module)",
            str(one.target).removeprefix("aten.").partition(".")[0],
            0 if (first := _weight(one)) is None else _stored_bytes(plain, first),
            0 if (second := _weight(other)) is None else _stored_bytes(quantized, second),
            weights[path, number].ratio,
            outputs[path, number].ratio,
        )
        for (path, number), (one, other) in pairs.items()
    ]


class _Finite(Interpreter):
    """Runs a graph up to the first value that is not finite."""

    place = ""

    def run_node(self, n: Node) -> Any:
        value = super().run_node(n)
        is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
        if not self.place and n.op == "call_function" and is_float and not value.isfinite().all():
            self.place = " ".join(part for part in (node_module_path(n), f"({n.target})") if part)
        return value


def first_undefined(module: GraphModule, batch: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """The module and operator of the first value with a NaN or an infinity; empty if none is computed."""
    run = _Finite(module)
    # What fails on the way is reported by the caller, which has seen it.
    with torch.no_grad(), suppress(RuntimeError, ValueError, IndexError, TypeError, AssertionError):
        run.run(*flat_inputs(module, batch, kwargs), enable_io_processing=False)
    return run.place
