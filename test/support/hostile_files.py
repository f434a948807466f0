"""Files with one fault each, made for `test_hostile.py`: functions that fill a method, and that make a file."""

from __future__ import annotations

import io
from collections.abc import Callable
from struct import pack, pack_into

import numpy as np
from unit.et_vm.test_verify import Good

from et_backends.xnnpack.format import graph as xnnpack
from et_backends.xnnpack.format.nodes import NO_VALUE
from et_schema import bundled_program, flat_tensor
from et_schema.bpte import write_bpte
from et_schema.program import Chain, Instruction, KernelCall, TensorList
from et_schema.ptd import serialize_ptd
from et_schema.pte import read_pte
from et_schema.scalar_type import ScalarType
from support import xnnpack_graphs
from support.vm_programs import Build


def built(fill: Callable[[Build], None]) -> Callable[[], bytes]:
    def make() -> bytes:
        build = Build()
        fill(build)
        return build.file()

    return make


def with_words(*words: tuple[int, str, int]) -> Callable[[], bytes]:
    """The good file with numbers written over it: byte, format, number."""

    def make() -> bytes:
        file = bytearray(Good().file())
        for at, code, number in words:
            pack_into("<" + code, file, at, number)
        return bytes(file)

    return make


def with_segment(index: int, *, offset: int | None = None, size: int | None = None) -> Callable[[], bytes]:
    """The good file with what it says of a segment changed."""

    def make() -> bytes:
        file = bytearray(Good().file())
        pte = read_pte(bytes(file), locate=True)
        assert pte.locations is not None
        segment = pte.program.segments[index]
        table = pte.locations[id(segment)].offset
        vtable = table - int.from_bytes(file[table : table + 4], "little", signed=True)
        for slot, number in enumerate((offset, size)):
            if number is not None:
                field = int.from_bytes(file[vtable + 4 + 2 * slot : vtable + 6 + 2 * slot], "little")
                assert field
                pack_into("<Q", file, table + field, number)
        return bytes(file)

    return make


def with_byte(path: str, old: bytes, new: bytes) -> Callable[[], bytes]:
    """The good file with the first `old` after the table at `path` replaced."""

    def make() -> bytes:
        file = Good().file()
        locations = read_pte(file, locate=True).locations
        assert locations is not None
        at = file.index(old, dict(locations.values())[path] + 4)
        return file[:at] + new + file[at + len(old) :]

    return make


# Methods


def endless_on_a_constant(build: Build) -> None:
    build.jump_false(build.scalar(False), 0)


def endless_on_two_constants(build: Build) -> None:
    no, yes = build.scalar(False), build.scalar(True)
    build.jump_false(no, 2)
    build.free(build.tensor(4))
    build.jump_false(yes, 4)
    build.jump_false(no, 1)


def endless_on_data(build: Build) -> None:
    build.jump_false(build.tensor(1, dtype=ScalarType.BOOL), 0)


def shapes_that_do_not_fit(build: Build) -> None:
    build.add(build.tensor(4), build.tensor(3), build.tensor(4))


def shapes_of_a_call_in_a_branch(build: Build) -> None:
    build.jump_false(build.tensor(1, dtype=ScalarType.BOOL), 1)
    build.add(build.tensor(4), build.tensor(3), build.tensor(4))


def padding_without_measure(build: Build) -> None:
    """As wide as the stride, so that the result is small."""
    x, out = build.tensor(1, 2, 4, 4), build.tensor(1, 2, 2, 2)
    weight = build.constant(np.ones((2, 2, 3, 3), np.float32))
    stride, padding, dilation = (build.ints(number, number) for number in (1 << 21, 1 << 20, 1))
    no, none, zeros, one = build.scalar(False), build.scalar(None), build.ints(0, 0), build.scalar(1)
    build.call("aten::convolution.out", x, weight, none, stride, padding, dilation, no, zeros, one, out, out)


def padding_without_measure_in_a_delegate(build: Build) -> None:
    graph = xnnpack_graphs.Build()
    image, result = graph.input(1, 4, 4, 2), graph.output(1, 2, 2, 4)
    weight = graph.constant(np.ones((4, 3, 3, 2), np.float32))
    padding = (20_000,) * 4
    graph.node(xnnpack.XNNConv2d(*padding, 3, 3, 1, 1, 1, 1, 2, 4, 1, 0, 0, image, weight, NO_VALUE, result))
    x, out = build.tensor(1, 4, 4, 2), build.tensor(1, 2, 2, 4)
    build.delegate("XnnpackBackend", graph.blob(), x, out)


def argument_of_the_wrong_type(build: Build) -> None:
    x = build.tensor(4)
    build.add(x, build.scalar(1), x)


def too_few_arguments(build: Build) -> None:
    x = build.tensor(4)
    build.call("test::add.out", x, x)


def outputs_that_are_not_repeated(build: Build) -> None:
    x, y = build.tensor(4), build.tensor(4)
    build.call("test::add.out", x, x, x, y)


def output_that_is_not_the_one_repeated(build: Build) -> None:
    """A constant is written, and something else said to be."""
    x, weight = build.tensor(4), build.constant(np.ones(4, np.float32))
    build.call("test::add.out", x, x, weight, x)


def number_that_is_no_element_type(build: Build) -> None:
    x, dims, no = build.tensor(4), build.ints(0), build.scalar(False)
    out = build.tensor()
    build.call("aten::sum.IntList_out", x, dims, no, build.scalar(255), out, out)


def argument_of_a_prim(build: Build) -> None:
    build.call("executorch_prim::add.Scalar", build.tensor(4), build.scalar(1), build.scalar(None))


def none_over_an_input(build: Build) -> None:
    x, out = build.tensor(4), build.tensor(4)
    build.move(build.scalar(None), x)
    build.add(x, x, out)
    build.inputs(x)
    build.outputs(out)


def none_over_an_output(build: Build) -> None:
    x = build.tensor(4)
    build.move(build.scalar(None), x)
    build.inputs(x)
    build.outputs(x)


def freed_on_the_path_that_is_taken(build: Build) -> None:
    flag, x, y = build.tensor(1, dtype=ScalarType.BOOL), build.tensor(4), build.tensor(4)
    build.jump_false(flag, 2)
    build.jump_false(flag, 3)
    build.free(y)
    build.add(y, y, x)


def condition_without_data(build: Build) -> None:
    build.jump_false(build.tensor(1, dtype=ScalarType.BOOL, planned=False), 1)


def constant_written_by_a_prim(build: Build) -> None:
    weight = build.constant(np.ones((2, 4), np.float32))
    build.call("executorch_prim::et_copy_index.tensor", weight, build.tensor(4), build.scalar(0))


def constant_written_through_a_view(build: Build) -> None:
    weight, view = build.constant(np.ones(4, np.float32)), build.tensor(2, 2, planned=False)
    build.call("executorch_prim::et_view.default", weight, build.ints(2, 2), view)
    build.call("test::increment_", view, view)


def constant_written_under_another_name(build: Build) -> None:
    weight, name = build.constant(np.ones(4, np.float32)), build.tensor(4)
    build.move(weight, name)
    build.call("test::increment_", name, name)


def constant_written_on_some_paths(build: Build) -> None:
    weight, name = build.constant(np.ones(4, np.float32)), build.tensor(4)
    flag = build.tensor(1, dtype=ScalarType.BOOL)
    build.jump_false(flag, 2)
    build.jump_false(flag, 3)
    build.move(weight, name)
    build.call("test::increment_", name, name)


def overlapping_states(build: Build) -> None:
    build.state(np.ones(4, np.float32))
    second = build.state(np.zeros(4, np.float32))
    build[second].allocation_info.memory_offset_low = 8


def overlapping_live_tensors(build: Build) -> None:
    x, y = build.tensor(4), build.tensor(4)
    clash, out = build.tensor(4, offset=16), build.tensor(4)
    build.add(x, x, y)
    build.add(x, x, clash)
    build.add(y, clash, out)
    build.inputs(x)
    build.outputs(out)


def list_with_itself(kind: type) -> Callable[[Build], None]:
    def fill(build: Build) -> None:
        x, cycle = build.tensor(4), build.value(kind([0]))
        build[cycle].items = [cycle]
        # Being assigned, the register could hold something else by then.
        build.move(x, cycle)
        build.call("test::split.out", x, cycle, cycle)
        build.outputs(cycle)

    return fill


def lists_in_a_circle(build: Build) -> None:
    first, second = build.value(TensorList([1])), build.value(TensorList([0]))
    build.move(first, second)


def list_moved_into_itself(build: Build) -> None:
    item = build.tensor(4)
    items = build.tensors(item)
    build.move(items, item)
    build.outputs(items)


def list_item_of_another_kind(build: Build) -> None:
    n, x = build.scalar(1), build.tensor(4)
    sizes = build.list_of(n)
    build.call("executorch_prim::truediv.Scalar", build.scalar(1), build.scalar(2), n)
    build.call("test::reshape.out", x, sizes, x, x)


def mentions_without_end(build: Build) -> None:
    x = build.tensor(4)
    pieces = build.tensors(*[x] * 10_000)
    for _ in range(1000):
        build.call("test::split.out", x, pieces, pieces)


def arena_without_end(build: Build) -> None:
    build.tensor(4)
    build.plan.non_const_buffer_sizes = [0, 2**62]


def input_without_end(build: Build) -> None:
    build.inputs(build.tensor(2**31 - 1, 2**28, planned=False))


def external_data_that_is_short(build: Build) -> None:
    build.external("short", 4)


def external_data_that_is_missing(build: Build) -> None:
    build.external("nowhere", 4)


def mutate_good(mutate: Callable[[Good], None]) -> Callable[[], bytes]:
    def make() -> bytes:
        good = Good()
        mutate(good)
        return good.file()

    return make


def no_arguments_at_all(good: Good) -> None:
    good.plan.chains = [Chain(instructions=[Instruction(KernelCall())])]


def bad_operator_before_a_good_one(good: Good) -> None:
    good.chain.instructions[0] = Instruction(KernelCall(10**6, [0, 1, 2, 2]))


# Data files


def data_file(layout: flat_tensor.TensorLayout | None, data: bytes = bytes(16)) -> bytes:
    return serialize_ptd(flat_tensor.FlatTensor(named_data=[flat_tensor.NamedData("a", 0, layout)]), [[data]])


def layout(*sizes: int, dim_order: bytes | None = None) -> flat_tensor.TensorLayout:
    order = bytes(range(len(sizes))) if dim_order is None else dim_order
    return flat_tensor.TensorLayout(ScalarType.FLOAT, list(sizes), order)


def bundle_of(sizes: list[int], data: bytes, cut: int = 0) -> bytes:
    """A program with one test case, which has one input, of floats; less `cut` bytes at the end."""
    tensor = bundled_program.Tensor(ScalarType.FLOAT, sizes, data)
    build, stream = Build(), io.BytesIO()
    build.inputs(build.tensor(2))
    case = bundled_program.BundledMethodTestCase([bundled_program.Value(tensor)])
    write_bpte(build.file(), [bundled_program.BundledMethodTestSuite("forward", [case])], stream)
    return stream.getvalue()[: -cut or None]


def data_words(*words: tuple[int, str, int]) -> Callable[[], bytes]:
    def make() -> bytes:
        file = bytearray(data_file(layout(4)))
        for at, code, number in words:
            pack_into("<" + code, file, at, number)
        return bytes(file)

    return make


def overlapping_data() -> bytes:
    tensors = flat_tensor.FlatTensor(
        named_data=[flat_tensor.NamedData("a", 0), flat_tensor.NamedData("b", 1)]
    )
    file = serialize_ptd(tensors, [[bytes(200)], [bytes(100)]])
    # The second segment begins at 256.
    at = file.rindex(pack("<QQ", 256, 100)) if pack("<QQ", 256, 100) in file else file.rindex(pack("<Q", 256))
    return file[:at] + pack("<Q", 128) + file[at + 8 :]
