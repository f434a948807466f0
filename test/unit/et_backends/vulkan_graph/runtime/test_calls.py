"""Operator calls of Vulkan graphs on the portable kernels: arguments, types, sizes known at run time, and errors."""

import numpy as np
import pytest
from support.vulkan_graphs import Build, D, argument, empty, linear

from et_backends.vulkan_graph.runtime.backend import VulkanGraphBackend
from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_vm.backend import BackendExecuteContext, BackendInitContext
from et_vm.platform import Platform
from et_vm.tracer import EventTracer


class Events(EventTracer):
    def __init__(self):
        self.names = []

    def on_delegate(self, method, instruction, identifier, name, start, end):
        self.names.append((identifier, name))


def run(build, *inputs, outputs=None, tracer=None, poison=True):
    """The outputs of a graph, in the types that it declares unless `outputs` are given."""
    platform, backend = Platform(), VulkanGraphBackend()
    context = BackendInitContext(platform, tracer, "forward", {}, poison=poison and tracer is None)
    handle = backend.init(context, memoryview(build.blob()), [])
    made = empty(build) if outputs is None else list(outputs)
    args = [one if isinstance(one, int) else argument(one) for one in inputs]
    for _ in range(2):
        backend.execute(BackendExecuteContext(platform, tracer, "forward"), handle, [*args, *made])
    return [one.array for one in made]


def test_constants_and_shared_memory():
    x = np.array([[1, -1, 2], [-3, 0, 1]], np.float32)
    (y,) = run(linear(), x)
    weight = np.arange(12, dtype=np.float32).reshape(4, 3)
    assert np.array_equal(y, np.maximum(x @ weight.T + 1, 0))


def test_events_have_the_identifiers_of_calls():
    build = linear()
    build.graph.chain[3].node_id = 40
    events = Events()
    run(build, np.ones((2, 3), np.float32), tracer=events)
    assert events.names[:2] == [(2, "aten::linear.out"), (40, "aten::relu.out")]


def test_memory_report():
    backend = VulkanGraphBackend()
    handle = backend.init(BackendInitContext(Platform(), None, "f", {}), memoryview(linear().blob()), [])
    assert backend.memory_report(handle)["arenas"] >= 32


def test_numbers_that_are_equal_are_one_value():
    """The writer of graphs makes one value of 1 and 1.0: the schema says what it is."""
    build = Build()
    one, axis = build.literal(1.0), build.literal(0.0)
    n = build.input(3, datatype=D.INT32)
    build.call("aten.add.Tensor", n, n, one, total := build.output(3, datatype=D.INT32))
    build.call("aten.unsqueeze_copy.default", total, axis, build.output(1, 3, datatype=D.INT32))
    build.call(
        "aten.elu.default", x := build.input(3), build.literal(1), one, build.literal(1), build.output(3)
    )
    del x
    total, row, made = run(build, np.array([1, 2, 3], np.int32), np.array([1, 0, 2], np.float32))
    assert total.tolist() == [2, 4, 6]
    assert row.tolist() == [[2, 4, 6]]
    assert made.tolist() == [1, 0, 2]


def test_integers_of_64_bits_have_32_in_graphs():
    build = Build()
    staged = {"datatype": D.INT32, "staging_datatype": D.INT32}
    table = build.constant(np.arange(8, dtype=np.float32).reshape(4, 2))
    indices = build.input(2, 2, **staged)
    last, keep, none, off = build.literal(1), build.literal(False), build.literal(-1), build.literal(False)
    rows = build.call("aten.embedding.default", table, indices, none, off, off, build.tensor(2, 2, 2))
    build.call("aten.argmax.default", rows, last, keep, build.output(2, 2, **staged))
    place = build.call("aten.gather.default", table, last, indices, off, build.output(2, 2))
    del place
    given = np.array([[0, 1], [1, 0]], np.int64)
    outputs = [argument(np.zeros((2, 2), np.int64)), argument(np.zeros((2, 2), np.float32))]
    places, gathered = run(build, given, outputs=outputs)
    assert places.tolist() == [[1, 1], [0, 0]]
    assert gathered.tolist() == [[0, 1], [3, 2]]
    with pytest.raises(ExecutorchError, match="input 0 has integers that int32 does not hold"):
        run(build, given + 2**40, outputs=outputs)


def test_types_of_results_are_those_of_the_graph():
    build = Build()
    x = build.input(2, 3)
    none = build.literal(None)
    build.call(
        "aten._to_copy.default",
        x,
        *[none] * 4,
        build.literal(False),
        none,
        build.output(2, 3, datatype=D.INT32),
    )
    axes, keep = build.literal([1]), build.literal(False)
    n = build.input(2, 2, datatype=D.INT32)
    build.call("aten.sum.dim_IntList", n, axes, keep, none, build.output(2, datatype=D.INT32))
    half = build.call(
        "aten._to_copy.default", x, *[none] * 4, keep, none, build.tensor(2, 3, datatype=D.FLOAT16)
    )
    build.call("aten.exp.default", half, build.output(2, 3, datatype=D.FLOAT16))
    whole, total, grown = run(build, np.full((2, 3), 1.75, np.float32), np.array([[1, 2], [3, 4]], np.int32))
    assert whole.tolist() == [[1] * 3] * 2
    assert total.tolist() == [3, 7]
    assert grown.dtype == np.float16
    assert np.allclose(grown, np.exp(1.75), rtol=1e-3)


def test_half_precision_inside():
    """Floats of the program are halves in a graph that is compiled so."""
    build = Build()
    halves = {"datatype": D.FLOAT16, "staging_datatype": D.FLOAT32}
    build.call("aten.relu.default", build.input(2, **halves), build.output(2, **halves))
    (made,) = run(build, np.array([-1, 0.1], np.float32), outputs=[argument(np.zeros(2, np.float32))])
    assert made.tolist() == [0, float(np.float16(0.1))]


def test_several_results_and_lists():
    build = Build()
    x = build.input(2, 4)
    outs = [build.tensor(2, 4), build.tensor(2, 1), build.tensor(2, 1)]
    none = build.literal(None)
    build.call(
        "aten.native_layer_norm.default",
        x,
        build.literal([4]),
        none,
        none,
        build.literal(1e-5),
        build.values(*outs),
    )
    parts = [build.tensor(2, 1), build.tensor(2, 3)]
    sizes, dim = build.literal([1, 3]), build.literal(1)
    build.call("aten.split_with_sizes_copy.default", outs[0], sizes, dim, build.values(*parts))
    build.call("aten.cat.default", build.values(*reversed(parts)), dim, build.output(2, 4))
    rows = build.constant(np.array([1, 0, 1], np.int32))
    build.call("aten.index.Tensor", x, build.values(rows), build.output(3, 4))
    columns = build.constant(np.array([3, 0], np.int32))
    build.call("aten.index.Tensor", x, build.values(none, columns), build.output(2, 2))
    given = np.array([[1, 2, 3, 4], [4, 3, 2, 1]], np.float32)
    turned, chosen, picked = run(build, given)
    normed = (given - 2.5) / np.sqrt(1.25 + 1e-5)
    assert np.allclose(turned, np.roll(normed, -1, axis=1), atol=1e-6)
    assert np.array_equal(chosen, given[[1, 0, 1]])
    assert np.array_equal(picked, given[:, [3, 0]])


def test_sizes_known_at_run_time():
    build = Build()
    x = build.input(4, 6)
    rows = build.call("sym_size.int", x, build.literal(0), build.symint())
    half = build.call(
        "floordiv",
        build.call("mul", rows, build.literal(6), build.symint()),
        build.literal(2),
        build.symint(),
    )
    build.call("aten.view_copy.default", x, build.values(half, build.literal(2)), build.output(12, 2))
    outputs = empty(build)
    outputs[0].dynamism = 1
    given = np.arange(12, dtype=np.float32).reshape(2, 6)
    (made,) = run(build, given, outputs=outputs)
    assert np.array_equal(outputs[0].array, given.reshape(6, 2))
    del made


@pytest.mark.parametrize("as_tensor", [False, True])
def test_numbers_that_are_arguments(as_tensor):
    build = Build()
    x = build.input(3)
    start = build.symint()
    build.graph.input_ids.append(start)
    args = build.literal(0), start, build.literal(None), build.literal(1)
    build.call("aten.slice_copy.Tensor", x, *args, build.output(3))
    outputs = empty(build)
    outputs[0].dynamism = 1
    run(build, np.arange(3, dtype=np.float32), np.array(1) if as_tensor else 1, outputs=outputs)
    assert outputs[0].array.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "count", "message"),
    [
        ("et_vk.q4gsw_requant.default", 1, "no kernel for the operator 'et_vk.q4gsw_requant.default'"),
        ("aten.no_such.default", 1, "no kernel for the operator 'aten.no_such.default'"),
        ("aten.relu.default", 2, r"2 arguments for relu"),
        ("et_vk.prepack.default", 2, "2 arguments, expected 1"),
    ],
)
def test_calls_that_are_refused(name, count, message):
    build = Build()
    x = build.input(2)
    build.call(name, *[x] * count, build.output(2))
    with pytest.raises(ExecutorchError, match=message) as caught:
        run(build, np.ones(2, np.float32))
    assert caught.value.where.startswith("chain[0]")


def test_shapes_that_do_not_fit():
    build = Build()
    build.call("aten.mm.default", build.input(2, 3), build.input(2, 3), build.output(2, 3))
    with pytest.raises(ExecutorchError, match=r"aten::mm\.out"):
        run(build, np.ones((2, 3), np.float32), np.ones((2, 3), np.float32))


def test_a_result_that_is_a_constant():
    build = Build()
    build.call("aten.relu.default", build.input(2), build.constant(np.ones(2, np.float32)))
    with pytest.raises(InvalidFile) as caught:
        run(build, np.ones(2, np.float32))
    assert caught.value.code is Error.DelegateInvalidCompatibility


def test_bool_constants_of_other_bytes():
    build = Build()
    mask = build.constant(np.array([True, False]))
    build.data[0] = 2
    build.call("aten.logical_not.default", mask, build.output(2, datatype=D.BOOL))
    with pytest.raises(InvalidFile, match="bool constant with bytes other than 0 and 1"):
        run(build)


def test_arguments_of_other_types():
    build = Build()
    build.call("aten.relu.default", build.input(2), build.output(2))
    with pytest.raises(ExecutorchError, match="input 0 is int32, the graph takes float32"):
        run(build, np.ones(2, np.int32))
    with pytest.raises(ExecutorchError, match="output 0 is int32, the graph gives float32"):
        run(build, np.ones(2, np.float32), outputs=[argument(np.zeros(2, np.int32))])
    with pytest.raises(ExecutorchError, match="the call has 1 arguments, the graph 1 inputs and 1 outputs"):
        run(build, outputs=[argument(np.ones(2, np.float32))])
    with pytest.raises(ExecutorchError, match="input 0 is not a tensor"):
        run(build, 1)


def test_arguments_of_other_sizes():
    build = Build()
    build.call("aten.relu.default", build.input(2), build.output(2))
    with pytest.raises(ExecutorchError, match="upper bound"):
        run(build, np.ones(3, np.float32))


def test_the_blob_is_kept_only_for_its_constants():
    build = Build()
    build.call("aten.relu.default", build.input(2), build.output(2))
    for blob, is_kept in ((build.blob(), False), (linear().blob(), True)):
        view = memoryview(blob)
        VulkanGraphBackend().init(BackendInitContext(Platform(), None, "f", {}), view, [])
        assert _is_released(view) is not is_kept


def _is_released(view):
    try:
        len(view)
    except ValueError:
        return True
    return False
