"""Layers in integers beside those in floats: bytes of weights, and noise of weights and outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from math import inf, log10
from operator import getitem
from typing import Any, Final

import torch
from torch.fx import GraphModule, Interpreter, Node

from et_ir.frontend.sources import node_module_path
from et_ir.quantization.graphs import BATCH_NORMS, flat_inputs, kept_state

__all__ = ["Layer", "compare_layers", "first_undefined"]

_aten: Final[Any] = torch.ops.aten
_WEIGHT: Final[dict[object, int]] = {
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


class _Noise:
    """Energy of a signal and of its error, over several tensors."""

    def __init__(self) -> None:
        self.signal = 0.0
        self.error = 0.0

    def add(self, wanted: torch.Tensor, found: torch.Tensor) -> None:
        self.signal += float(wanted.double().square().sum())
        self.error += float((wanted.double() - found.double()).square().sum())

    @property
    def ratio(self) -> float:
        """In dB."""
        if not self.error:
            return inf
        return 10 * log10(self.signal / self.error) if self.signal else -inf


class _Values(Interpreter):
    """Runs a graph, and keeps the values of some nodes."""

    def __init__(self, module: GraphModule, nodes: Iterable[Node]) -> None:
        super().__init__(module)
        self._wanted = frozenset(nodes)
        self.found: dict[Node, torch.Tensor] = {}

    def run_node(self, n: Node) -> Any:
        value = super().run_node(n)
        if n in self._wanted:
            self.found[n] = value
        return value


def _values(
    module: GraphModule, nodes: Iterable[Node], batch: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[Node, torch.Tensor]:
    run = _Values(module, nodes)
    with torch.no_grad(), kept_state(module):
        run.run(*flat_inputs(module, batch, kwargs), enable_io_processing=False)
    return run.found


def _layers(module: GraphModule) -> dict[_Key, Node]:
    """The calls of layers by the module that makes them."""
    found: dict[_Key, Node] = {}
    for node in module.graph.nodes:
        if node.op == "call_function" and node.target in _WEIGHT:
            path, number = node_module_path(node), 0
            while (path, number) in found:
                number += 1
            found[path, number] = node
    return found


def _weight(node: Node) -> Node | None:
    found = node.args[_WEIGHT[node.target]]
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
            tensor: Any = module
            for part in str(node.target).split("."):
                tensor = getattr(tensor, part)
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
    weights, outputs = {key: _Noise() for key in pairs}, {key: _Noise() for key in pairs}
    for number, batch in enumerate(batches):
        read = [[weight for pair in pairs.values() if (weight := _weight(pair[side]))] for side in range(2)]
        wanted = _values(reference, results.values(), batch, kwargs)
        found = _values(quantized, [*(other for _, other in pairs.values()), *read[1]], batch, kwargs)
        stored = _values(plain, read[0], batch, kwargs) if number == 0 else {}
        for key, (one, other) in pairs.items():
            if results.get(key) in wanted and other in found:
                outputs[key].add(wanted[results[key]], found[other])
            first, second = _weight(one), _weight(other)
            if first in stored and second in found:
                weights[key].add(stored[first], found[second])
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
