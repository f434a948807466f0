"""Delegates: binding to arguments, other sizes, memory, and invalid graphs."""

import itertools

import numpy as np
import pytest
from support.xnnpack_graphs import UNBOUND, Build, D, allocate, call, tensor

from et_backends.xnnpack.format import graph as schema
from et_backends.xnnpack.format.graph import ConstantDataOffset, PerTensorQuant, XNNTensorValue, XValue
from et_backends.xnnpack.format.nodes import NO_OFFSET, NO_VALUE
from et_backends.xnnpack.runtime import XnnpackBackend
from et_backends.xnnpack.runtime.memory import Pool
from et_schema.errors import Error, ExecutorchError, InvalidFile, OutOfMemory
from et_schema.scalar_type import ScalarType
from et_vm.backend import BackendInitContext
from et_vm.platform import Platform
from et_vm.tracer import EventTracer
from et_vm.values import Tensor


def chain(count, *sizes):
    """Values that are each the square root of the one before."""
    build = Build()
    ids = [build.input(*sizes), *(build.value(*sizes) for _ in range(count - 1)), build.output(*sizes)]
    for source, target in itertools.pairwise(ids):
        build.node(schema.XNNSquareRoot(source, target))
    return build


def test_values_share_memory_when_they_do_not_live_together():
    build = chain(10, 1000)
    handle = build.load()
    assert handle._plan._pool.nbytes < 4 * (4000 + 64)
    x = np.full(1000, 2.0, np.float32)
    assert np.allclose(build.run(x, handle=handle), 2.0 ** (1 / 1024))


def test_other_sizes_are_planned_when_they_come():
    build = chain(3, 4, 5)
    handle = build.load()
    for sizes in ((4, 5), (2, 3), (7, 1), (4, 5), (0, 3)):
        x = np.random.default_rng(0).random(sizes, np.float32)
        assert np.allclose(build.run(x, handle=handle), x**0.125)


def test_nothing_is_bound_again_for_the_same_arguments():
    build = chain(1, 4)
    handle = build.load()
    x, out = tensor(np.ones(4, np.float32)), tensor(np.zeros(4, np.float32))
    call(handle, [x, out])
    steps = handle._steps
    x.array[:] = 9
    call(handle, [x, out])
    assert handle._steps is steps
    assert out.array.tolist() == [3] * 4


def test_arguments_are_taken_in_the_order_of_memory():
    """A channels-last image is (N, H, W, C) to the graph."""
    build = Build()
    build.node(schema.XNNSquare(build.input(1, 2, 3, 4), build.output(1, 2, 3, 4)))
    x = np.arange(24, dtype=np.float32).reshape(1, 4, 2, 3)
    out = Tensor(ScalarType.FLOAT, (0,) * 4, (0, 2, 3, 1), dynamism=UNBOUND, allocate=allocate)
    call(build.load(), [tensor(x, (0, 2, 3, 1)), out])
    assert out.sizes == (1, 4, 2, 3)
    assert np.array_equal(out.array, x**2)


def test_an_output_that_is_an_input_too_many():
    build = chain(1, 4)
    with pytest.raises(ExecutorchError, match="argument 1 of 1 must be a tensor, not None"):
        call(build.load(), [tensor(np.ones(4, np.float32))])
    with pytest.raises(ExecutorchError, match="argument 0 of 2 must be a tensor, not 3"):
        call(build.load(), [3, tensor(np.ones(4, np.float32))])


def test_arguments_of_other_types():
    x, out = tensor(np.ones(4, np.float16)), tensor(np.ones(4, np.float32))
    with pytest.raises(ExecutorchError, match="is the argument for"):
        call(chain(1, 4).load(), [x, out])
    with pytest.raises(ExecutorchError, match="is the argument for"):
        call(chain(1, 4).load(), [out, x])


def test_an_output_without_room():
    with pytest.raises(ExecutorchError, match="cannot resize"):
        call(chain(1, 4).load(), [tensor(np.ones(4, np.float32)), tensor(np.ones(3, np.float32))])


def test_sizes_that_a_node_does_not_take():
    build = Build()
    build.node(schema.XNNStaticReshape(2, [2, 3], build.input(6), build.output(2, 3)))
    handle = build.load()
    with pytest.raises(ExecutorchError, match="StaticReshape: argument 'new_shape'"):
        build.run(np.ones(7, np.float32), handle=handle)
    assert build.run(np.ones(6, np.float32), handle=handle).shape == (2, 3)


def test_an_output_that_is_an_input():
    """Reshaping and copying need no step, but an output of the graph is a copy."""
    build = Build()
    x, y = build.input(6), build.output(2, 3)
    build.node(schema.XNNStaticReshape(2, [2, 3], x, y))
    build.node(schema.XNNNegate(y, build.output(2, 3)))
    first, second = build.run(np.arange(6, dtype=np.float32))
    assert np.array_equal(first.reshape(-1), np.arange(6))
    assert np.array_equal(second, -first)


def test_named_data():
    build = Build()
    index = len(build.graph.constant_data)
    build.graph.constant_data.append(ConstantDataOffset(NO_OFFSET, 16, "four"))
    build.graph.xvalues.append(XValue(XNNTensorValue(D.fp32, 1, [4], index, NO_VALUE, 0, 0)))
    build.node(schema.XNNAdd(build.input(4), 0, build.output(4)))
    data = memoryview(np.arange(4, dtype=np.float32)).cast("B")
    assert build.run(np.ones(4, np.float32), handle=build.load({"four": data})).tolist() == [1, 2, 3, 4]
    # Data that does not lie where numbers may is copied.
    odd = memoryview(b"1" + bytes(data))[1:]
    assert build.run(np.ones(4, np.float32), handle=build.load({"four": odd})).tolist() == [1, 2, 3, 4]
    with pytest.raises(InvalidFile, match="the program has no data named 'four'"):
        build.load()
    with pytest.raises(InvalidFile, match=r"15 bytes, expected 16 at xvalues\[0\]") as caught:
        build.load({"four": data[:15]})
    assert caught.value.code == Error.DelegateInvalidCompatibility


def test_values_of_what_nothing_is_computed_in():
    build = Build()
    target = build.output(4, datatype=D.qint32, parameters=PerTensorQuant(1.0, 0))
    build.node(schema.XNNCopy(build.input(4), target))
    with pytest.raises(InvalidFile, match="elements of type qint32 that are computed"):
        build.load()


def test_limits_in_the_wrong_order():
    build = Build()
    build.node(schema.XNNAbs(build.input(4), build.output(4)), (1, 0))
    with pytest.raises(InvalidFile, match=r"an output from 1\.0 to 0\.0 at xnodes\[0\]\.output_min_max"):
        build.load()


def test_values_that_no_memory_holds():
    build = chain(2, 2**22, 2**22)
    with pytest.raises(OutOfMemory):
        build.load()
    small = chain(2, 1000)
    assert small.load(platform=Platform(memory_limit=20_000))
    with pytest.raises(OutOfMemory, match="left of a limit of 3000"):
        small.load(platform=Platform(memory_limit=3000))


def test_events_of_nodes():
    class Events(EventTracer):
        def __init__(self):
            self.seen = []

        def on_delegate(self, method, index, identifier, name, start, end):
            assert start <= end
            self.seen.append((method, index, identifier, name))

    build, events = chain(2, 4), Events()
    x, out = tensor(np.full(4, 16, np.float32)), tensor(np.zeros(4, np.float32))
    call(build.load(), [x, out], events)
    assert events.seen == [("forward", 0, "node 100", "SquareRoot"), ("forward", 0, "node 101", "SquareRoot")]
    assert out.array.tolist() == [2] * 4


def test_memory_is_accounted_for():
    build = Build()
    x, y = build.input(3, 64), build.value(3, 32)
    weight = build.constant(np.ones((32, 64), np.float32))
    build.node(schema.XNNFullyConnected(x, weight, NO_VALUE, y, 0))
    eights = build.constant(np.ones((16, 32), np.int8), D.qint8, PerTensorQuant(0.5, 0))
    build.node(schema.XNNFullyConnected(y, eights, NO_VALUE, build.output(3, 16), 0))
    report = build.load().memory_report()
    # The result lies where the input was.
    assert report["values"] == 4 * (3 * 64 + 3 * 32)
    # The matrix the other way round, and the scale of the integers, which stay in the file.
    assert report["derived constants"] == 4 * (32 * 64 + 1)
    assert report["scratch"] == 4 * 16 * 32


@pytest.mark.parametrize(("outputs", "inputs"), [(48, 33), (700, 1024)])
@pytest.mark.parametrize("bits", [8, 4])
def test_weights_stay_integers(bits, outputs, inputs):
    """Scales are derived, and one block of rows at a time is in float32; the numbers are those of the whole matrix."""
    rng = np.random.default_rng(1)
    half = 1 << (bits - 1)
    levels = rng.integers(-half, half, (outputs, inputs))
    scales = rng.uniform(0.01, 0.02, outputs).astype(np.float32)
    stored, kind = levels.astype(np.int8), D.qcint8
    if bits == 4:
        padded = np.pad(levels + 8, ((0, 0), (0, inputs % 2))).astype(np.uint8)
        stored, kind = padded[:, 1::2] << 4 | padded[:, ::2], D.qcint4
    build = Build()
    x = build.input(3, inputs)
    parameters = schema.PerChannelQuant(scale=scales.tolist(), channel_dim=0)
    weight = build.constant(stored, kind, parameters, dims=(outputs, inputs))
    build.node(schema.XNNFullyConnected(x, weight, NO_VALUE, build.output(3, outputs), 0))
    report = build.load().memory_report()
    assert report["derived constants"] == 4 * outputs
    assert report["scratch"] <= 1 << 20
    given = rng.normal(size=(3, inputs)).astype(np.float32)
    got = build.run(given)
    whole = levels.astype(np.float32) * scales[:, None]
    np.testing.assert_allclose(got, given @ whole.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("inside", [True, False])
def test_a_blob_is_released_when_nothing_in_it_is_needed(inside):
    build = chain(1, 4)
    if inside:
        build.node(schema.XNNAdd(0, build.constant(np.ones(4, np.float32)), build.output(4)))
    blob = memoryview(build.blob())
    handle = XnnpackBackend().init(BackendInitContext(Platform(), None, "forward", {}), blob, [])
    if inside:
        assert blob.nbytes
    else:
        with pytest.raises(ValueError, match="released"):
            _ = blob.nbytes
    x = np.full(4, 4, np.float32)
    assert np.ravel(build.run(x, handle=handle))[:4].tolist() == [2] * 4


def test_pool():
    pool = Pool(Platform().allocate)
    large, small = pool.take(4096), pool.take(64)
    assert all(block.ctypes.data % 64 == 0 for block in (large, small))
    pool.give(large)
    pool.give(small)
    # Not a large block for little.
    assert pool.take(32) is small
    assert pool.take(32) is not large
    assert pool.take(2000) is large


def arguments(*arrays):
    return [tensor(np.array(array, np.float32)) for array in arrays]


def reshaped():
    """An output that the product becomes by a reshape, after two copies."""
    build = Build()
    x, y, z = build.input(6), build.value(6), build.value(6)
    build.node(schema.XNNNegate(x, y))
    build.node(schema.XNNCopy(y, z))
    build.node(schema.XNNStaticReshape(2, [2, 3], z, build.output(2, 3)))
    return build


def test_arguments_are_the_memory_of_values():
    for build, sizes in ((chain(2, 6), (6,)), (reshaped(), (2, 3))):
        args = arguments(np.full(6, 16), np.zeros(sizes))
        handle = build.load(arguments=args)
        plan = handle._plan
        call(handle, args)
        assert handle._plan is plan
        assert handle._steps == tuple(plan.steps)
        expected = [2] * 6 if len(sizes) == 1 else [-16] * 6
        assert args[1].array.reshape(-1).tolist() == expected


def test_what_is_not_known_at_load_is_planned_at_the_first_call():
    handle = chain(2, 6).load(arguments=[None, None])
    args = arguments(np.full(6, 16), np.zeros(6))
    call(handle, args)
    assert handle._steps == tuple(handle._plan.steps)
    assert args[1].array.tolist() == [2] * 6


def test_arguments_that_move_are_copied_and_planned_once_for_it():
    first, second = arguments(np.full(6, 16), np.zeros(6)), arguments(np.full(6, 81), np.zeros(6))
    handle = chain(2, 6).load(arguments=first)
    call(handle, first)
    call(handle, [second[0], first[1]])
    assert first[1].array.tolist() == [3] * 6
    moved = handle._plan
    call(handle, first)
    call(handle, [second[0], first[1]])
    assert handle._plan is moved
    call(handle, second)
    assert second[1].array.tolist() == [3] * 6
    moved = handle._plan
    for args, expected in ((first, 2), (second, 3), (first, 2)):
        call(handle, args)
        assert args[1].array.tolist() == [expected] * 6
    assert handle._plan is moved


def test_an_output_that_lies_in_an_input_is_written_at_the_end():
    storage = np.zeros(40, np.uint8)
    x = Tensor(ScalarType.FLOAT, (6,), storage=storage[:24])
    out = Tensor(ScalarType.FLOAT, (6,), storage=storage[8:32])
    build = Build()
    source, middle = build.input(6), build.value(6)
    build.node(schema.XNNNegate(source, middle))
    build.node(schema.XNNAdd(middle, source, build.output(6)))
    x.array[:] = range(6)
    call(build.load(arguments=[x, out]), [x, out])
    assert out.array.tolist() == [0] * 6


def test_inputs_keep_what_they_hold():
    """Their memory goes to no other value."""
    build = Build()
    source, *values = build.input(1000), build.value(1000), build.value(1000), build.output(1000)
    for value in values:
        build.node(schema.XNNNegate(source, value), (-2, 2))
        source = value
    x, out = arguments(np.full(1000, 9), np.zeros(1000))
    call(build.load(arguments=[x, out]), [x, out])
    assert (x.array == 9).all()
    assert (out.array == -2).all()


def test_outputs_that_are_one_value_in_two_shapes():
    build = Build()
    x, y = build.input(6), build.value(6)
    build.node(schema.XNNNegate(x, y))
    for sizes in ((2, 3), (3, 2)):
        build.node(schema.XNNStaticReshape(2, list(sizes), y, build.output(*sizes)))
    args = arguments(range(6), np.zeros((2, 3)), np.zeros((3, 2)))
    call(build.load(arguments=args), args)
    assert all(arg.array.reshape(-1).tolist() == [0, -1, -2, -3, -4, -5] for arg in args[1:])


def test_results_are_written_over_operands_that_are_read_for_the_last_time():
    build = Build()
    x, y, doubled, small = (build.value(4000) for _ in range(4))
    source, column = build.input(4000), build.input(1)
    build.node(schema.XNNAbs(source, x))
    build.node(schema.XNNAdd(x, x, doubled))
    build.node(schema.XNNMultiply(doubled, column, y))
    build.node(schema.XNNSubtract(x, y, small))
    build.node(schema.XNNHardswish(small, build.output(4000)))
    a = np.random.default_rng(0).random(4000, np.float32)
    handle = build.load()
    result = build.run(a, np.full(1, 0.25, np.float32), handle=handle)
    half = a / 2
    np.testing.assert_allclose(result, half * (half + 3) / 6, rtol=1e-5)
    tensors = handle._plan.tensors
    places = {value: tensors[value].storage.ctypes.data for value in (x, doubled, y, small)}
    assert places[x] == places[small] != places[doubled] == places[y]


def numbers(*sizes):
    return np.arange(1.0, 1.0 + np.prod(sizes), dtype=np.float32).reshape(sizes)


def bounded_concatenation():
    """Two inputs of at most four rows that have five together."""
    build = Build()
    x, y = build.input(4, 2), build.input(4, 2)
    both, out = build.value(5, 2), build.output(5, 2)
    build.node(schema.XNNConcatenate2(axis=0, input1_id=x, input2_id=y, output_id=both))
    build.node(schema.XNNNegate(both, out))
    return build


def test_sizes_of_concatenations_whose_bounds_are_not_reached_together():
    build = bounded_concatenation()
    handle = build.load()
    for rows in ((2, 3), (4, 1), (1, 1)):
        parts = [numbers(count, 2) for count in rows]
        np.testing.assert_array_equal(build.run(*parts, handle=handle), -np.concatenate(parts))


@pytest.mark.parametrize("rows", [(4, 4), (3, 3)])
def test_sizes_of_concatenations_beyond_what_is_declared(rows):
    build = bounded_concatenation()
    with pytest.raises(ExecutorchError, match=r"declared as \[5, 2\]"):
        build.run(*(numbers(count, 2) for count in rows), handle=build.load())
