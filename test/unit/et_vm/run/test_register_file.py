import numpy as np
import pytest
from support.vm_programs import Build, f32, kernels, load

from et_schema.errors import Error, InvalidFile
from et_schema.scalar_type import ScalarType
from et_vm.program import Program


def test_constants_are_views_of_the_file(mode):
    build = Build()
    x, out = build.tensor(2), build.tensor(2)
    weight = build.constant(f32(10, 20))
    build.add(x, weight, out)
    build.inputs(x)
    build.outputs(out)
    assert load(build, **mode).execute([f32(1, 2)])[0].tolist() == [11, 22]


def test_unaligned_constants_are_copied():
    build = Build()
    x, out = build.tensor(2), build.tensor(2)
    weight = build.constant(f32(10, 20))
    build.add(x, weight, out)
    build.inputs(x)
    build.outputs(out)
    for shift in range(4):
        program = Program.load(memoryview(bytes(shift) + build.file())[shift:])
        method = program.load_method("forward", kernels=kernels())
        assert method.execute([f32(1, 2)])[0].tolist() == [11, 22]


def test_unplanned_inputs_and_outputs_get_memory(mode):
    build = Build()
    x, out = build.tensor(2, planned=False), build.tensor(2, planned=False)
    build.add(x, x, out)
    build.inputs(x)
    build.outputs(out)
    method = load(build, **mode)
    given = f32(1, 2)
    assert method.execute([given])[0].tolist() == [2, 4]
    assert given.tolist() == [1, 2]
    assert method.memory_report()["unplanned inputs and outputs"] == 16


def test_external_data():
    build = Build()
    x, out = build.tensor(2), build.tensor(2)
    weight, state = build.external("w", 2), build.external("s", 2, planned=True)
    build.add(weight, state, out)
    build.inputs(x)
    build.outputs(out)
    data = {"w": memoryview(f32(1, 2).tobytes()), "s": memoryview(f32(10, 20).tobytes())}
    assert load(build, external=data).execute([f32(0, 0)])[0].tolist() == [11, 22]
    for broken in ({}, {**data, "w": memoryview(b"1234")}):
        with pytest.raises(InvalidFile) as caught:
            load(build, external=broken)
        assert caught.value.code == Error.InvalidExternalData


class TestState:
    def counter(self, **options):
        build = Build()
        state = build.state(np.array([5], np.int64), **options)
        build.call("test::increment_", state, state)
        build.outputs(state)
        return build

    def test_starts_as_the_file_says_and_persists(self, mode):
        method = load(self.counter(), **mode)
        assert [method.execute()[0].item() for _ in range(3)] == [6, 7, 8]

    def test_methods_have_their_own(self):
        program = Program.load(self.counter().file())
        first, second = (program.load_method("forward", kernels=kernels()) for _ in range(2))
        first.execute()
        assert second.execute()[0].item() == 6

    def test_shared_arenas_share_it(self):
        program = Program.load(self.counter().file())
        memory = program.new_memory()
        first = program.load_method("forward", kernels=kernels(), memory=memory)
        second = program.load_method("forward", kernels=kernels(), memory=memory)
        first.execute()
        assert second.execute()[0].item() == 7

    def test_without_a_start_it_is_zero(self, mode):
        build = Build()
        state = build.tensor(1, dtype=ScalarType.LONG)
        build.call("test::increment_", state, state)
        build.outputs(state)
        method = load(build, **mode)
        assert [method.execute()[0].item() for _ in range(2)] == [1, 2]
