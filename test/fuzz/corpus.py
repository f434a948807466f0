"""The good files that are mutated: small, so that a case takes milliseconds, and together all of the format."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
from support import native_blobs, xnnpack_graphs
from support.vm_programs import BOUND, UNBOUND, Build, chain_of_adds, combine, kernels
from unit.et_vm.test_verify import Good

from et_backends.native.runtime.backend import NativeBackend
from et_backends.xnnpack.format import graph as xnnpack_graph
from et_backends.xnnpack.format.nodes import NO_VALUE
from et_backends.xnnpack.runtime import XnnpackBackend
from et_schema import digests, flat_tensor
from et_schema.program import CompileSpec, Frame
from et_schema.ptd import serialize_ptd
from et_schema.scalar_type import ScalarType
from et_vm.backend import Backend, BackendExecuteContext, BackendInitContext, BackendRegistry, NativeOptions
from et_vm.devtools.bundled import bundle
from et_vm.kernels.libraries import load_library
from et_vm.kernels.registry import KernelRegistry
from et_vm.values import Tensor

FROZEN = Path(__file__).parents[1] / "unit" / "et_schema" / "frozen"
EXTERNAL = "fc.weight"
LONG = ScalarType.LONG
# Names a folder of further programs, also to the processes that run cases.
FOLDER = "FUZZ_CORPUS"


class CopyBackend(Backend):
    """Copies its first argument to its last, if that is possible."""

    def init(self, context: BackendInitContext, processed: memoryview, compile_specs: object) -> object:
        del context, compile_specs
        return processed

    def execute(self, context: BackendExecuteContext, handle: object, args: Sequence[object]) -> None:
        del context, handle
        if len(args) > 1 and all(isinstance(value, Tensor) for value in (args[0], args[-1])):
            source, target = args[0], args[-1]
            assert isinstance(source, Tensor)
            assert isinstance(target, Tensor)
            if not target.constant and (source.dtype, source.sizes) == (target.dtype, target.sizes):
                np.copyto(target.array, source.array)


def _scalars(build: Build) -> None:
    """Branches and arithmetic on registers."""
    x, out = build.tensor(4), build.tensor(4)
    n, limit, more, half = build.scalar(None), build.scalar(3), build.scalar(None), build.scalar(0.5)
    one, total = build.scalar(1), build.scalar(0)
    build.call("aten::sym_size.int", x, build.scalar(0), n)
    start = build.call("executorch_prim::add.Scalar", total, one, total)
    build.call("test::scale.out", x, half, out, out)
    build.call("executorch_prim::ge.Scalar", total, limit, more)
    build.jump_false(more, start)
    build.inputs(x, build.scalar(2), build.scalar(True), build.scalar("text"))
    build.outputs(out, total)


def _views(build: Build) -> None:
    """Views, moves, frees, and tensors whose shape is known when they are written."""
    x = build.tensor(2, 6, dynamism=BOUND)
    view, moved, out = build.tensor(12, planned=False), build.tensor(12, planned=False), build.tensor(12)
    grown, flag = build.tensor(1, 1, planned=False, dynamism=UNBOUND), build.scalar(True)
    grown_type = build[grown]
    grown_type.scalar_type = ScalarType.LONG
    build.call("executorch_prim::et_view.default", x, build.ints(-1), view)
    build.add(view, view, out, frames=[Frame("net.py", 3, "forward", "x + x")])
    build.call("test::nonzero.out", x, grown, grown)
    build.jump_false(flag, 4)
    build.move(view, moved)
    build.add(moved, out, out)
    build.free(view)
    build.inputs(x)
    build.outputs(out, grown)


def _lists(build: Build) -> None:
    """Lists of every kind, and torch's own kernels."""
    x = build.tensor(2, 4)
    a, b, joined, gathered = (build.tensor(1, 4), build.tensor(1, 4), build.tensor(2, 4), build.tensor(2, 4))
    index = build.constant(np.array([1, 0]))
    mask = build.constant(np.array([True, False, True, False]))
    pieces = build.tensors(a, b)
    build.call("test::split.out", x, pieces, pieces)
    build.call("aten::cat.out", pieces, build.scalar(0), joined, joined)
    build.call("aten::index.Tensor_out", joined, build.tensors(index, optional=True), gathered, gathered)
    build.call(
        "aten::sum.IntList_out", gathered, build.ints(0, 1), build.scalar(False), build.scalar(None), x, x
    )
    build.tensors(-1, mask, optional=True)
    build.doubles(1.0, 2.5)
    build.bools(True, False)
    build.inputs(x)
    build.outputs(gathered, pieces)
    build.chain.instructions.pop()
    build.chain.stacktrace.pop()


def _state(build: Build) -> None:
    """State, an external tensor, weights, and a delegate."""
    x, out = build.tensor(4), build.tensor(4)
    count = build.state(np.ones(4, np.float32), name="count")
    outside = build.external(EXTERNAL, 4)
    build.call("test::increment_", count, count)
    build.add(x, count, out)
    build.add(out, outside, out)
    build.delegate("Copy", b"0123456789abcdef", x, out, specs=[CompileSpec("key", b"value")])
    build.inputs(x)
    build.outputs(out, count)


def _image(build: Build) -> None:
    """Kernels with many arguments whose shapes have to fit."""
    x, weight = build.tensor(1, 2, 4, 4), build.constant(np.ones((3, 2, 3, 3), np.float32))
    bias, ones, zeros, none = (
        build.constant(np.ones(3, np.float32)),
        build.ints(1, 1),
        build.ints(0, 0),
        build.scalar(None),
    )
    two, no, one = build.ints(2, 2), build.scalar(False), build.scalar(1)
    y, pooled, at = build.tensor(1, 3, 4, 4), build.tensor(1, 3, 2, 2), build.tensor(1, 3, 2, 2, dtype=LONG)
    turned, normal = build.tensor(1, 2, 3, 2), build.tensor(1, 3, 2, 2)
    mean, deviation = build.tensor(1, 3, 2, 1), build.tensor(1, 3, 2, 1)
    build.call("aten::convolution.out", x, weight, bias, ones, ones, ones, no, zeros, one, y, y)
    both = build.tensors(pooled, at)
    build.call("aten::max_pool2d_with_indices.out", y, two, two, zeros, ones, no, pooled, at, both)
    last, small = build.ints(2), build.scalar(1e-5)
    three = build.tensors(normal, mean, deviation)
    build.call("aten::native_layer_norm.out", pooled, last, none, none, small, normal, mean, deviation, three)
    build.call("aten::permute_copy.out", normal, build.ints(0, 3, 1, 2), turned, turned)
    sliced, start, end = build.tensor(1, 2, 2, 2), build.scalar(1), build.scalar(3)
    build.call("aten::slice_copy.Tensor_out", turned, build.scalar(2), start, end, one, sliced, sliced)
    build.inputs(x)
    build.outputs(sliced, at)


def _text(build: Build) -> None:
    """Kernels that read tensors of indices."""
    table, ids = build.constant(np.ones((5, 4), np.float32)), build.tensor(3, dtype=LONG)
    rows, one, none, no = build.tensor(3, 4), build.scalar(1), build.scalar(None), build.scalar(False)
    zero = build.scalar(0)
    build.call("aten::embedding.out", table, ids, build.scalar(-1), no, no, rows, rows)
    scores, chances = build.tensor(3, 3), build.tensor(3, 3)
    turned = build.tensor(4, 3)
    build.call("aten::transpose_copy.int_out", rows, zero, one, turned, turned)
    build.call("aten::mm.out", rows, turned, scores, scores)
    build.call("aten::_softmax.out", scores, build.scalar(-1), no, chances, chances)
    best, at = build.tensor(3, 2), build.tensor(3, 2, dtype=LONG)
    yes, pair = build.scalar(True), build.tensors(best, at)
    build.call("aten::topk.values", chances, build.scalar(2), build.scalar(-1), yes, yes, best, at, pair)
    picked, mask = build.tensor(3, 2), build.tensor(3, 2, dtype=ScalarType.BOOL)
    build.call("aten::gather.out", scores, one, at, no, picked, picked)
    build.call("aten::gt.Scalar_out", picked, build.scalar(0.5), mask, mask)
    build.call("aten::where.self_out", mask, picked, best, best, best)
    total = build.tensor(3, 1)
    build.call("aten::mean.out", best, build.ints(1), yes, none, total, total)
    wide = build.tensor(3, 4)
    build.call("aten::expand_copy.out", total, build.ints(3, 4), no, wide, wide)
    build.inputs(ids)
    build.outputs(wide, at)


def _graph(build: Build) -> None:
    """Graphs for XNNPACK: images, matrices, grids of every kind."""
    x, y, out = build.tensor(1, 2, 4, 4), build.tensor(1, 4, 2, 2), build.tensor(4, 3)
    build.delegate("XnnpackBackend", xnnpack_images(), x, y)
    build.delegate("XnnpackBackend", xnnpack_matrices(), y, out)
    build.inputs(x)
    build.outputs(out)


def xnnpack_images() -> bytes:
    """A graph for XNNPACK: convolutions and a pool."""
    graph = xnnpack_graphs.Build()
    x = graph.input(1, 2, 4, 4)
    last, wide = graph.value(1, 4, 4, 2), graph.value(1, 4, 4, 4)
    pooled, mixed = graph.value(1, 2, 2, 4), graph.value(1, 2, 2, 4)
    ones = [
        graph.constant(np.ones(sizes, np.float32))
        for sizes in ((4, 3, 3, 2), (4,), (1, 3, 3, 4), (1, 1, 1, 4))
    ]
    graph.node(xnnpack_graph.XNNStaticTranspose(4, [0, 2, 3, 1], x, last))
    sides = (1, 1, 1, 1)
    graph.node(
        xnnpack_graph.XNNConv2d(*sides, 3, 3, 1, 1, 1, 1, 2, 4, 1, 0, 0, last, ones[0], ones[1], wide),
        (0.0, 6.0),
    )
    graph.node(xnnpack_graph.XNNMaxPooling2d(0, 0, 0, 0, 2, 2, 2, 2, 1, 1, wide, pooled))
    graph.node(
        xnnpack_graph.XNNDepthwiseConv2d(
            *sides, 3, 3, 1, 1, 1, 1, 1, 1, 4, 0, 0, pooled, ones[2], NO_VALUE, mixed
        )
    )
    summed = graph.value(1, 2, 2, 4)
    graph.node(xnnpack_graph.XNNAdd(mixed, ones[3], summed))
    graph.node(xnnpack_graph.XNNStaticTranspose(4, [0, 3, 1, 2], summed, graph.output(1, 4, 2, 2)))
    return graph.blob()


def xnnpack_matrices() -> bytes:
    """A graph for XNNPACK: values of every grid, and a product with 4-bit weights."""
    graph, kinds = xnnpack_graphs.Build(), xnnpack_graphs.D
    x, flat = graph.input(1, 4, 2, 2), graph.value(4, 4)
    grid = graph.value(4, 4, datatype=kinds.qint8, parameters=xnnpack_graph.PerTensorQuant(0.1, 3))
    back, rows = (
        graph.value(4, 4),
        graph.value(4, 4, datatype=kinds.qdint8, parameters=xnnpack_graph.PerTokenDynamicQuant(1)),
    )
    scales = graph.data(np.ones(3, np.float32).tobytes())
    weight = graph.constant(
        np.full((3, 2), 0x9A, np.uint8),
        kinds.qcint4,
        xnnpack_graph.PerChannelQuant([], 0, scales, 3),
        dims=(3, 4),
    )
    products = graph.value(4, 3)
    graph.node(xnnpack_graph.XNNStaticReshape(2, [0, 4], x, flat))
    graph.node(xnnpack_graph.XNNConvert(flat, grid))
    graph.node(xnnpack_graph.XNNConvert(grid, back))
    graph.node(xnnpack_graph.XNNConvert(back, rows))
    graph.node(xnnpack_graph.XNNFullyConnected(rows, weight, NO_VALUE, products))
    graph.node(xnnpack_graph.XNNSoftmax(products, graph.output(4, 3)))
    return graph.blob()


class LoadingBackend(NativeBackend):
    """Loads machine code, and does not run it: what damaged code does is no fault."""

    def init(
        self, context: BackendInitContext, processed: memoryview, compile_specs: Sequence[CompileSpec]
    ) -> object:
        return super().init(context._replace(native=NativeOptions(allowed=True)), processed, compile_specs)

    def execute(self, context: BackendExecuteContext, handle: object, args: Sequence[object]) -> None:
        del context, handle, args


def _machine(build: Build) -> None:
    """Machine code."""
    tensors = [build.tensor(*sizes) for sizes in ((5, 8), (8, 20), (5, 20), (5, 8))]
    build.delegate("NativeBackend", native_blobs.blob(), *tensors)
    build.inputs(*tensors[:2])
    build.outputs(*tensors[2:])


def _made(make: Callable[[Build], None], name: str = "forward") -> Build:
    build = Build(name)
    make(build)
    return build


@cache
def programs() -> dict[str, bytes]:
    """`.pte` files by name."""
    files = {
        f"{make.__name__[1:]}": _made(make).file()
        for make in (_scalars, _views, _lists, _state, _image, _text, _graph, _machine)
    }
    files["good"] = Good().file()
    files["methods"] = combine(_made(_scalars, "first"), _made(_views, "second"))
    more = os.environ.get(FOLDER)
    for folder in (FROZEN, *([Path(more)] if more else [])):
        files |= {path.stem: path.read_bytes() for path in sorted(folder.glob("*.pte"))}
    return files


@cache
def external_data() -> bytes:
    """A `.ptd` file with what the programs lack."""
    layout = flat_tensor.TensorLayout(ScalarType.FLOAT, [4], b"\0")
    contents = {EXTERNAL: np.ones(4, np.float32).tobytes(), "blob": b"bytes"}
    tensors = flat_tensor.FlatTensor(
        named_data=[
            flat_tensor.NamedData(EXTERNAL, 0, layout),
            flat_tensor.NamedData("blob", 1),
            flat_tensor.NamedData(digests.key_in("weights.ptd"), 2),
        ]
    )
    stated = digests.encode({key: sha256(data).hexdigest() for key, data in contents.items()})
    return serialize_ptd(tensors, [[data] for data in (*contents.values(), stated)])


@cache
def bundled() -> bytes:
    """A `.bpte` file: a bundled program."""
    x, stream = np.array([1, 2, 3, 4], np.float32), io.BytesIO()
    bundle(chain_of_adds(3).file(), [("forward", [x], [4 * x]), ("forward", [2 * x], [8 * x])], stream)
    return stream.getvalue()


@cache
def registry() -> KernelRegistry:
    """The portable kernels, and those of the tests."""
    return kernels(load_library("portable"))


@cache
def backends() -> BackendRegistry:
    """One with the backends of the programs."""
    found = BackendRegistry()
    for backend_id in ("Copy", "Acme"):
        found.register(backend_id, CopyBackend())
    found.register("XnnpackBackend", XnnpackBackend())
    found.register("NativeBackend", LoadingBackend())
    return found
