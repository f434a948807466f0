"""Memory and work limits of `et_vm.platform.Platform`.

They hold for loading and for executing.
"""

from __future__ import annotations

import numpy as np
import pytest
from support import xnnpack_graphs
from support.cost import memory_of
from support.vm_programs import BOUND, Build, chain_of_adds, f32, kernels

from et_backends.xnnpack.format import graph as xnnpack
from et_schema.errors import Error, ExecutorchError, OutOfMemory, Trap
from et_schema.program import TensorShapeDynamism
from et_schema.scalar_type import ScalarType
from et_vm.kernels.libraries import load_library
from et_vm.platform import Platform
from et_vm.program import Program
from et_vm.work import CALL

UNBOUND = TensorShapeDynamism.DYNAMIC_UNBOUND


def load(build: Build, library: str = "portable", **limits: int | None):
    program = Program.load(build.file(), platform=Platform(**limits))
    return program.load_method("forward", kernels=load_library(library))


def product(n: int) -> Build:
    build = Build()
    a, b, out = build.tensor(n, n), build.tensor(n, n), build.tensor(n, n)
    build.call("aten::mm.out", a, b, out, out)
    build.inputs(a, b)
    build.outputs(out)
    return build


def convolution() -> Build:
    """A 3 x 3 filter, whose windows are gathered."""
    build = Build()
    x, out = build.tensor(1, 4, 16, 16), build.tensor(1, 4, 16, 16)
    weight = build.constant(np.ones((4, 4, 3, 3), np.float32))
    ones = build.ints(1, 1)
    zeros, no, none, one = build.ints(0, 0), build.scalar(False), build.scalar(None), build.scalar(1)
    build.call("aten::convolution.out", x, weight, none, ones, ones, ones, no, zeros, one, out, out)
    build.inputs(x)
    build.outputs(out)
    return build


class TestMemory:
    def test_working_memory(self):
        report = load(convolution()).memory_report()
        needed = sum(report.values())
        assert report["scratch"] > 4 * 9 * 256 * 4
        load(convolution(), memory_limit=2 * needed)
        with pytest.raises(
            Trap, match=r"cannot allocate \d+ bytes, \d+ are left of a limit of 40000"
        ) as caught:
            load(convolution(), memory_limit=40_000)
        assert caught.value.code == Error.MemoryAllocationFailed
        assert (caught.value.instruction, caught.value.operator) == (0, "aten::convolution.out")

    def test_arenas(self):
        with pytest.raises(OutOfMemory, match="memory id 1"):
            load(product(64), memory_limit=1000)

    def test_what_is_dropped_is_given_back(self):
        platform = Platform(memory_limit=200_000)
        program = Program.load(convolution().file(), platform=platform)
        for _ in range(10):
            program.load_method("forward")

    def test_derived_constants(self):
        def packs(ctx, self, out):
            packed = ctx.memo("packed", lambda: np.zeros(1 << 16, np.uint8))
            return np.copyto, (out.array, self.array + packed[0])

        registry = kernels()
        registry.register("test::packs.out", packs)
        build = Build()
        x, out = build.tensor(4), build.tensor(4)
        build.call("test::packs.out", x, out, out)
        build.inputs(x)
        build.outputs(out)
        file = build.file()
        Program.load(file, platform=Platform(memory_limit=1 << 17)).load_method("forward", kernels=registry)
        with pytest.raises(Trap, match="cannot allocate 65536 bytes") as caught:
            Program.load(file, platform=Platform(memory_limit=1 << 16)).load_method(
                "forward", kernels=registry
            )
        assert caught.value.code == Error.MemoryAllocationFailed

    def test_tensors_that_grow(self):
        build = Build()
        x, out = build.tensor(8, dynamism=BOUND), build.tensor(0, planned=False, dynamism=UNBOUND)
        build.call("aten::repeat.out", x, build.ints(1000), out, out)
        build.inputs(x)
        build.outputs(out)
        assert load(build).execute([f32(*range(8))])[0].shape == (8000,)
        method = load(build, memory_limit=20_000)
        with pytest.raises(Trap, match="cannot allocate 32000 bytes") as caught:
            method.execute([f32(*range(8))])
        assert caught.value.code == Error.MemoryAllocationFailed
        assert caught.value.instruction == 0
        assert method.execute([f32(1, 2)])[0].shape == (2000,)


class TestWork:
    def test_of_a_product(self):
        n = 32
        work = CALL + n**3
        load(product(n), work_limit=work).execute([np.ones((n, n), np.float32)] * 2)
        with pytest.raises(
            Trap, match="takes 33,768 units of work, 33,767 are left of a limit of 33,767"
        ) as caught:
            load(product(n), work_limit=work - 1)
        assert caught.value.code == Error.OutOfResources
        assert (caught.value.instruction, caught.value.operator) == (0, "aten::mm.out")

    @pytest.mark.parametrize("library", ["portable", "aten"])
    def test_of_windows_and_matrices(self, library):
        """At least as many units as there are multiply-adds, and not many times that."""
        build = Build()
        matrix, linear = build.tensor(32, 32), build.tensor(8, 32)
        x, out = build.tensor(1, 8, 16, 16), build.tensor(1, 8, 16, 16)
        numbers, no, none = (
            [build.ints(*[number] * 2) for number in (5, 1, 2)],
            build.scalar(False),
            build.scalar(None),
        )
        calls = {
            (256 * 4 * 36, 10): convolution(),
            (8 * 32 * 32, 2): ("aten::linear.out", linear, matrix, none, build.tensor(8, 32)),
            (32**3, 40): ("aten::_linalg_det.result", matrix, *results(build)),
            (8 * 256 * 10, 8): ("aten::avg_pool2d.out", x, *numbers, no, no, none, out),
        }
        for (least, factor), call in calls.items():
            made = call
            if isinstance(call, tuple):
                made = build
                outs = call[-3:] if "det" in call[0] else call[-1:]
                build.chain.instructions.clear()
                build.call(*call, outs[0] if len(outs) == 1 else build.tensors(*outs))
            with pytest.raises(Trap, match="units of work") as caught:
                load(made, library, work_limit=least)
            assert caught.value.code == Error.OutOfResources
            load(made, library, work_limit=factor * least + 100 * CALL)

    def test_of_a_chain(self):
        """The sum counts, and what no execution could do is refused at load."""
        file = chain_of_adds(10).file()

        def limited(limit: int):
            return Program.load(file, platform=Platform(work_limit=limit)).load_method(
                "forward", kernels=kernels()
            )

        method = limited(10 * (CALL + 12))
        for _ in range(3):
            assert method.execute([f32(1, 2, 3, 4)])[0][0] == 11
        with pytest.raises(Trap, match="12 are left of a limit of") as caught:
            limited(9 * (CALL + 12) + 12)
        assert caught.value.instruction == 9

    def test_step_by_step(self):
        method = load(chain(3), work_limit=3 * (CALL + 12))
        for _ in range(2):
            method.set_inputs([f32(1, 2, 3, 4)])
            while method.step() == Error.Ok:
                pass
            assert method.get_output(0)[0] == 4
            method.reset_execution()

    def test_of_a_loop(self):
        """As many times as the data says."""
        build = Build()
        flag, x = build.tensor(1, dtype=ScalarType.BOOL), build.tensor(64, 64)
        out = build.tensor(64, 64)
        build.call("aten::mm.out", x, x, out, out)
        build.jump_false(flag, 0)
        build.inputs(flag, x)
        build.outputs(out)
        method = load(build, work_limit=10 * (64**3 + CALL))
        x = np.zeros((64, 64), np.float32)
        method.execute([np.array([True]), x])
        with pytest.raises(Trap, match="0 are left of a limit of") as caught:
            method.execute([np.array([False]), x])
        assert caught.value.code == Error.OutOfResources
        method.execute([np.array([True]), x])

    def test_of_sizes_that_come_with_the_inputs(self):
        """The third execution of a size is one of prepared steps alone."""
        build = Build()
        a, out = build.tensor(64, 64, dynamism=BOUND), build.tensor(64, 64, dynamism=BOUND)
        build.call("aten::mm.out", a, a, out, out)
        build.inputs(a)
        build.outputs(out)
        method = load(build, work_limit=32**3 + CALL)
        for size, fits in ((16, True), (33, False), (32, True), (64, False), (32, True)):
            for _ in range(4):
                x = np.ones((size, size), np.float32)
                if fits:
                    assert method.execute([x])[0][0, 0] == size
                else:
                    with pytest.raises(Trap, match="units of work"):
                        method.execute([x])

    def test_that_only_data_tells(self):
        build = Build()
        x, n, out = build.tensor(1), build.tensor(1), build.tensor(1)
        build.call("aten::special_laguerre_polynomial_l.out", x, n, out, out)
        build.inputs(x, n)
        build.outputs(out)
        method = load(build, work_limit=10**6)
        method.execute([f32(0.5), f32(20)])
        with pytest.raises(Trap, match="units of work") as caught:
            method.execute([f32(0.5), f32(1_000_000)])
        assert caught.value.code == Error.OutOfResources

    def test_of_a_delegate(self):
        graph = xnnpack_graphs.Build()
        a, b = graph.input(1, 32, 32), graph.input(1, 32, 32)
        graph.node(xnnpack.XNNBatchMatrixMultiply(a, b, graph.output(1, 32, 32), 0))
        build = Build()
        x, out = build.tensor(1, 32, 32), build.tensor(1, 32, 32)
        build.delegate("XnnpackBackend", graph.blob(), x, x, out)
        build.inputs(x)
        build.outputs(out)
        x = np.ones((1, 32, 32), np.float32)
        load(build, work_limit=45_000).execute([x])
        with pytest.raises(Trap, match="units of work") as caught:
            load(build, work_limit=30_000).execute([x])
        assert caught.value.code == Error.OutOfResources

    def test_of_a_nested_program(self):
        """The memory of several delegates counts against one execution's limit."""
        build = Build()
        x, out = build.tensor(32, 32), build.tensor(32, 32)
        for _ in range(2):
            build.delegate("NestedProgramBackend", product(32).file(), x, x, out)
        build.inputs(x)
        build.outputs(out)
        x = np.ones((32, 32), np.float32)
        load(build, work_limit=70_000).execute([x])
        with pytest.raises(Trap, match="units of work") as caught:
            load(build, work_limit=60_000).execute([x])
        assert caught.value.code == Error.OutOfResources
        assert caught.value.instruction == 1

    def test_without_a_limit_there_is_no_meter(self):
        method = load(product(4))
        assert [function for function, _ in method._steps] == [np.matmul]
        with pytest.raises(ExecutorchError):
            load(product(4), work_limit=1)


def results(build: Build) -> tuple[int, int, int]:
    """Of a determinant: itself, the factors and the pivots."""
    return build.tensor(), build.tensor(32, 32), build.tensor(32, dtype=ScalarType.INT)


def chain(count: int) -> Build:
    build = Build()
    x, one, out = build.tensor(4), build.constant(np.ones(4, np.float32)), build.tensor(4)
    scale = build.scalar(1)
    build.call("aten::add.out", x, one, scale, out, out)
    for _ in range(count - 1):
        build.call("aten::add.out", out, one, scale, out, out)
    build.inputs(x)
    build.outputs(out)
    return build


@pytest.mark.parametrize("name", ["aten::avg_pool2d.out", "aten::max_pool2d_with_indices.out"])
def test_windows_as_large_as_the_image(name: str) -> None:
    """The views and calls of their elements take more than the image."""
    build, size, limit = Build(), 1 << 18, 16 << 20
    x, out = build.tensor(1, 1, size, 1), build.tensor(1, 1, 1, 1)
    window, ones, zeros = build.ints(size, 1), build.ints(1, 1), build.ints(0, 0)
    no, yes, none = build.scalar(False), build.scalar(True), build.scalar(None)
    if name.startswith("aten::avg"):
        build.call(name, x, window, ones, zeros, no, yes, none, out, out)
    else:
        places = build.tensor(1, 1, 1, 1, dtype=ScalarType.LONG)
        build.call(name, x, window, ones, zeros, ones, no, out, places, build.tensors(out, places))
    build.inputs(x)
    build.outputs(out)

    def run() -> None:
        with pytest.raises(Trap, match="cannot allocate"):
            load(build, memory_limit=limit)

    assert memory_of(run) < limit + (8 << 20)
