"""Blobs for the XNNPACK backend: round trips, and malformed input reported with its byte."""

from __future__ import annotations

from collections.abc import Callable
from struct import pack_into

import pytest

from et_backends.xnnpack.format import graph as schema
from et_backends.xnnpack.format.blob import read_xnnpack, serialize_xnnpack
from et_backends.xnnpack.format.graph import (
    XNNELU,
    Buffer,
    ConstantDataOffset,
    Node1x1,
    OutputMinMax,
    PerChannelGroupQuant,
    PerChannelQuant,
    PerTensorQuant,
    PerTokenDynamicQuant,
    XNNAdd,
    XNNConcatenate3,
    XNNConv2d,
    XNNDatatype,
    XNNFullyConnected,
    XNNGraph,
    XNNQuantizedTensorValue,
    XNNSigmoid,
    XNNStaticTranspose,
    XNNTensorValue,
    XNode,
    XNodeUnion,
    XValue,
)
from et_backends.xnnpack.format.nodes import (
    NO_OFFSET,
    NO_VALUE,
    constant_bytes,
    kind_name,
    roles_of,
    tensor_of,
)
from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_schema.reader import Reader
from et_schema.writer import encode

D = XNNDatatype


def value(
    id_out: int,
    dims: list[int],
    *,
    datatype: XNNDatatype = D.fp32,
    constant: int = 0,
    external: int = NO_VALUE,
    flags: int = 0,
) -> XNNTensorValue:
    return XNNTensorValue(datatype, len(dims), dims, constant, external, flags, id_out)


def linear() -> XNNGraph:
    """A matrix with its scales, a bias in the named data, and a sigmoid behind it."""
    weight = XNNQuantizedTensorValue(
        value(1, [2, 4], datatype=D.qcint8, constant=1), PerChannelQuant([0.5, 0.25], 0)
    )
    return XNNGraph(
        "0",
        [
            XNode(XNNFullyConnected(0, 1, 2, 3), 7, OutputMinMax(0.0, float("inf"))),
            XNode(XNNSigmoid(3, 4)),
        ],
        [
            XValue(value(0, [1, 4], external=0, flags=1)),
            XValue(weight),
            XValue(value(2, [2], constant=2)),
            XValue(value(3, [1, 2])),
            XValue(value(4, [1, 2], external=1, flags=2)),
        ],
        2,
        [0],
        [4],
        [],
        [ConstantDataOffset(), ConstantDataOffset(0, 8), ConstantDataOffset(NO_OFFSET, 8, "bias")],
    )


DATA = bytes(range(8))


def test_round_trip() -> None:
    blob = serialize_xnnpack(linear(), [DATA])
    read = read_xnnpack(blob)
    assert read.graph == linear()
    assert read.constant(1, {}) == DATA
    assert read.constant(2, {"bias": memoryview(b"12345678")}) == b"12345678"
    assert read.constants.obj is blob
    assert blob.index(DATA) % 16 == 0
    assert serialize_xnnpack(read.graph, [read.constants]) == blob


def test_kinds_that_share_a_table_are_classes_of_their_own() -> None:
    node = read_xnnpack(serialize_xnnpack(linear(), [DATA])).graph.xnodes[1].xnode_union
    assert type(node) is XNNSigmoid
    assert isinstance(node, Node1x1)
    assert node != schema.XNNTanh(3, 4)


def test_every_kind_of_node_is_read_as_it_was_written() -> None:
    kinds = XNodeUnion.__args__
    assert len(kinds) == 47
    for kind in kinds:
        graph = XNNGraph(xnodes=[XNode(kind())])
        data = encode(graph, schema.FILE_IDENTIFIER)
        assert Reader(data).root(XNNGraph, schema.FILE_IDENTIFIER) == graph


def test_numbers_keep_their_types() -> None:
    graph = linear()
    graph.xnodes[1] = XNode(XNNELU(-0.0, 3, 4))
    read = read_xnnpack(serialize_xnnpack(graph, [DATA])).graph.xnodes[1].xnode_union
    assert isinstance(read, XNNELU)
    assert str(read.alpha) == "-0.0"
    graph.xnodes[1] = XNode(XNNELU(1e300, 3, 4))
    with pytest.raises(ExecutorchError, match=r"XNNELU\.alpha cannot be 1e\+300"):
        serialize_xnnpack(graph)


def test_roles() -> None:
    conv = roles_of(XNNConv2d())
    assert conv.operands == ("input1_id", "filter_id", "bias_id")
    assert conv.optional == {"bias_id"}
    assert roles_of(XNNConcatenate3()).operands == ("input1_id", "input2_id", "input3_id")
    assert roles_of(schema.XNNArgMaxPooling2d()).results == ("output_value_id", "output_index_id")
    assert kind_name(XNNConv2d()) == "Conv2d"


def test_bytes_of_constants() -> None:
    assert constant_bytes(D.fp32, [2, 3]) == 24
    assert constant_bytes(D.qcint4, [2, 5]) == 6
    assert constant_bytes(D.fp16, []) == 2


def test_old_blobs_have_their_constants_in_the_graph() -> None:
    graph = linear()
    graph.constant_data = []
    graph.constant_buffer = [Buffer(), Buffer(DATA), Buffer(b"12345678")]
    blob = bytes(encode(graph, b"XN00"))
    read = read_xnnpack(blob)
    assert bytes(read.constant(1, {})) == DATA
    assert read.graph.xnodes == graph.xnodes


def fails(blob: bytes | bytearray, message: str) -> None:
    with pytest.raises(InvalidFile, match=message) as caught:
        read_xnnpack(blob)
    assert caught.value.code == Error.DelegateInvalidCompatibility
    assert caught.value.offset is not None


@pytest.mark.parametrize(
    ("at", "code", "number", "message"),
    [
        (4, "4s", b"XH01", "magic b'XH01', expected b'XH00' at header, byte 0x4"),
        (8, "H", 29, "header claims 29 bytes; at least 30 are required at header, byte 0x8"),
        (10, "I", 8, "a graph of .* bytes from byte 8 in a blob of .* at header, byte 0xa"),
        (14, "I", 2**31, "a graph of 2147483648 bytes .* at header, byte 0xa; the blob may be cut short"),
        (14, "I", 4, "a flatbuffer of 4 bytes is too short"),
        (18, "I", 32, "overlap the graph or run past"),
        (22, "Q", 2**63, "overlap the graph or run past"),
        (36, "4s", b"XN02", "file identifier b'XN02', expected b'XN01' at file identifier, byte 0x24"),
    ],
)
def test_header_rules(at: int, code: str, number: bytes | int, message: str) -> None:
    blob = bytearray(serialize_xnnpack(linear(), [DATA]))
    pack_into("<" + code, blob, at, number)
    fails(blob, message)


def test_blobs_that_are_cut_short() -> None:
    blob = serialize_xnnpack(linear(), [DATA])
    for length in range(len(blob)):
        fails(blob[:length], "DelegateInvalidCompatibility")


def test_unknown_kind() -> None:
    graph = linear()
    blob = bytearray(serialize_xnnpack(graph, [DATA]))
    # The type of the union is the only byte that changes with the kind of a node of the same table.
    graph.xnodes[1] = XNode(schema.XNNTanh(3, 4))
    other = serialize_xnnpack(graph, [DATA])
    (at,) = [at for at in range(len(blob)) if blob[at] != other[at]]
    blob[at] = 48
    fails(blob, rf"unknown XNodeUnion 48 at xnodes\[1\]\.xnode_union, byte 0x{at:x}")


def tensor(graph: XNNGraph, index: int) -> XNNTensorValue:
    found = tensor_of(graph.xvalues[index])
    assert found is not None
    return found


def change(edit: Callable[[XNNGraph], object]) -> bytes:
    graph = linear()
    edit(graph)
    return serialize_xnnpack(graph, [DATA])


def parameters(graph: XNNGraph, **edits: object) -> None:
    quantized = graph.xvalues[1].xvalue_union
    assert isinstance(quantized, XNNQuantizedTensorValue)
    for name, edit in edits.items():
        setattr(quantized, name, edit)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda g: setattr(g.xnodes[0], "xnode_union", None), r"without a kind at xnodes\[0\]\.xnode_union"),
        (
            lambda g: setattr(g.xnodes[0], "xnode_union", XNNFullyConnected(9, 1, 2, 3)),
            r"FullyConnected of an unknown value 9 at xnodes\[0\]\.xnode_union\.input1_id",
        ),
        (
            lambda g: setattr(g.xnodes[0], "xnode_union", XNNFullyConnected(NO_VALUE, 1, 2, 3)),
            "unknown value 4294967295",
        ),
        (
            lambda g: setattr(g.xnodes[0], "xnode_union", XNNFullyConnected(0, 1, 2, 9)),
            r"writes an unknown value 9 at xnodes\[0\]\.xnode_union\.output_id",
        ),
        (lambda g: g.xnodes.reverse(), "Sigmoid reads value 3 before it is written"),
        (
            lambda g: setattr(g.xnodes[0], "xnode_union", XNNAdd(0, 3, 3)),
            r"Add reads value 3 before .* at xnodes\[0\]\.xnode_union\.input2_id",
        ),
        (
            lambda g: setattr(g.xnodes[1], "xnode_union", XNNSigmoid(3, 2)),
            "writes value 2, which is already written",
        ),
        (
            lambda g: setattr(g.xnodes[1], "xnode_union", XNNAdd(3, 2, 4)),
            r"Add reads constant 2, which is the bias of FullyConnected .* at xnodes\[1\].*\.input2_id",
        ),
        (lambda g: g.xnodes.append(g.xnodes[1]), "writes value 4, which is already written"),
        (lambda g: g.xnodes.pop(), r"value 4 is never written at output_ids\[0\]"),
        (lambda g: g.input_ids.append(9), r"unknown value 9 at input_ids\[1\]"),
        (
            lambda g: g.output_ids.append(3),
            "value 3, argument 4294967295 with flags 0, is neither input nor output",
        ),
        (lambda g: g.output_ids.append(4), "duplicate argument 1"),
        (lambda g: setattr(g, "num_externs", 3), r"3 arguments, but inputs and outputs are \[0, 1\]"),
        (
            lambda g: setattr(tensor(g, 3), "id_out", 0),
            r"duplicate id 0 at xvalues\[3\]\.xvalue_union\.id_out",
        ),
        (lambda g: setattr(tensor(g, 3), "id_out", NO_VALUE), "duplicate id"),
        (lambda g: setattr(g.xvalues[3], "xvalue_union", None), "value is not a tensor"),
        (lambda g: parameters(g, tensor_value=None), "value is not a tensor"),
        (lambda g: setattr(tensor(g, 3), "datatype", D.invalid), "elements of type invalid"),
        (lambda g: setattr(tensor(g, 3), "datatype", D.pfp32), "elements of type pfp32"),
        (lambda g: setattr(tensor(g, 3), "datatype", D.qint8), "qint8 elements without quantization"),
        (lambda g: setattr(tensor(g, 3), "num_dims", 3), "3 dimensions, 2 of them given"),
        (lambda g: setattr(tensor(g, 3), "dims", [2**31, 2**31]), "a tensor of 4611686018427387904 elements"),
        (lambda g: setattr(tensor(g, 2), "constant_buffer_idx", 3), "constant 3 where there are 3"),
        (lambda g: setattr(g.constant_data[1], "size", 9), r"bytes 0\.\.9 of 8 .* at constant_data\[1\]"),
        (lambda g: setattr(g.constant_data[2], "offset", 0), "named 'bias', and at offset 0 too"),
        (lambda g: g.constant_buffer.append(Buffer(b"1")), "constants both inside and after the graph"),
        (lambda g: parameters(g, quant_params=None), "no parameters for elements of type qcint8"),
        (lambda g: parameters(g, quant_params=PerTensorQuant(1.0, 0)), "PerTensorQuant for elements of type"),
        (lambda g: parameters(g, quant_params=PerChannelQuant([1.0] * 2, 2)), "along dimension 2 of 2"),
        (lambda g: parameters(g, quant_params=PerChannelQuant([1.0] * 3, 0)), "3 scales where there are 2"),
        (lambda g: parameters(g, quant_params=PerChannelQuant([], 0, 9, 2)), "constant 9 where there are 3"),
        (
            lambda g: (
                setattr(tensor(g, 1), "datatype", D.qbint4),
                parameters(g, quant_params=PerChannelGroupQuant([], 0, 3, 1, 2)),
            ),
            "groups of 3 of 4 elements",
        ),
        (
            lambda g: (
                setattr(tensor(g, 1), "datatype", D.qbint4),
                parameters(g, quant_params=PerChannelGroupQuant([], 0, 2, 1, 2)),
            ),
            "2 scales where there are 4 channels or groups",
        ),
        (
            lambda g: (
                setattr(tensor(g, 1), "datatype", D.qdint8),
                parameters(g, quant_params=PerTokenDynamicQuant(3)),
            ),
            "rows of 3 dimensions of 2",
        ),
    ],
)
def test_graph_rules(edit: Callable[[XNNGraph], object], message: str) -> None:
    fails(change(edit), message)


def test_nothing_that_is_missing_is_named() -> None:
    with pytest.raises(InvalidFile, match=r"no data named 'bias' at constant_data\[2\]\.named_key"):
        read_xnnpack(serialize_xnnpack(linear(), [DATA])).constant(2, {})


def test_transposes_keep_their_vectors() -> None:
    graph = linear()
    graph.xnodes[1] = XNode(XNNStaticTranspose(2, [1, 0], 3, 4))
    assert read_xnnpack(serialize_xnnpack(graph, [DATA])).graph == graph
