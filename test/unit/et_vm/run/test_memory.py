import numpy as np
import pytest
from support.vm_programs import Build, chain_of_adds, f32, kernels, load

from et_schema.errors import Error, OutOfMemory
from et_vm.platform import LogLevel, Platform
from et_vm.program import Program
from et_vm.run.memory import MemoryManager


def test_banks_are_zeroed_and_aligned():
    memory = MemoryManager({1: 100, 2: 0})
    bank = memory.bank(1, 100)
    assert bank.ctypes.data % 64 == 0
    assert not bank.any()
    assert memory.sizes == {1: 100, 2: 0}


def test_arrays_are_used_as_they_are():
    array = np.zeros((4, 4), np.float32)
    memory = MemoryManager({3: array})
    memory.bank(3, 64)[0:4] = np.array([1], np.float32).view(np.uint8)
    assert array[0, 0] == 1


@pytest.mark.parametrize(
    "banks", [{0: 16}, {1: np.zeros((4, 4))[:, ::2]}, {1: np.frombuffer(bytes(16), np.uint8)}]
)
def test_banks_that_cannot_be_used(banks):
    with pytest.raises(ValueError, match=r"memory ids|writable contiguous"):
        MemoryManager(banks)


def test_the_largest_of_several_plans():
    assert MemoryManager.for_sizes([[0, 10, 20], [0, 30], []]).sizes == {1: 30, 2: 20}


def test_too_small_or_missing():
    memory = MemoryManager({1: 16})
    for memory_id, needed, available in [(1, 17, 16), (2, 1, 0), (2, 0, 0)]:
        with pytest.raises(OutOfMemory) as caught:
            memory.bank(memory_id, needed)
        assert caught.value.code == Error.MemoryAllocationFailed
        assert (caught.value.needed, caught.value.available) == (needed, available)


def test_fill():
    memory = MemoryManager({1: 4})
    memory.fill(255)
    assert memory.bank(1, 4).tolist() == [255] * 4


class TestPlatform:
    def test_ticks_go_forward(self):
        platform = Platform()
        assert platform.ticks() <= platform.ticks()

    def test_log_has_a_level(self, capsys):
        Platform(LogLevel.INFO).log(LogLevel.INFO, "hello")
        Platform().log(LogLevel.INFO, "not shown")
        assert capsys.readouterr().err == "et_vm: info: hello\n"

    def test_allocation_that_cannot_be(self):
        for nbytes in (2**62, 2**70):
            with pytest.raises(OutOfMemory):
                Platform().allocate(nbytes)


class TestMemoryLimit:
    def test_counts_what_is_in_use(self):
        platform = Platform(memory_limit=100)
        first = platform.allocate(60)
        with pytest.raises(
            OutOfMemory, match="cannot allocate 41 bytes, 40 are left of a limit of 100"
        ) as caught:
            platform.allocate(41)
        assert (caught.value.needed, caught.value.available) == (41, 40)
        assert platform.allocate(40).nbytes == 40
        part = first[10:20]
        del first
        with pytest.raises(OutOfMemory):
            platform.allocate(60)
        del part
        platform.allocate(60)

    def test_of_a_program(self):
        file = chain_of_adds(3).file()
        with pytest.raises(OutOfMemory):
            Program.load(file, platform=Platform(memory_limit=40)).load_method("forward", kernels=kernels())
        limited = Program.load(file, platform=Platform(memory_limit=48))
        assert limited.load_method("forward", kernels=kernels()).execute([f32(1, 2, 3, 4)])[0][0] == 4

    def test_of_sizes_that_are_no_sizes(self):
        for nbytes in (2**62, 2**63 - 1, 2**70):
            with pytest.raises(OutOfMemory):
                Platform().allocate(nbytes)


class TestArenasOfAMethod:
    def test_the_caller_owns_the_arena(self):
        arena = np.zeros(64, np.uint8)
        method = load(chain_of_adds(1), memory=MemoryManager({1: arena}))
        method.execute([f32(1, 1, 1, 1)])
        assert arena[16:32].view(np.float32).tolist() == [2] * 4

    def test_too_small(self):
        with pytest.raises(OutOfMemory, match="has 16 bytes, the method needs 48") as caught:
            load(chain_of_adds(1), memory=MemoryManager({1: 16}))
        assert (caught.value.needed, caught.value.available) == (48, 16)

    def test_too_large_for_the_machine(self):
        build = Build()
        build.inputs(build.tensor(1))
        build.plan.non_const_buffer_sizes[1] = 2**62
        with pytest.raises(OutOfMemory):
            load(build)

    def test_empty_arenas_need_no_bank(self):
        build = Build()
        build.inputs(build.tensor(0))
        build.plan.non_const_buffer_sizes = [0, 0]
        load(build, memory=MemoryManager({})).execute([np.zeros(0, np.float32)])
