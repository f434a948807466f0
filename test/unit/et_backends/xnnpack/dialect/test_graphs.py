"""Graphs as ops and back: nothing is lost of any kind of node, and what ops do not say stays a blob."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from et_backends.xnnpack.dialect.graphs import BACKEND, closed, opened
from et_backends.xnnpack.dialect.nodes import NODE_OPS
from et_backends.xnnpack.format import graph as schema
from et_backends.xnnpack.format.blob import serialize_xnnpack
from et_backends.xnnpack.format.graph import (
    ConstantDataOffset,
    OutputMinMax,
    PerTensorQuant,
    XNNDatatype,
    XNNGraph,
    XNNQuantizedTensorValue,
    XNNTensorValue,
    XNode,
    XNodeUnion,
    XValue,
)
from et_backends.xnnpack.format.nodes import NO_VALUE, roles_of
from et_ir.data import Blob
from et_ir.dialects.backend import LoweredOp
from et_ir.dialects.program import DataAttr
from et_ir.dialects.program.attributes import ELEMENT_TYPES

FP32 = XNNDatatype.fp32


def lowered(graph: XNNGraph, constants: bytes = b"") -> LoweredOp:
    data = Blob.of("blob", serialize_xnnpack(graph, [constants]))
    return LoweredOp("lowered_0", BACKEND, [], DataAttr.of(ELEMENT_TYPES["ui8"], data))


def tensor(id_out: int, external: int = NO_VALUE, flags: int = 0) -> XNNTensorValue:
    return XNNTensorValue(FP32, 1, [4], 0, external, flags, id_out)


def graph_of(kind: type) -> XNNGraph:
    """A node of a kind with numbers in all of its fields, of inputs and outputs alone."""
    node: XNodeUnion = kind()
    roles = roles_of(node)
    for name in node.__slots__ or type(node).__mro__[1].__slots__:
        value = getattr(node, name)
        setattr(node, name, [1, 2] if isinstance(value, list) else 0.25 if isinstance(value, float) else 3)
    values: list[XValue] = []
    for names, flags in ((roles.operands, 1), (roles.results, 2)):
        for name in names:
            setattr(node, name, len(values))
            values.append(XValue(tensor(len(values), len(values), flags)))
    count = len(roles.operands)
    item = XNode(node, 9, OutputMinMax(-1.0, 0.1))
    item.output_min_max = OutputMinMax(-1.0, 0.10000000149011612)
    ids = list(range(len(values)))
    return XNNGraph("0", [item], values, len(ids), ids[:count], ids[count:], [], [ConstantDataOffset()])


def test_every_kind() -> None:
    assert len(NODE_OPS) == len({op.name for op in NODE_OPS.values()}) == 47
    for kind in NODE_OPS:
        before = lowered(graph_of(kind))
        op = opened(before)
        assert op is not None, kind
        op.verify()
        assert op.tables() == graph_of(kind)
        assert bytes(closed(op).value.blob.view()) == bytes(before.value.blob.view())


def test_a_bias_that_is_missing() -> None:
    graph = graph_of(schema.XNNFullyConnected)
    node = graph.xnodes[0].xnode_union
    assert isinstance(node, schema.XNNFullyConnected)
    node.bias_id = NO_VALUE
    op = opened(lowered(graph))
    assert op is not None
    assert op.tables() == graph


def test_quantized_values_and_constants() -> None:
    graph = graph_of(schema.XNNAdd)
    value = tensor(1)
    value.datatype, value.constant_buffer_idx = XNNDatatype.qint8, 1
    graph.xvalues[1] = XValue(XNNQuantizedTensorValue(value, PerTensorQuant(0.10000000149011612, -3)))
    last = graph.xvalues[2].xvalue_union
    assert isinstance(last, XNNTensorValue)
    last.external_id = 1
    graph.input_ids, graph.num_externs = [0], 2
    graph.constant_data.append(ConstantDataOffset(0, 4))
    op = opened(lowered(graph, b"1234"))
    assert op is not None
    assert op.tables() == graph
    assert op.constants is not None
    assert bytes(op.constants.blob.view()) == b"1234"


def test_what_ops_do_not_say_stays_a_blob() -> None:
    graph = graph_of(schema.XNNAdd)
    graph.xvalues.reverse()
    assert opened(lowered(graph)) is None
    unused = graph_of(schema.XNNAdd)
    unused.xvalues.append(XValue(tensor(7)))
    assert opened(lowered(unused)) is None


def test_symbols_keep_what_they_have_besides() -> None:
    before = lowered(graph_of(schema.XNNAdd))
    before.set_alignment(64)
    op = opened(before)
    assert op is not None
    after = closed(op)
    assert ModuleOp([after]).is_structurally_equivalent(ModuleOp([before]))
