"""Quantizer of layers and pointwise operators in 8 bits.

Its interface is that of ExecuTorch's quantizer for XNNPACK.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import getitem
from typing import Any, Final, cast

import torch
from torch.fx import Graph, GraphModule, Node
from torchao.quantization.pt2e.quantizer import Quantizer

from et_ir.frontend.sources import module_stack, node_module_path, parse_stack_trace
from et_ir.frontend.torch_registry import as_operator, schema_of
from et_ir.quantization.annotation import (
    ANNOTATORS,
    FUNCTIONS,
    MATRIX_PRODUCTS,
    is_annotated,
    keeps_scale,
    reads_integers,
    share_with_producer,
)
from et_ir.quantization.config import QuantizationConfig
from et_ir.quantization.graphs import writes_to_state

__all__ = ["Unquantized", "XNNPACKQuantizer", "place_of"]

_PARTS_OF_LAYERS: Final = frozenset({torch.ops.aten.addmm.default, torch.ops.aten.mm.default})
"""Operators of decomposed layers."""
_LAYERS: Final = frozenset(
    {
        torch.ops.aten.conv1d.padding,
        torch.ops.aten.conv2d.padding,
        torch.ops.aten.conv3d.padding,
        torch.ops.aten.gru.input,
        torch.ops.aten.gru_cell.default,
        torch.ops.aten.lstm.input,
        torch.ops.aten.lstm_cell.default,
        torch.ops.aten.rnn_relu.input,
        torch.ops.aten.rnn_relu_cell.default,
        torch.ops.aten.rnn_tanh.input,
        torch.ops.aten.rnn_tanh_cell.default,
    }
)
"""Layers that nothing quantizes."""
_SCALARS: Final = frozenset(
    {
        torch.ops.aten.add.Tensor,
        torch.ops.aten.add_.Tensor,
        torch.ops.aten.mul.Tensor,
        torch.ops.aten.mul_.Tensor,
    }
)
"""Operators whose second operand may be a number, which becomes a tensor to be quantized."""


_NO_KERNEL: Final = "no quantized kernel"
_NO_OPERAND: Final = "the operand is not quantized"
_FIXES: Final = {
    _NO_OPERAND: "quantized when the operator that makes the operand is",
    "operands and results are not f32": "compute in f32, as with x.float()",
    "operands are not f32": "compute in f32, as with x.float()",
    "the input is not f32": "compute in f32, as with x.float()",
    "an operand is a number": "make the number a tensor of the module, as with register_buffer",
    "a factor of the second operand": "multiply by alpha in an operator of its own",
}
"""By the reasons of annotators, and those above."""


@dataclass(frozen=True)
class Unquantized:
    """An operator that stays in floats."""

    operator: str
    """Its name, as `aten.softmax.int`."""
    module: str
    """The path of the module that calls it."""
    place: str
    """The line of the user's code that calls it, as `net.py:12`; empty if it is not known."""
    reason: str
    """Why it is not quantized, as for others of its kind."""
    detail: str = ""
    """What else is known of this one."""
    fix: str = ""
    """What would quantize it; empty where nothing is known to."""

    def __str__(self) -> str:
        where = self.where
        detail = f": {self.detail}" if self.detail else ""
        return f"{where + ': ' if where else ''}{self.operator}: {self.reason}{detail}"

    @property
    def where(self) -> str:
        """The module and the line that call it."""
        return f"{self.module} ({self.place})" if self.module and self.place else self.module or self.place


class XNNPACKQuantizer(Quantizer):
    """Annotates what XNNPACK has quantized kernels for, and says of every other operator why not.

    Configurations are for all operators, or those of an operator, a module type, or a module; the narrower one counts.
    `None` leaves a module in floats. With `matrix_products`, products of two computed matrices are quantized, and with
    `functions` softmax, normalizations, activations such as GELU, and other pointwise functions: other targets have
    kernels for these that read and write 8 bits, XNNPACK has none. `keep_float` names the nodes of a graph that stay
    in floats whatever the configurations are, each with a reason and a detail of `Unquantized`.
    """

    def __init__(
        self,
        *,
        matrix_products: bool = False,
        functions: bool = False,
        keep_float: Callable[[Graph], Mapping[Node, tuple[str, str]]] | None = None,
    ) -> None:
        super().__init__()
        self._keep_float = keep_float
        self._global: QuantizationConfig | None = None
        self._operators: dict[object, QuantizationConfig | None] = {}
        self._types: dict[str, QuantizationConfig | None] = {}
        self._names: dict[str, QuantizationConfig | None] = {}
        self._filter: Callable[[Node], bool] | None = None
        further = (MATRIX_PRODUCTS if matrix_products else {}) | (FUNCTIONS if functions else {})
        self._annotators = ANNOTATORS | further
        self.unquantized: list[Unquantized] = []
        """The operators on f32 that the last call of `annotate` left, in their order."""

    def set_global(self, quantization_config: QuantizationConfig | None) -> XNNPACKQuantizer:
        """Quantize all operators that nothing narrower is said about."""
        self._global = quantization_config
        return self

    def set_operator_type(
        self, operator_type: object, quantization_config: QuantizationConfig | None
    ) -> XNNPACKQuantizer:
        """Quantize an operator: `torch.ops.aten.linear.default`, or all overloads, `torch.ops.aten.linear`."""
        self._operators[operator_type] = quantization_config
        return self

    def set_module_type(
        self, module_type: type | Callable[..., Any], quantization_config: QuantizationConfig | None
    ) -> XNNPACKQuantizer:
        """Quantize what modules of a class call: `torch.nn.Linear`."""
        self._types[_type_name(module_type)] = quantization_config
        return self

    def set_module_name(
        self, module_name: str, quantization_config: QuantizationConfig | None
    ) -> XNNPACKQuantizer:
        """Quantize what a module calls, by its path, as `blocks.0.attention`, and the modules in it."""
        self._names[module_name] = quantization_config
        return self

    def set_filter_function(self, filter_fn: Callable[[Node], bool]) -> XNNPACKQuantizer:
        """Quantize only the nodes that a function is true of."""
        self._filter = filter_fn
        return self

    # -- torchao's interface

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Make tensors of the numbers that sums and products have as second operands."""
        kept = self._kept(model.graph)
        for node in list(model.graph.nodes):
            if node in kept or writes_to_state(node):
                continue
            if node.target in _SCALARS and len(node.args) == 2 and isinstance(node.args[1], float | int):
                first = node.args[0]
                value = first.meta.get("val") if isinstance(first, Node) else None
                if isinstance(value, torch.Tensor) and value.dtype == torch.float32:
                    _number_as_tensor(model, node, float(node.args[1]), value)
        model.recompile()
        return model

    def annotate(self, model: GraphModule) -> GraphModule:
        """Annotate the nodes of a graph, and note those that are left."""
        self.unquantized = []
        kept = self._kept(model.graph)
        reasons = {node: reason for node, (reason, _) in kept.items()}
        for node in model.graph.nodes:
            if node.op != "call_function" or is_annotated(node) or node in kept:
                continue
            if writes_to_state(node):
                reasons[node] = "it writes to a state or an input"
                continue
            annotate = self._annotators.get(node.target)
            config = self._config_of(node)
            if annotate is None or config is None or (self._filter is not None and not self._filter(node)):
                if annotate is not None:
                    reasons[node] = "left in floats by configuration"
                continue
            if not reads_integers(node.target, config):
                continue
            made = annotate(node, config)
            if isinstance(made, str):
                reasons[node] = made
        configs = (self._global, *self._operators.values(), *self._types.values(), *self._names.values())
        executorch = not any(config is not None and config.clamps for config in configs)
        for node in model.graph.nodes:
            if node.op == "call_function" and node not in kept and not writes_to_state(node):
                share_with_producer(node, executorch=executorch)
        for node in model.graph.nodes:
            if node.op == "call_function" and not is_annotated(node) and _computes(node):
                reason = reasons.get(node) or self._why_not(node)
                if reason is not None:
                    detail = kept[node][1] if node in kept else ""
                    found = Unquantized(
                        str(node.target),
                        node_module_path(node),
                        place_of(node),
                        reason,
                        detail,
                        self._fix(node, reason),
                    )
                    self.unquantized.append(found)
        return model

    def validate(self, model: GraphModule) -> None:
        """Nothing: what the annotators make is valid."""

    @classmethod
    def get_supported_operators(cls) -> list[str]:
        """The names of the operators that are quantized by themselves; others have the scale of their operand."""
        return sorted(map(str, ANNOTATORS))

    # -- the choice of a configuration

    def _kept(self, graph: Graph) -> Mapping[Node, tuple[str, str]]:
        return {} if self._keep_float is None else self._keep_float(graph)

    def _why_not(self, node: Node) -> str | None:
        """Why an operator without an annotator stays in floats; `None` where only layers are to be quantized."""
        config = self._config_of(node)
        if config is not None and config.output_activation is None and node.target not in _LAYERS:
            return None
        return _NO_OPERAND if keeps_scale(node.target) else _NO_KERNEL

    def _fix(self, node: Node, reason: str) -> str:
        """What would quantize an operator that stays in floats."""
        if reason == _NO_KERNEL and (node.target in FUNCTIONS or node.target in MATRIX_PRODUCTS):
            return "the mode int8:functions=8 quantizes these"
        if reason == _NO_KERNEL and node.target in _PARTS_OF_LAYERS:
            return "quantize before run_decompositions, which splits layers"
        return _FIXES.get(reason, "")

    def _config_of(self, node: Node) -> QuantizationConfig | None:
        stack = module_stack(node)
        for name, _ in reversed(stack):
            if name in self._names:
                return self._names[name]
        for _, kind in reversed(stack):
            if kind in self._types:
                return self._types[kind]
        packet = getattr(node.target, "overloadpacket", None)
        for key in (node.target, packet):
            if key in self._operators:
                return self._operators[key]
        return self._global


def _type_name(kind: type | Callable[..., Any]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def place_of(node: Node) -> str:
    """The line of the user's code that calls a node, as `net.py:12`: the innermost one outside of torch."""
    frames = parse_stack_trace(node.meta.get("stack_trace") or "")
    own = [frame for frame in frames if "/torch/" not in frame.filename]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else ""


def _computes(node: Node) -> bool:
    """Whether a node computes floats of floats, and is no view."""
    value = node.meta.get("val")
    results = cast("Sequence[object]", value) if isinstance(value, tuple | list) else (value,)
    if node.target is getitem or not node.all_input_nodes:
        return False
    if not any(isinstance(one, torch.Tensor) and one.dtype == torch.float32 for one in results):
        return False
    target = as_operator(node.target)
    return target is None or not any(
        one.alias_info is not None and not one.alias_info.is_write for one in schema_of(target).returns
    )


def _number_as_tensor(model: GraphModule, node: Node, number: float, like: torch.Tensor) -> None:
    name = "_number_0"
    while hasattr(model, name):
        name = f"_number_{int(name.rpartition('_')[2]) + 1}"
    tensor = torch.tensor(number)
    model.register_buffer(name, tensor)
    with model.graph.inserting_before(node):
        made = model.graph.get_attr(name)
    mode = getattr(like, "fake_mode", None)
    made.meta["val"] = tensor if mode is None else mode.from_tensor(tensor, static_shapes=True)
    node.args = (node.args[0], made, *node.args[2:])
