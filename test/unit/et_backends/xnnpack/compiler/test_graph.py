from et_backends.xnnpack.compiler.graph import GraphBuilder, ValueType
from et_backends.xnnpack.format.blob import read_xnnpack, serialize_xnnpack
from et_backends.xnnpack.format.check import check_graph
from et_backends.xnnpack.format.graph import (
    OutputMinMax,
    PerTensorQuant,
    XNNAbs,
    XNNAdd,
    XNNDatatype,
    XNNFullyConnected,
    XNNQuantizedTensorValue,
    XNNStaticReshape,
)
from et_backends.xnnpack.format.nodes import tensor_of
from et_ir.data import Blob

F32 = ValueType(XNNDatatype.fp32)


def test_a_graph_is_read_back():
    graph = GraphBuilder()
    x = graph.input(F32, [2])
    w = graph.constant(F32, [2], Blob.of("w", b"12345678"))
    y = graph.output(F32, [2], 1)
    graph.node(XNNAdd(input1_id=x, input2_id=w, output_id=y), OutputMinMax(0.0, 6.0), 3)
    made = graph.finish()
    again = read_xnnpack(serialize_xnnpack(made)).graph
    assert again == made
    assert (again.num_externs, again.input_ids, again.output_ids) == (2, [x], [y])


def test_equal_constants_are_one_value_and_equal_bytes_one_name():
    graph = GraphBuilder()
    first = graph.constant(F32, [2], Blob.of("a", b"12345678"))
    assert graph.constant(F32, [2], Blob.of("b", b"12345678")) == first
    assert graph.constant(F32, [1, 2], Blob.of("a", b"12345678")) != first
    made = graph.finish()
    assert len(made.constant_data) == 2
    output = graph.data.get_named_data_store_output()
    assert [made.constant_data[1].named_key] == list(output.pte_data)


def test_constants_that_nodes_pack_and_others_read_are_two_values():
    graph = GraphBuilder()
    x, b = graph.input(F32, [2, 2]), graph.constant(F32, [2], Blob.of("b", b"12345678"))
    w = graph.constant(F32, [2, 2], Blob.of("w", bytes(16)))
    values = [graph.value(F32, [2, 2]), graph.value(F32, [2, 2]), graph.output(F32, [2, 2], 1)]
    for source, result in zip((x, *values), values[:2], strict=False):
        graph.node(XNNFullyConnected(input1_id=source, filter_id=w, bias_id=b, output_id=result))
    graph.node(XNNAdd(input1_id=values[1], input2_id=b, output_id=values[2]))
    made = graph.finish()
    check_graph(made, 0)
    first, second, add = (node.xnode_union for node in made.xnodes)
    assert isinstance(first, XNNFullyConnected)
    assert isinstance(second, XNNFullyConnected)
    assert isinstance(add, XNNAdd)
    assert (first.filter_id, first.bias_id) == (second.filter_id, second.bias_id)
    assert add.input2_id != first.bias_id
    assert len(made.constant_data) == 3  # the data is there once


def test_outputs_are_in_the_order_of_their_arguments():
    graph = GraphBuilder()
    graph.input(F32, [1])
    late, early = graph.output(F32, [1], 2), graph.output(F32, [1], 1)
    assert graph.finish().output_ids == [early, late]


def test_reshapes_of_reshapes_read_the_first_and_what_nothing_reads_is_dropped():
    graph = GraphBuilder()
    x = graph.input(F32, [6])
    once, twice, y = graph.value(F32, [2, 3]), graph.value(F32, [3, 2]), graph.output(F32, [3, 2], 1)
    graph.node(XNNStaticReshape(num_dims=2, new_shape=[2, 3], input_id=x, output_id=once))
    graph.node(XNNStaticReshape(num_dims=2, new_shape=[3, 2], input_id=once, output_id=twice))
    graph.node(XNNAbs(input_id=twice, output_id=y))
    made = graph.finish()
    reshape, last = (node.xnode_union for node in made.xnodes)
    assert isinstance(reshape, XNNStaticReshape)
    assert isinstance(last, XNNAbs)
    assert reshape.input_id == made.input_ids[0]
    assert reshape.output_id == last.input_id
    assert [last.output_id] == made.output_ids
    assert [tensor.id_out for value in made.xvalues if (tensor := tensor_of(value))] == [0, 1, 2]


def test_quantized_values_and_scales_of_channels():
    graph = GraphBuilder()
    quantization = PerTensorQuant(scale=0.5, zero_point=3)
    x = graph.input(ValueType(XNNDatatype.qint8, quantization), [2, 2])
    scales = Blob.of("s", b"\0\0\x80\x3f" * 2)
    channels = graph.channel_scales(scales, 0)
    assert graph.channel_scales(scales, 0) == channels
    w = graph.constant(ValueType(XNNDatatype.qcint8, channels), [2, 2], Blob.of("w", b"1234"))
    y = graph.output(ValueType(XNNDatatype.qint8, quantization), [2, 2], 1)
    graph.node(XNNAdd(input1_id=x, input2_id=w, output_id=y))
    made = graph.finish()
    assert read_xnnpack(serialize_xnnpack(made)).graph == made
    first, second, _ = (value.xvalue_union for value in made.xvalues)
    assert isinstance(first, XNNQuantizedTensorValue)
    assert isinstance(second, XNNQuantizedTensorValue)
    assert (first.quant_params, second.quant_params) == (quantization, channels)
    assert made.constant_data[channels.scale_buffer_idx].named_key == f"scale_{scales.sha256}"
    assert channels.num_scales == 2
