"""Translation of a partition to an OpenVINO model.

Values of the program are outputs of nodes. What computes an operator is made by its rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, Final, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f32, i1, i8, i32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue

from et_ir.analysis.integer_operations import restored_constant
from et_ir.analysis.quantization import dequantized, quantization_of
from et_ir.delegation.dependences import is_copied, is_statement
from et_ir.dialects.program import GetOp, Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import ui8
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.evaluation.arrays import array_of, numpy_dtype

__all__ = ["ELEMENTS", "Lowering", "Node", "Translation", "shape_of"]

Node: TypeAlias = Any
"""A node of a model, or one of its outputs."""

Lowering: TypeAlias = "Callable[[Translation, SchemaOp], Node | Sequence[Node]]"
"""Makes the nodes of an op, and returns what its results are: the first of them if others are not used."""

ELEMENTS: Final[dict[Attribute, str]] = {
    f32: "f32",
    i1: "boolean",
    i8: "i8",
    ui8: "u8",
    i32: "i32",
    i64: "i64",
}
"""The element types that values can have, and what OpenVINO calls them."""


class Translation:
    """The model of a module of the edge level with one method, under construction.

    `nodes` makes nodes by their names in OpenVINO's operator set, as in `t.nodes.relu(x)`.
    """

    def __init__(self, module: ModuleOp, method: FuncOp, *, precise: bool) -> None:
        self.precise = precise
        """Whether floats are computed in the precision that they have."""
        self.nodes: Any = import_module("openvino.opset15")
        self.first_nodes: Any = import_module("openvino.opset1")
        """The first versions of nodes, which the CPU's compiler makes of later ones without keeping their marks."""
        self._symbols = Globals(module)
        self._method = method
        self._values: dict[SSAValue, Node] = {}
        self._parameters: list[Node] = []
        self.factors: frozenset[tuple[int, ...]] | None = None
        """Sizes of the constants that products have as they are, where a rule has asked for them."""
        self.made: list[tuple[SchemaOp, Sequence[Node]]] = []
        """The nodes that the results of each op are."""

    @cached_property
    def types(self) -> Any:
        """OpenVINO's element types."""
        return import_module("openvino").Type

    # What rules read

    def read(self, op: SchemaOp, name: str) -> Node:
        """The operand that is a schema argument."""
        return self.value(op.arg(name))

    def value(self, value: SSAValue) -> Node:
        """The output that is a value of the program; a constant becomes a node where it is read first."""
        found = self._values.get(value)
        if found is None:
            found = self._values[value] = self.nodes.constant(self.array(value))
        return found

    def array(self, value: SSAValue) -> np.ndarray[Any, Any]:
        """The elements of a constant."""
        symbol = self._symbols.constant_of(value)
        assert symbol is not None
        assert symbol.value is not None
        return np.asarray(array_of(tensor_type(value), symbol.value.blob), order="C")

    def restored(self, value: SSAValue) -> np.ndarray[Any, Any]:
        """The elements of a constant, or of one that is restored from integers."""
        op = dequantized(value)
        if op is None:
            return self.array(value)
        return restored_constant(self.array(op.operands[0]), quantization_of(op, self._symbols))

    def number(self, number: float | bool, like: SSAValue) -> Node:
        """A number as a constant of the element type of a value."""
        return self.nodes.constant(np.array(number, numpy_dtype(tensor_type(like).element_type)))

    def integers(self, *items: int) -> Node:
        """A vector of integers: sizes, dimensions, places."""
        return self.nodes.constant(np.array(items, np.int64))

    def integer(self, item: int) -> Node:
        """An integer, as a tensor of no dimensions."""
        return self.nodes.constant(np.array(item, np.int64))

    def converted(self, node: Node, type: Attribute) -> Node:
        """The same elements as another element type."""
        if node.get_element_type().get_type_name() == ELEMENTS[type]:
            return node
        return self.nodes.convert(node, ELEMENTS[type])

    def reshaped(self, node: Node, sizes: Sequence[int]) -> Node:
        """The same elements with other sizes, in one step where they have been reshaped before."""
        source = node.get_node() if hasattr(node, "get_node") else node
        if source.get_type_name() == "Reshape":
            node = source.input_value(0)
        return self.nodes.reshape(node, self.integers(*sizes), False)

    # The model

    def model(self, name: str, rules: Mapping[str, Lowering]) -> Any:
        """The model, of which `rules` make the nodes by operator. Raises ValueError for an op that none makes."""
        block = self._method.body.block
        for at, argument in enumerate(block.args):
            type = tensor_type(argument)
            element = getattr(self.types, ELEMENTS[type.element_type])
            parameter = self.nodes.parameter(list(type.get_shape()), element, name=f"input{at}")
            self._parameters.append(parameter)
            self._values[argument] = parameter.output(0)
        for op in block.ops:
            if is_copied(op) or is_statement(op) or isinstance(op, (GetOp, ReturnOp)):
                continue
            lower = rules.get(op.name.removeprefix("edge.")) if isinstance(op, SchemaOp) else None
            if lower is None or not isinstance(op, SchemaOp):
                raise ValueError(f"OpenVINO has no node for {op.name}")
            made = lower(self, op)
            nodes = cast("Sequence[Node]", made if isinstance(made, (list, tuple)) else [made])
            for result, node in zip(op.results, nodes, strict=False):
                self._values[result] = node
            self.made.append((op, nodes))
        end = block.last_op
        assert isinstance(end, ReturnOp)
        results = [
            self.nodes.result(self.value(value), name=f"output{at}") for at, value in enumerate(end.arguments)
        ]
        model = import_module("openvino").Model(results, self._parameters, name)
        _name(model)
        return model


def _name(model: Any) -> None:
    """Name nodes by their places: the names that they get are numbers which count all nodes of the process."""
    for at, node in enumerate(model.get_ordered_ops()):
        if node.get_type_name() not in ("Parameter", "Result"):
            node.set_friendly_name(f"{node.get_type_name()}{at}")
    for port, name in (
        *((port, f"input{at}") for at, port in enumerate(model.inputs)),
        *((port, f"output{at}") for at, port in enumerate(model.outputs)),
    ):
        port.get_tensor().set_names({name})


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor."""
    return tuple(tensor_type(value).get_shape())
