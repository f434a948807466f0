"""A graph ready to be planned: its values, its constants as tensors, and who uses what last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from et_backends.xnnpack.format.blob import XnnpackBlob, node_identifier
from et_backends.xnnpack.format.graph import (
    PerTokenDynamicQuant,
    XNNConv2d,
    XNNDatatype,
    XNNFullyConnected,
    XNNGraph,
    XNNQuantizedTensorValue,
    XNodeUnion,
    XValue,
)
from et_backends.xnnpack.format.nodes import NO_VALUE, kind_name, roles_of, tensor_of
from et_backends.xnnpack.runtime.constants import ELEMENTS, load_constant, load_weight
from et_backends.xnnpack.runtime.grid import Grid, Limits, grid_of
from et_backends.xnnpack.runtime.nodes import TRANSLATIONS, NodeTranslation
from et_backends.xnnpack.runtime.nodes.linear import TRANSPOSED
from et_backends.xnnpack.runtime.weights import QuantizedWeight
from et_schema.errors import Error, InvalidFile
from et_schema.scalar_type import ScalarType
from et_vm.backends.accounting import Accountant
from et_vm.values import Tensor


class ValueInfo(NamedTuple):
    """Size-independent facts of a value."""

    scalar_type: ScalarType
    dims: tuple[int, ...]
    grid: Grid | None
    row_grid: int
    """The number of dimensions of a row that gets its own grid when the graph runs; 0 if none does."""
    argument: int
    """The number of the argument that it is, or NO_VALUE."""


class NodeInfo(NamedTuple):
    """A node with its translation."""

    node: XNodeUnion
    name: str
    limits: Limits | None
    translation: NodeTranslation
    operands: tuple[int, ...]
    results: tuple[int, ...]
    identifier: str


class XnnpackGraph:
    """`values`, `constants` and `weights` are by id; `inputs` and `outputs` are ids in the order of their arguments,
    and `last_uses` says for each value the index of the last node that reads or writes it. `nbytes` were taken for
    constants that are no views of the blob or of named data, and are counted by the platform for as long as the graph
    lives. `weights` are the constants that stay integers: filters of
    fully connected layers and of convolutions.
    """

    __slots__ = (
        "_accountant",
        "constants",
        "inputs",
        "last_uses",
        "nbytes",
        "nodes",
        "outputs",
        "values",
        "weights",
    )

    def __init__(
        self, blob: XnnpackBlob, named_data: Mapping[str, memoryview], accountant: Accountant | None = None
    ) -> None:
        """`accountant` counts what is made of constants.

        Raises InvalidFile(DelegateInvalidCompatibility) for constants that are missing or too short, and for
        elements of kinds that nothing is computed in; what the accountant raises.
        """
        self._accountant = accountant or Accountant()
        graph = blob.graph
        self.values: dict[int, ValueInfo] = {}
        self.constants: dict[int, Tensor] = {}
        self.weights: dict[int, QuantizedWeight] = {}
        self.nbytes = 0
        filters = _filters(graph)
        for index, value in enumerate(graph.xvalues):
            tensor = tensor_of(value)
            assert tensor is not None
            where = f"xvalues[{index}]"
            described = value.xvalue_union
            if (
                tensor.constant_buffer_idx
                and tensor.id_out in filters
                and isinstance(described, XNNQuantizedTensorValue)
            ):
                weight = load_weight(blob, described, tensor, named_data, where, self._accountant)
                self.weights[tensor.id_out] = weight
                self.nbytes += weight.nbytes
            elif tensor.constant_buffer_idx:
                constant, taken = load_constant(blob, value, tensor, named_data, where, self._accountant)
                self.constants[tensor.id_out] = constant
                self.nbytes += taken
            self.values[tensor.id_out] = _info(value, where)
        self.nodes: list[NodeInfo] = []
        self.last_uses: dict[int, int] = {}
        for index, item in enumerate(graph.xnodes):
            node = item.xnode_union
            assert node is not None
            roles = roles_of(node)
            operands = tuple(getattr(node, name) for name in roles.operands)
            results = tuple(getattr(node, name) for name in roles.results)
            limits = None
            if item.output_min_max is not None:
                limits = Limits(item.output_min_max.output_min, item.output_min_max.output_max)
                if not limits.low <= limits.high:
                    raise InvalidFile(
                        f"an output from {limits.low} to {limits.high}",
                        code=Error.DelegateInvalidCompatibility,
                        where=f"xnodes[{index}].output_min_max",
                    )
            translation = TRANSLATIONS[type(node)]
            identifier = node_identifier(item.debug_handle)
            self.nodes.append(
                NodeInfo(node, kind_name(node), limits, translation, operands, results, identifier)
            )
            for used in (*operands, *results):
                if used != NO_VALUE:
                    self.last_uses[used] = index
        self.inputs = sorted(graph.input_ids, key=self._argument)
        self.outputs = sorted(graph.output_ids, key=self._argument)

    def _argument(self, value: int) -> int:
        return self.values[value].argument


def _filters(graph: XNNGraph) -> set[int]:
    """The values that only fully connected layers, with a row for each output, and convolutions read, as filters."""
    filters: set[int] = set()
    others = {*graph.output_ids}
    for item in graph.xnodes:
        node = item.xnode_union
        assert node is not None
        kept = isinstance(node, XNNConv2d) or (
            isinstance(node, XNNFullyConnected) and not node.flags & TRANSPOSED
        )
        for role in roles_of(node).operands:
            (filters if kept and role == "filter_id" else others).add(getattr(node, role))
    return filters - others


_UNKEPT = (
    XNNDatatype.qint32,
    XNNDatatype.qcint32,
    XNNDatatype.qcint8,
    XNNDatatype.qcint4,
    XNNDatatype.qbint4,
)


def _info(value: XValue, where: str) -> ValueInfo:
    tensor = tensor_of(value)
    assert tensor is not None
    if tensor.dq_datatype != XNNDatatype.invalid or (
        tensor.datatype in _UNKEPT and not tensor.constant_buffer_idx
    ):
        raise InvalidFile(
            f"elements of type {tensor.datatype.name} that are computed",
            code=Error.DelegateInvalidCompatibility,
            where=where,
        )
    row_grid = 0
    described = value.xvalue_union
    if isinstance(described, XNNQuantizedTensorValue) and isinstance(
        described.quant_params, PerTokenDynamicQuant
    ):
        row_grid = described.quant_params.num_nonbatch_dims
    grid = grid_of(value)
    if grid is not None and not 0 < grid.scale < float("inf"):
        raise InvalidFile(
            f"a scale of {grid.scale}", code=Error.DelegateInvalidCompatibility, where=f"{where}.quant_params"
        )
    scalar_type = ELEMENTS.get(tensor.datatype, ScalarType.FLOAT)
    return ValueInfo(scalar_type, tuple(tensor.dims), grid, row_grid, tensor.external_id)
