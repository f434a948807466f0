"""The runtime in C on this machine: values of et_vm, state, sizes known when it runs, limits and events."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from support.micro_programs import arrays, digits, quantized_digits, runtime_for, runtime_of
from support.vm_programs import BOUND, Build

from et_schema.errors import Error, ExecutorchError
from et_schema.scalar_type import ScalarType
from et_vm.devtools.etdump import ETDumpTracer
from et_vm.devtools.inspector import Inspector
from et_vm.micro.host import HostLibrary
from et_vm.micro.kernels import KERNELS, Kernel
from et_vm.micro.selection import Selection
from et_vm.program import Program
from et_vm.tracer import RecordingTracer


def both(folder: Path, file: bytes):
    """A method of a program on et_vm, and on the runtime in C."""
    return Program.load(file).load_method("forward"), runtime_for(folder, file).load(file).load_method(
        "forward"
    )


def test_digits_of_integers(tmp_path):
    reference, method = both(tmp_path, quantized_digits())
    for image in arrays(20):
        assert np.array_equal(method.execute([image])[0], reference.execute([image])[0])


@pytest.mark.parametrize("target", ["stock-1.5", "et-vm"])
def test_digits_of_floats(tmp_path, target):
    reference, method = both(tmp_path, digits(target))
    for image in arrays(5):
        np.testing.assert_allclose(
            method.execute([image])[0], reference.execute([image])[0], rtol=1e-5, atol=1e-5
        )


def counter() -> Build:
    """Adds its input to state as often as its first dimension says."""
    build = Build()
    x, total = build.tensor(3, 2, dynamism=BOUND), build.state(np.zeros((1, 2), np.float32), name="total")
    part, one, zero = build.tensor(1, 2), build.scalar(1), build.scalar(0)
    rows, at, after, more, alpha = (build.scalar(value) for value in (None, 0, None, None, 1))
    build.call("aten::sym_size.int", x, zero, rows)
    start = build.call("executorch_prim::add.Scalar", at, one, after)
    build.call("aten::slice_copy.Tensor_out", x, zero, at, after, one, part, part)
    build.call("aten::add.out", total, part, alpha, total, total)
    build.move(after, at)
    build.call("executorch_prim::ge.Scalar", at, rows, more)
    build.jump_false(more, start)
    build.inputs(x)
    build.outputs(total, at)
    return build


def test_loop_state_and_sizes(tmp_path):
    reference, method = both(tmp_path, counter().file())
    for rows in (3, 1, 2):
        x = np.arange(2 * rows, dtype=np.float32).reshape(rows, 2)
        expected, count = reference.execute([x])
        total, found = method.execute([x])
        assert (found, count) == (rows, rows)
        assert np.array_equal(total, expected)
    with pytest.raises(ExecutorchError) as caught:
        method.execute([np.ones((4, 2), np.float32)])
    assert caught.value.code == Error.NotSupported


def test_endless_loop(tmp_path):
    build = Build()
    x, no = build.tensor(2), build.scalar(False)
    build.call("aten::relu.out", x, x, x)
    build.jump_false(build.scalar(None), 0)
    build.call("aten::relu.out", x, x, x)
    build.inputs(x)
    build.outputs(x)
    # The condition is computed, so that loading cannot know it.
    plan = build.plan
    start = plan.chains[0].instructions.pop(1)
    build.call("executorch_prim::eq.Scalar", build.scalar(1), build.scalar(2), no)
    start.instr_args.cond_value_index = no
    plan.chains[0].instructions.append(start)
    file = build.file()
    method = runtime_for(tmp_path, file).load(file).load_method("forward", instruction_limit=100)
    with pytest.raises(ExecutorchError) as caught:
        method.execute([np.ones(2, np.float32)])
    assert caught.value.code == Error.InvalidProgram
    assert "number of instructions" in caught.value.message


def test_another_type_than_selected(tmp_path):
    """A program that is received later, with an operator that is there for other element types."""

    def adding(dtype: type) -> bytes:
        build = Build()
        x = build.constant(np.ones(2, dtype))
        out = build.tensor(2, dtype=build[x].scalar_type)
        build.call("aten::add.out", x, x, build.scalar(1), out, out)
        build.outputs(out)
        return build.file()

    library = runtime_for(tmp_path, adding(np.float32))
    assert library.load(adding(np.float32)).load_method().execute([])[0].tolist() == [2, 2]
    with pytest.raises(ExecutorchError) as caught:
        library.load(adding(np.int64)).load_method()
    assert caught.value.code == Error.OperatorMissing
    assert "element types" in caught.value.message


def test_memory_that_is_too_small(tmp_path):
    file = quantized_digits()
    library = runtime_for(tmp_path, file)
    with pytest.raises(ExecutorchError) as caught:
        library.load(file, memory_limit=1_000).load_method()
    assert caught.value.code == Error.MemoryAllocationFailed


def test_events(tmp_path):
    file = quantized_digits()
    reference = RecordingTracer()
    method = Program.load(file).load_method("forward", tracer=reference)
    image = next(arrays(1))
    method.execute([image])
    own = RecordingTracer()
    program = runtime_for(tmp_path, file).load(file)
    program.trace(own)
    program.load_method().execute([image])
    expected = [(event.index, event.opcode, event.name) for event in reference.instructions]
    assert [(event.index, event.opcode, event.name) for event in own.instructions] == expected
    assert all(event.end >= event.start for event in own.instructions)


def test_etdump(tmp_path):
    file = quantized_digits()
    program = runtime_for(tmp_path, file).load(file)
    tracer = ETDumpTracer(Program.load(file))
    program.trace(tracer)
    program.load_method().execute([next(arrays(1))])
    path = tmp_path / "run.etdp"
    tracer.write(path, tmp_path / "unused")
    names = [event.name for block in Inspector(str(path)).event_blocks for event in block.events]
    assert names.count("OPERATOR_CALL") == len(Program.load(file).instructions(0))
    assert "Method::execute" in names


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> HostLibrary:
    """The runtime with all its kernels."""
    folder: Path = tmp_path_factory.mktemp("complete")
    return runtime_of(folder, Selection(dict.fromkeys(kernel.operator for kernel in KERNELS)))


def refused(folder: Path | HostLibrary, build: Build, *inputs: np.ndarray) -> Error:
    """The code that an execution on the runtime in C ends with, which is there or made in a folder."""
    file = build.file()
    library = runtime_for(folder, file) if isinstance(folder, Path) else folder
    method = library.load(file).load_method("forward")
    with pytest.raises(ExecutorchError) as caught:
        method.execute(list(inputs))
    return caught.value.code


def test_view_beyond_its_memory(tmp_path):
    """Its sizes would stay when it has its own memory again."""
    build = Build()
    x, view = build.tensor(1000), build.tensor(4, dynamism=BOUND)
    build.call("executorch_prim::et_view.default", x, build.ints(-1), view)
    build.inputs(x)
    build.outputs(view)
    assert refused(tmp_path, build, np.ones(1000, np.float32)) == Error.NotSupported


def joined(build: Build) -> None:
    x = build.tensor(8, dynamism=BOUND)
    build.call("aten::cat.out", build.tensors(x, x), build.scalar(0), x, x)
    build.inputs(x)


def multiplied(build: Build) -> None:
    x, y = build.tensor(4, 100, dynamism=BOUND), build.tensor(1, 100)
    build.call("aten::mm.out", x, y, x, x)
    build.inputs(x, y)


def convolved(build: Build) -> None:
    x, y, one, no = build.tensor(1, 8, 9, 9, dynamism=BOUND), build.tensor(1, 8, 1, 1), build.scalar(1), False
    pair, edge = build.ints(1, 1), build.ints(3, 3)
    args = (pair, edge, pair, build.scalar(no), build.ints(0, 0), one)
    build.call("aten::convolution.out", x, y, build.scalar(None), *args, x, x)
    build.inputs(x, y)


@pytest.mark.parametrize(
    ("make", "sizes"),
    [(joined, [(4,)]), (multiplied, [(4, 1), (1, 100)]), (convolved, [(1, 8, 3, 3), (1, 8, 1, 1)])],
    ids=["cat", "mm", "convolution"],
)
def test_output_that_is_an_input(tmp_path, make, sizes):
    """Which has another shape as soon as the output has it."""
    build = Build()
    make(build)
    build.outputs(*build.plan.inputs[:1])
    arrays = [np.ones(size, np.float32) for size in sizes]
    assert refused(tmp_path, build, *arrays) == Error.InvalidArgument


def permuted(build: Build, x: int, out: int) -> None:
    build.call("aten::permute_copy.out", x, build.ints(1, 0), out, out)


def sliced(build: Build, x: int, out: int) -> None:
    numbers = (build.scalar(0), build.scalar(0), build.scalar(4), build.scalar(1))
    build.call("aten::slice_copy.Tensor_out", x, *numbers, out, out)


def strided(build: Build, x: int, out: int) -> None:
    build.call("aten::as_strided_copy.out", x, build.ints(4, 4), build.ints(1, 4), build.scalar(0), out, out)


def padded(build: Build, x: int, out: int) -> None:
    build.call("aten::constant_pad_nd.out", x, build.ints(1, -1, 0, 0), build.scalar(0.5), out, out)


def averaged(build: Build, x: int, out: int) -> None:
    no, none = build.scalar(False), build.scalar(None)
    build.call("aten::mean.out", x, build.ints(2), no, none, out, out)


def halved(build: Build, x: int, out: int) -> None:
    build.call("aten::mul.Scalar_out", x, build.scalar(0.5), out, out)


@pytest.mark.parametrize(
    ("make", "shape", "offset"),
    [
        (permuted, (4, 4), 0),
        (strided, (4, 4), 0),
        (padded, (4, 4), 0),
        (averaged, (4, 4, 2), 0),
        (sliced, (4, 4), 16),
        (halved, (4, 4), 16),
    ],
    ids=["permute", "as_strided", "pad", "mean", "slice", "mul"],
)
def test_output_with_memory_of_an_input(complete, make, shape, offset):
    """By the places that a file gives them: what is written first would be read."""
    build = Build()
    x = build.tensor(*shape, offset=offset)
    out = build.tensor(4, 4, offset=0)
    make(build, x, out)
    build.inputs(x)
    build.outputs(out)
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    assert refused(complete, build, array) == Error.InvalidArgument


def written_over(kernel: str, build: Build) -> tuple[int, int]:
    """A call that writes its result over its first argument: the argument, and the result."""
    x = build.tensor(3, 4, offset=0)
    out = build.tensor(3, 4, offset=0)
    other = build.constant(np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4))
    arguments = {
        "add_f32": (other, build.scalar(1)),
        "sub_f32": (other, build.scalar(1)),
        "add_scalar_f32": (build.scalar(2.0), build.scalar(1)),
        "mul_scalar_f32": (build.scalar(2.0),),
        "hardtanh_f32": (build.scalar(-1.0), build.scalar(1.0)),
        "softmax_f32": (build.scalar(1), build.scalar(False)),
        "relu_f32": (),
        "sigmoid_f32": (),
        "view_copy": (build.ints(3, 4),),
    }
    build.call(kernel_named(kernel).operator, x, *arguments.get(kernel, (other,)), out, out)
    return x, out


def kernel_named(name: str) -> Kernel:
    return next(one for one in KERNELS if one.name == name)


def integers_written_over(kernel: str, build: Build) -> tuple[int, int]:
    """The same of bytes."""
    scale, zero, low, high = (build.scalar(number) for number in (0.5, 3, -128, 127))
    x, out = (build.tensor(3, 4, dtype=ScalarType.CHAR, offset=0) for _ in range(2))
    other = build.constant(np.arange(-6, 6, dtype=np.int8).reshape(3, 4))
    grid = (scale, zero)
    build.call(kernel_named(kernel).operator, x, *grid, other, *grid, *grid, low, high, out, out)
    return x, out


@pytest.mark.parametrize("kernel", [one.name for one in KERNELS if one.in_place])
def test_output_over_an_input(complete, kernel):
    """Kernels that planners may give one memory for both have the results that they have with two."""
    build = Build()
    integers = kernel.startswith("integer")
    x, out = (integers_written_over if integers else written_over)(kernel, build)
    build.inputs(x)
    build.outputs(out)
    file = build.file()
    reference = Program.load(file).load_method("forward")
    method = complete.load(file).load_method("forward")
    array = (np.arange(12) - 5).astype(np.int8 if integers else np.float32).reshape(3, 4)
    np.testing.assert_allclose(method.execute([array])[0], reference.execute([array])[0], rtol=1e-5)


def test_shapes_and_orders_written_over(complete):
    """Elements of one place are then different ones."""
    for order, shape in (((1, 0), (4, 4)), ((0, 1), (4, 1))):
        build = Build()
        x = build.tensor(*shape, offset=0, dim_order=order)
        y = build.tensor(4, 4)
        out = build.tensor(4, 4, offset=0)
        build.call("aten::mul.out", x, y, out, out)
        build.inputs(x, y)
        build.outputs(out)
        arrays = [np.ones(shape, np.float32), np.ones((4, 4), np.float32)]
        assert refused(complete, build, *arrays) == Error.InvalidArgument


def test_many_tensors(complete):
    """Without memory, and as many outputs; `test_instructions.py` counts what loading takes."""
    build = Build()
    one, count = build.scalar(1), 60_000
    tensors = [build.tensor(2, planned=False) for _ in range(count)]
    for tensor in tensors:
        build.move(one, tensor)
    build.outputs(*[one] * count)
    outputs = complete.load(build.file()).load_method("forward").execute([])
    assert outputs == [1] * count


@pytest.mark.parametrize("what", ["outputs of a call", "name of an operator"])
def test_limits_of_a_call(complete, what):
    """What is looked at once for each argument, or each call."""
    build = Build()
    if what == "outputs of a call":
        build.call("aten::many.out", build.tensors(*(build.tensor(1) for _ in range(257))))
    else:
        build.call(f"aten::{'x' * 256}.out", build.tensor(1))
    build.outputs(build.scalar(1))
    with pytest.raises(ExecutorchError, match=what) as caught:
        complete.load(build.file()).load_method("forward")
    assert caught.value.code == Error.NotSupported


def test_products_of_nothing(tmp_path):
    """However many there are, they take no time."""
    build = Build()
    many = 1 << 20
    x, y, out = build.tensor(many, many, 0), build.tensor(many, 0, 0), build.tensor(many, many, 0)
    build.call("aten::bmm.out", x, y, out, out)
    build.inputs(x, y)
    build.outputs(out)
    file = build.file()
    method = runtime_for(tmp_path, file).load(file).load_method("forward")
    (found,) = method.execute([])
    assert found.shape == (many, many, 0)


def test_limits_of_a_quantization_out_of_order(tmp_path):
    build = Build()
    x, out = build.tensor(2), build.tensor(2, dtype=ScalarType.CHAR)
    limits = (build.scalar(1000), build.scalar(-1000), build.scalar(int(ScalarType.CHAR)))
    name = "quantized_decomposed::quantize_per_tensor.out"
    build.call(name, x, build.scalar(0.5), build.scalar(0), *limits, out, out)
    build.inputs(x)
    build.outputs(out)
    assert refused(tmp_path, build, np.ones(2, np.float32)) == Error.InvalidArgument


def test_many_kernel_keys(tmp_path):
    """More than a byte counts: all orders of six dimensions."""
    orders = list(permutations(range(6)))
    keys = {((ScalarType.FLOAT, order),) * 3 for order in orders}
    build = Build()
    x, out = (build.tensor(*[1] * 6, dim_order=orders[-1]) for _ in range(2))
    build.call("aten::relu.out", x, out, out)
    build.inputs(x)
    build.outputs(out)
    library = runtime_of(tmp_path, Selection({"aten::relu.out": keys}))
    (found,) = library.load(build.file()).load_method("forward").execute([np.ones([1] * 6, np.float32)])
    assert found.item() == 1
