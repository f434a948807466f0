"""Bias correction: what rounding shifts the mean of a layer's results by is taken back by its bias.

Errors of weights are the same for all inputs, and those of activations with a clamp behind them are one-sided: means of
channels shift, layer after layer. In the order of the program, the mean of each channel of a layer in floats is
compared with that of the same graph with everything rounded and the layers before it corrected, as in Nagel et al.,
"Data-Free Quantization Through Weight Equalization and Bias Correction", 2019, with calibration data in place of
statistics. Before and after, of a channel whose mean is 0.25 in floats and 0.5 in integers:

    %y = aten.conv2d(%x, %w, %b, …)        %y = aten.conv2d(%x, %w, %own_parameter, …)   # %b - 0.25

Few samples do not tell a shift from noise. So each shift is multiplied by the part of its square that is not expected
of noise: 1 less the squared standard error over the square of the shift, or 0 where that is negative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from et_ir.quantization.graphs import (
    constant_nodes,
    flat_inputs,
    kept_state,
    last_reads,
    order_of_use,
    set_parameter,
    tensor_of,
)
from et_ir.quantization.layers import WEIGHTS
from et_ir.quantization.simulation import Rounding, Values, along_channels

__all__ = ["add_to_biases", "bias_corrections", "correct_biases"]

_EMBEDDING: Final[Any] = torch.ops.aten.embedding.default
_BIAS: Final = 2
"""The argument of layers that is their bias."""
_BYTES: Final = 2**29
"""Bytes of values of all data at a time."""
_MOST: Final = 64
"""Maximum number of calibration data that are used, at equal distances."""


def correct_biases(
    prepared: GraphModule, batches: Sequence[tuple[Any, ...]], kwargs: Mapping[str, Any]
) -> dict[Node, Tensor]:
    """Correct the biases of a graph between `prepare_pt2e` and `convert_pt2e`, whose observers have seen the data.

    Returns what was added to them, as `bias_corrections` does.
    """
    found = bias_corrections(prepared, batches, kwargs)
    add_to_biases(prepared, found)
    return found


def bias_corrections(
    prepared: GraphModule, batches: Sequence[tuple[Any, ...]], kwargs: Mapping[str, Any]
) -> dict[Node, Tensor]:
    """What is to be added to the bias of each layer, `[channels]` f32, in their order; of a graph as `correct_biases`.

    Layers are left out whose weight is not quantized, whose bias is computed or written to, and whose results have no
    shift that the data, `batches` of arguments, can tell from noise.
    """
    run = Rounding(prepared)
    constants = constant_nodes(prepared.graph)
    layers = [node for node in prepared.graph.nodes if _is_correctable(node, run.observers, constants)]
    if not layers or not batches:
        return {}
    with torch.no_grad(), kept_state(prepared):
        return _Pairs(run, layers, constants).corrections(prepared, batches, kwargs)


def add_to_biases(module: GraphModule, corrections: Mapping[Node, Tensor]) -> None:
    """Give layers biases of their own, with `[channels]` f32 added, whoever else reads the biases that they have.

    Layers of the same arguments, whose results are equal, keep the same bias: they are merged later.
    """
    made: dict[Any, Any] = {}
    for layer, shift in corrections.items():
        key = (layer.target, layer.args)
        if key in made:
            layer.args = (*layer.args[:_BIAS], made[key], *layer.args[_BIAS + 1 :])
            continue
        given = layer.args[_BIAS] if len(layer.args) > _BIAS else None
        value = tensor_of(module, given) + shift if isinstance(given, Node) else shift
        set_parameter(module, layer, _BIAS, value)
        made[key] = layer.args[_BIAS]
    module.recompile()


def _is_correctable(node: Node, observers: frozenset[Node], constants: set[Node]) -> bool:
    if node.target not in WEIGHTS or node.target is _EMBEDDING or node in constants or "bias" in node.kwargs:
        return False
    bias = node.args[_BIAS] if len(node.args) > _BIAS else None
    is_own = bias is None or (isinstance(bias, Node) and bias.op == "get_attr" and bias in constants)
    return is_own and _weight(node) in observers


class _Pairs:
    """Runs a graph in floats and in rounded numbers at a time, node by node on all data."""

    def __init__(self, run: Rounding, layers: Sequence[Node], constants: set[Node]) -> None:
        self._run = run
        self._layers = frozenset(layers)
        self._constants = constants
        self._order = order_of_use(layers[0].graph)
        self._last_reads = last_reads(self._order)

    def corrections(
        self, prepared: GraphModule, batches: Sequence[tuple[Any, ...]], kwargs: Mapping[str, Any]
    ) -> dict[Node, Tensor]:
        inputs = [node for node in self._order if node.op == "placeholder"]

        def started(batch: tuple[Any, ...]) -> Values:
            return dict(zip(inputs, flat_inputs(prepared, batch, kwargs), strict=True))

        fitting = min(_MOST, max(1, _BYTES // (2 * self._peak(started(batches[0])))))
        chosen = batches[:: -(-len(batches) // fitting)]
        pairs = [(started(batch), started(batch)) for batch in chosen]
        found: dict[Node, Tensor] = {}
        last = max(number for number, node in enumerate(self._order) if node in self._layers)
        for node in self._order[: last + 1]:
            for number, (exact, rounded) in enumerate(pairs):
                if node in self._constants and number:
                    exact[node], rounded[node] = (values[node] for values in pairs[0])
                elif node.op != "placeholder":
                    self._compute(node, exact, rounded)
            if node in self._layers:
                weight = pairs[0][0][_weight(node)]
                shift = _shift([(exact[node], rounded[node]) for exact, rounded in pairs], weight.dim() - 2)
                if shift is not None:
                    found[node] = shift
                    for _, rounded in pairs:
                        rounded[node] = rounded[node] + along_channels(shift, weight)
            for one in self._last_reads[node]:
                for exact, rounded in pairs:
                    del exact[one], rounded[one]
        return found

    def _compute(self, node: Node, exact: Values, rounded: Values) -> None:
        exact[node] = value = self._run.value_of(node, exact, frozenset())
        same = all(exact[one] is rounded[one] for one in node.all_input_nodes)
        if same and node not in self._run.observers:
            rounded[node] = value
        else:
            rounded[node] = self._run.value_of(node, rounded, self._run.observers)

    def _peak(self, values: Values) -> int:
        """The most bytes of values of one of the data at a time, without constants."""
        sizes = {node: _bytes(value) for node, value in values.items()}
        most = 1
        for node in self._order:
            if node.op != "placeholder":
                values[node] = self._run.value_of(node, values, frozenset())
                sizes[node] = 0 if node in self._constants else _bytes(values[node])
            most = max(most, sum(sizes.values()))
            for one in self._last_reads[node]:
                del values[one], sizes[one]
        return most


def _weight(layer: Node) -> Node:
    weight = layer.args[WEIGHTS[layer.target]]
    assert isinstance(weight, Node)
    return weight


def _bytes(value: Any) -> int:
    return value.nbytes if isinstance(value, Tensor) else 0


def _shift(pairs: Sequence[tuple[Tensor, Tensor]], behind: int) -> Tensor | None:
    """Means by channels of results in floats less those of rounded ones, shrunk by their noise; `None` if all are 0.

    So many dimensions are behind that of the channels. A sample is an index of the first dimension, or all results
    where that is the one of channels.
    """
    samples: list[Tensor] = []
    for exact, rounded in pairs:
        if exact.numel():
            channels = exact.dim() - 1 - behind
            error = (exact - rounded).movedim(channels, -1).double()
            count = error.shape[0] if channels else 1
            samples.append(error.reshape(count, -1, error.shape[-1]).mean(1))
    errors = torch.cat(samples) if samples else torch.empty(0)
    if len(errors) < 2:
        return None
    shift = errors.mean(0)
    square = shift.square()
    noise = errors.var(0) / len(errors)
    shift = torch.where(square > noise, shift * (1 - noise / square), 0).float()
    return shift if bool(shift.isfinite().all()) and bool(shift.any()) else None
