import os
import threading

import pytest
from support.vm_programs import Build, chain_of_adds, combine, f32, kernels

from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_vm.program import Program, Verification
from et_vm.verify.flow import Flow


def test_methods_by_name():
    first, second = chain_of_adds(1), chain_of_adds(2)
    first.plan.name, second.plan.name = "one", "two"
    program = Program.load(combine(first, second))
    assert program.method_names == ("one", "two")
    assert program.load_method("two", kernels=kernels()).execute([f32(1, 1, 1, 1)])[0].tolist() == [3] * 4
    with pytest.raises(ExecutorchError, match="no method named 'three'; the methods are one, two") as caught:
        program.load_method("three", kernels=kernels())
    assert caught.value.code == Error.InvalidArgument


def test_methods_of_one_program_in_parallel():
    program = Program.load(chain_of_adds(50).file())
    failures = []

    def work(seed):
        method = program.load_method("forward", kernels=kernels())
        for turn in range(20):
            (out,) = method.execute([f32(1, 2, 3, 4) * (seed + turn)])
            if out.tolist() != (f32(1, 2, 3, 4) * (seed + turn) * 51).tolist():
                failures.append((seed, turn))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_plan_is_analysed_once(monkeypatch):
    analysed = []
    analyse = Flow.__init__
    monkeypatch.setattr(
        Flow, "__init__", lambda self, *args: analysed.append(args[-1]) or analyse(self, *args)
    )
    program = Program.load(chain_of_adds(1).file())
    for _ in range(2):
        program.load_method("forward", kernels=kernels(), poison=True)
    assert analysed == ["execution_plan[0]"]


def test_lifetimes_are_looked_at_if_asked_for():
    build = Build()
    x, y = build.tensor(4), build.tensor(4)
    clash, out = build.tensor(4, offset=16), build.tensor(4)
    build.add(x, x, y)
    build.add(x, x, clash)
    build.add(y, clash, out)
    build.inputs(x)
    build.outputs(out)
    Program.load(build.file())
    with pytest.raises(InvalidFile, match="over live bytes of") as caught:
        Program.load(build.file(), Verification.Lifetimes)
    assert caught.value.where == f"execution_plan[0].values[{clash}].val.allocation_info"
    assert caught.value.offset is not None
    build[clash].allocation_info.memory_offset_low = 32
    build[out].allocation_info.memory_offset_low = 48
    build.plan.non_const_buffer_sizes = [0, 64]
    assert Program.load(build.file(), Verification.Lifetimes).method_names == ("forward",)


def test_files_that_are_written_in_place(file) -> None:
    path = file(chain_of_adds(1))
    program = Program.load(path)
    program.load_method("forward", kernels=kernels())
    os.utime(path, ns=(0, 1))
    with pytest.raises(ExecutorchError, match="has been written to since it was loaded") as caught:
        program.load_method("forward", kernels=kernels())
    assert (caught.value.code, caught.value.where) == (Error.AccessFailed, path)
