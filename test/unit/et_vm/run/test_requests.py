"""Requests of methods: results, order, back pressure, ends of all kinds, and memory.

Kernels wait for events of the test, so that nothing here depends on time; `SOON` ends a test that would hang.
"""

from __future__ import annotations

import asyncio
import gc
import random
import threading
import weakref
from concurrent.futures import FIRST_COMPLETED, CancelledError, ThreadPoolExecutor, as_completed, wait
from typing import Any

import numpy as np
import pytest
from support.vm_programs import BOUND, Build, chain_of_adds, combine, f32, kernels, load

from et_schema.errors import Error, ExecutorchError, InputError, OutOfMemory, Trap
from et_schema.scalar_type import ScalarType
from et_vm.backend import Backend, BackendRegistry
from et_vm.kernels.registry import PrepareContext
from et_vm.platform import Platform
from et_vm.program import Program
from et_vm.run.requests import line_of
from et_vm.runtime import Executor, Request, Runtime
from et_vm.step import Step
from et_vm.tracer import EventTracer
from et_vm.values import Tensor

SOON = 60


class Gate:
    """A kernel that waits until it is let through, and one to come behind it. `begun` counts calls of the first,
    `passed` has the first elements that came to the other.
    """

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.open = threading.Event()
        self.passed: list[float] = []

    def kernels(self) -> Any:
        def gate_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
            del ctx
            return wait, (self.array, out.array)

        def double_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
            del ctx
            return double, (self.array, out.array)

        def wait(given: Any, out: Any) -> None:
            self.begun.release()
            assert self.open.wait(SOON)
            np.copyto(out, given)

        def double(given: Any, out: Any) -> None:
            self.passed.append(float(given[0]))
            np.add(given, given, out)

        registry = kernels()
        registry.register("test::gate.out", gate_out)
        registry.register("test::double.out", double_out)
        return registry

    def wait_for(self, executions: int = 1) -> None:
        """Return when so many more executions have come here."""
        for _ in range(executions):
            assert self.begun.acquire(timeout=SOON)

    def load(self, build: Build, **options: Any) -> Any:
        return load(build, kernels=self.kernels(), **options)


def gated(name: str = "forward") -> Build:
    """`2 * x` behind a gate."""
    build = Build(name)
    x, held, out = (build.tensor(1) for _ in range(3))
    build.call("test::gate.out", x, held, held)
    build.call("test::double.out", held, out, out)
    build.inputs(x)
    build.outputs(out)
    return build


def counter(name: str = "forward") -> Build:
    """Adds its input to a total, and returns that."""
    build = Build(name)
    total, x, out = build.tensor(1, name="total"), build.tensor(1), build.tensor(1)
    build.add(total, x, total)
    build.call("test::scale.out", total, build.scalar(1.0), out, out)
    build.inputs(x)
    build.outputs(out)
    return build


def endless() -> Build:
    """Goes through an open gate for ever."""
    build = Build()
    x, held, never = build.tensor(1), build.tensor(1), build.tensor(1, dtype=ScalarType.BOOL)
    build.call("test::gate.out", x, held, held)
    build.call("test::greater.out", held, build.scalar(1e9), never, never)
    build.jump_false(never, 0)
    build.inputs(x)
    build.outputs(held)
    return build


def dynamic() -> Build:
    build = Build()
    x, out = (build.tensor(8, dynamism=BOUND) for _ in range(2))
    build.add(x, x, out)
    build.inputs(x)
    build.outputs(out)
    return build


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.open.set()


def first(outputs: Any) -> float:
    return float(outputs[0][0])


@pytest.mark.parametrize("threads", [1, 2, 4])
class TestResults:
    @pytest.mark.parametrize("ordered", [False, True])
    def test_are_those_of_execute(self, threads, ordered):
        method = load(chain_of_adds(9))
        inputs = [[np.random.default_rng(seed).standard_normal(4, np.float32)] for seed in range(40)]
        expected = [method.execute(given) for given in inputs]
        with Executor(threads, 2 * threads, ordered=ordered) as executor:
            requests = [executor.submit(method, given) for given in inputs]
            found = [request.result() for request in requests]
            mapped = list(executor.map(method, inputs))
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(mapped, expected)

    def test_of_other_sizes(self, threads):
        method = load(dynamic())
        inputs = [[np.full(1 + at % 8, at, np.float32)] for at in range(48)]
        with Executor(threads, 8) as executor:
            found = [executor.submit(method, given) for given in inputs]
        for request, (given,) in zip(found, inputs, strict=True):
            np.testing.assert_array_equal(request.result()[0], 2 * given)

    def test_of_several_methods(self, threads):
        methods = [load(chain_of_adds(length)) for length in (1, 2, 3)]
        with Executor(threads, 4) as executor:
            requests = [executor.submit(methods[at % 3], [f32(at, 0, 0, 0)]) for at in range(30)]
        assert [first(request.result()) for request in requests] == [at * (2 + at % 3) for at in range(30)]

    def test_have_the_kind_of_the_inputs(self, threads):
        torch = pytest.importorskip("torch")
        method = load(chain_of_adds(1))
        with Executor(threads) as executor:
            (out,) = executor.submit(method, [torch.ones(4)]).result()
        assert isinstance(out, torch.Tensor)
        assert out.tolist() == [2] * 4

    def test_state_is_that_of_the_method(self, threads):
        method = load(counter())
        with Executor(threads, 8) as executor:
            requests = [executor.submit(method, [f32(1)]) for _ in range(50)]
        assert [first(request.result()) for request in requests] == list(range(1, 51))
        assert method.state["total"].tolist() == [50]

    def test_written_inputs_are_written(self, threads):
        build = Build()
        x = build.tensor(1, planned=False)
        build.call("test::increment_", x, x)
        build.inputs(x)
        method, given = load(build), [f32(at) for at in range(20)]
        with Executor(threads, 4) as executor:
            for one in given:
                executor.submit(method, [one])
        assert [float(one[0]) for one in given] == list(range(1, 21))


class TestAtOnce:
    def test_as_many_as_threads(self, gate):
        """Each is in the middle of its execution while all others are."""
        method = gate.load(gated())
        with Executor(3, 6) as executor:
            requests = [executor.submit(method, [f32(at)]) for at in range(6)]
            gate.wait_for(3)
            assert [request.running() for request in requests] == [True] * 3 + [False] * 3
            assert not gate.begun.acquire(blocking=False)
            assert repr(executor) == "<Executor: 6 of 6 requests in flight, 3 executing>"
            gate.open.set()
        assert [first(request.result()) for request in requests] == [0, 2, 4, 6, 8, 10]

    def test_constants_are_shared_and_arenas_are_not(self):
        build = Build()
        weight, x, out = build.constant(f32(1, 2, 3, 4)), build.tensor(4), build.tensor(4)
        build.add(x, weight, out)
        build.inputs(x)
        build.outputs(out)
        method = load(build)
        other = method.another()
        shared = [
            np.shares_memory(method.machine.value(at).array, other.machine.value(at).array)
            for at in (weight, x, out)
        ]
        assert shared == [True, False, False]

    def test_outputs_are_not_overwritten(self):
        """By the requests that get the same instance."""
        method = load(chain_of_adds(1))
        with Executor(1, 64) as executor:
            requests = [executor.submit(method, [np.full(4, at, np.float32)]) for at in range(64)]
            found = [request.result()[0] for request in requests]
        assert [one.tolist() for one in found] == [[2 * at] * 4 for at in range(64)]

    def test_instances_can_be_loaded_before(self, gate, monkeypatch):
        loaded: list[str] = []
        method = gate.load(gated())
        another = method.another
        monkeypatch.setattr(method, "another", lambda: (loaded.append("instance"), another())[1])
        with Executor(3, 2) as executor:
            executor.prepare(method)
            executor.prepare(method)
            assert len(loaded) == 2
            gate.open.set()
            assert [first(found) for found in executor.map(method, ([f32(at)] for at in range(9)))] == [
                2 * at for at in range(9)
            ]
        assert len(loaded) == 2

    def test_memory_that_instances_lack(self):
        """An error of the request, and of no other."""
        platform = Platform()
        method = Program.load(chain_of_adds(1).file(), platform=platform).load_method(
            "forward", kernels=kernels()
        )
        platform.memory_limit = 0
        with Executor() as executor:
            failed = executor.submit(method, [f32(1, 2, 3, 4)])
            assert isinstance(failed.exception(), OutOfMemory)
            platform.memory_limit = None
            assert first(executor.submit(method, [f32(1, 2, 3, 4)]).result()) == 2


class TestOneAtATime:
    """What must not execute at the same time does not, whatever the number of threads."""

    def test_methods_with_the_same_memory(self):
        overlaps: list[int] = []
        inside = threading.Lock()

        def run() -> None:
            overlaps.append(not inside.acquire(blocking=False))
            inside.release()

        def prepare(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
            del ctx, self, out
            return run, ()

        registry = kernels()
        registry.register("test::gate.out", prepare)
        builds = [counter("one"), counter("two")]
        for build in builds:
            out = build.plan.outputs[0]
            build.call("test::gate.out", build.plan.inputs[0], out, out)
        program = Program.load(combine(*builds))
        memory = program.new_memory()
        methods = [program.load_method(name, kernels=registry, memory=memory) for name in ("one", "two")]
        requests: list[Request] = []
        with Executor(4, 16) as executor:
            for _ in range(40):
                requests += [executor.submit(method, [f32(1)]) for method in methods]
                requests += [method.execute_async([f32(1)]) for method in methods]
        wait(requests, SOON)
        assert overlaps == [False] * 160
        assert methods[0].state["total"].tolist() == [160]

    def test_others_go_on_meanwhile(self, gate):
        build = gated()
        build.tensor(1, name="kept")
        held, free = gate.load(build), load(chain_of_adds(1))
        with Executor(2, 8) as executor:
            waiting = [executor.submit(held, [f32(at)]) for at in range(2)]
            gate.wait_for()
            assert first(executor.submit(free, [f32(3, 3, 3, 3)]).result(SOON)) == 6
            assert [one.running() for one in waiting] == [True, False]
            gate.open.set()

    def test_reasons(self):
        assert load(chain_of_adds(2)).serialized_by == ()
        assert load(counter()).serialized_by == ("state (total)",)
        assert load(chain_of_adds(2), tracer=EventTracer()).serialized_by == ("a tracer",)

    def test_names_of_much_state(self):
        build = chain_of_adds(1)
        for at in range(5):
            build.tensor(1, name=f"cache{at}")
        assert load(build).serialized_by == ("state (cache0, cache1, cache2 and 2 more)",)

    def test_state_without_a_name(self):
        """Bytes that are read before they are written."""
        build = chain_of_adds(1)
        total = build.tensor(4)
        build.add(total, build.plan.inputs[0], total)
        method = load(build)
        assert method.serialized_by == ("state (16 bytes)",)

    def test_delegates_with_state(self):
        class Counts(Backend):
            def init(self, context: Any, processed: Any, compile_specs: Any) -> Any:
                return [0]

            def execute(self, context: Any, handle: Any, args: Any) -> None:
                handle[0] += 1
                args[-1].array[:] = handle[0]

            def keeps_state(self, handle: Any) -> bool:
                return True

        build = Build()
        x = build.tensor(1)
        build.delegate("Counts", b"", x)
        build.inputs(x)
        build.outputs(x)
        method = load(build, backends=BackendRegistry({"Counts": Counts()}))
        assert "state of the delegate Counts" in method.serialized_by
        with Executor(4, 8) as executor:
            requests = [executor.submit(method, [f32(0)]) for _ in range(20)]
        assert [first(request.result()) for request in requests] == list(range(1, 21))


class TestErrors:
    def test_belong_to_their_requests(self):
        build = Build()
        x, out = (build.tensor(1, dynamism=BOUND) for _ in range(2))
        skip = build.tensor(1, dtype=ScalarType.BOOL)
        build.call("test::greater.out", x, build.scalar(0.0), skip, skip)
        build.jump_false(skip, 3)
        build.call("test::fail.out", x, out, out)
        build.add(x, x, out)
        build.inputs(x)
        build.outputs(out)
        method = load(build)
        kinds = {"good": f32(-1), "trap": f32(1), "type": np.int64([1]), "number": 3}
        given = [kind for kind in kinds for _ in range(10)]
        random.Random(2).shuffle(given)
        with Executor(2, 4) as executor:
            requests = [executor.submit(method, [kinds[kind]]) for kind in given]
        for kind, request in zip(given, requests, strict=True):
            error = request.exception()
            assert type(error) is {"good": type(None), "trap": Trap}.get(kind, InputError)
            if error is None:
                assert first(request.result()) == -2
        assert "in instruction 2: test::fail.out" in str(requests[given.index("trap")].exception())

    def test_end_a_map(self, gate):
        method = gate.load(gated())
        gate.open.set()
        with Executor(1, 2) as executor:
            results = executor.map(method, [[f32(1)], [3], *[[f32(2)]] * 5])
            assert first(next(results)) == 2
            with pytest.raises(InputError):
                next(results)
            assert list(results) == []

    def test_of_numbers(self):
        for numbers in ({"threads": 0}, {"threads": 2, "in_flight": 0}, {"in_flight": -1}, {"threads": 257}):
            with pytest.raises(ExecutorchError, match="required") as caught:
                Runtime.get().executor(**numbers)
            assert caught.value.code == Error.InvalidArgument

    def test_closed(self):
        method = load(chain_of_adds(1))
        with Runtime.get().executor() as executor:
            executor.submit(method, [f32(1, 2, 3, 4)])
        with pytest.raises(ExecutorchError, match="the executor is closed"):
            executor.submit(method, [f32(1, 2, 3, 4)])

    def test_outputs_of_the_caller(self):
        method = load(chain_of_adds(1))
        method.set_output(0, np.empty(4, np.float32))
        with pytest.raises(ExecutorchError, match="set_output") as caught:
            method.execute_async([f32(1, 2, 3, 4)])
        assert caught.value.code == Error.InvalidState

    def test_other_executions_of_the_method(self, gate):
        build = gated()
        build.tensor(1, name="kept")
        method = gate.load(build)
        request = method.execute_async([f32(1)])
        gate.wait_for()
        with pytest.raises(ExecutorchError, match="is executing"):
            method.execute([f32(1)])
        gate.open.set()
        assert first(request.result(SOON)) == 2


class TestOrder:
    def test_is_kept_when_asked(self, gate):
        slow, fast = gate.load(gated()), load(chain_of_adds(1))
        done: list[int] = []
        with Executor(2, 8, ordered=True) as executor:
            requests = [executor.submit(slow, [f32(0)])]
            gate.wait_for()
            requests += [executor.submit(fast, [f32(at, 0, 0, 0)]) for at in range(1, 7)]
            requests += [executor.submit(slow, [f32(7)])]
            for at, request in enumerate(requests):
                request.add_done_callback(lambda _, at=at: done.append(at))
            # The last begins when all others have ended that execute on its thread.
            gate.wait_for()
            assert not any(request.done() for request in requests)
            assert executor.in_flight == 8
            gate.open.set()
        assert done == list(range(8))

    def test_is_otherwise_that_of_their_ends(self, gate):
        slow, fast = gate.load(gated()), load(chain_of_adds(1))
        with Executor(2, 8) as executor:
            late = executor.submit(slow, [f32(0)])
            assert first(executor.submit(fast, [f32(1, 0, 0, 0)]).result(SOON)) == 2
            assert not late.done()
            gate.open.set()

    def test_does_not_wait_for_the_cancelled(self, gate):
        slow, fast = gate.load(gated()), load(chain_of_adds(1))
        with Executor(2, 8, ordered=True) as executor:
            head = executor.submit(slow, [f32(0)])
            gate.wait_for()
            second = executor.submit(fast, [f32(1, 0, 0, 0)])
            assert head.cancel()
            assert first(second.result(SOON)) == 2
            assert executor.in_flight == 1  # It has not left the gate.
            gate.open.set()

    def test_of_callbacks(self):
        method, done = load(chain_of_adds(3)), []
        with Executor(4, 16, ordered=True) as executor:
            for at in range(300):
                request = executor.submit(method, [f32(at, 0, 0, 0)])
                request.add_done_callback(lambda one: done.append(first(one.result())))
        assert len(done) == 300
        # A callback that is added to a request that is done is called at once.
        assert sorted(done) == [4 * at for at in range(300)]


class TestBackPressure:
    def test_refuses_when_asked(self, gate):
        method = gate.load(gated())
        with Executor(1, 2) as executor:
            requests = [executor.submit(method, [f32(at)], block=False) for at in range(2)]
            with pytest.raises(ExecutorchError, match="2 requests are in flight") as caught:
                executor.submit(method, [f32(2)], block=False)
            assert caught.value.code == Error.OutOfResources
            gate.open.set()
            wait(requests)
            assert first(executor.submit(method, [f32(3)]).result()) == 6
        assert gate.passed == [0, 1, 3]

    def test_waits_otherwise(self, gate):
        """Submitting threads go on one by one: there are never more in flight than may be."""
        most: list[int] = []
        method = gate.load(gated())
        gate.open.set()
        with Executor(2, 3) as executor, ThreadPoolExecutor(4) as clients:

            def submit(at: int) -> Request:
                request = executor.submit(method, [f32(at)])
                most.append(executor.in_flight)
                return request

            requests = list(clients.map(submit, range(200)))
        assert sorted(first(request.result()) for request in requests) == [2 * at for at in range(200)]
        assert max(most) <= 3

    def test_ends_by_the_deadline(self, gate):
        method = gate.load(gated())
        with Executor(1, 1) as executor:
            held = executor.submit(method, [f32(1)])
            late = executor.submit(method, [f32(2)], timeout=0.01)
            assert str(late.exception()) == "the request has not ended within 0.01 s"
            gate.open.set()
            assert first(held.result(SOON)) == 2
        assert gate.passed == [1]

    def test_ends_when_the_executor_does(self, gate):
        method = gate.load(gated())
        executor = Executor(1, 1)
        executor.submit(method, [f32(1)])
        gate.wait_for()
        with ThreadPoolExecutor(2) as clients:
            blocked = clients.submit(executor.submit, method, [f32(2)])
            closing = clients.submit(executor.close)
            assert isinstance(blocked.exception(SOON), ExecutorchError)
            gate.open.set()
            closing.result(SOON)

    def test_counts_results_whose_turn_has_not_come(self, gate):
        slow, fast = gate.load(gated()), load(chain_of_adds(1))
        with Executor(2, 3, ordered=True) as executor:
            executor.submit(slow, [f32(0)])
            for _ in range(2):
                executor.submit(fast, [f32(1, 1, 1, 1)])
            with pytest.raises(ExecutorchError, match="3 requests"):
                executor.submit(fast, [f32(1, 1, 1, 1)], block=False)
            gate.open.set()

    def test_leaves_room_before_callbacks(self):
        """A request may be made by a callback of the one before, with one in flight."""
        method, found = load(chain_of_adds(1)), []
        end = threading.Event()

        def again(request: Request) -> None:
            found.append(first(request.result()))
            if len(found) == 50:
                end.set()
            else:
                executor.submit(method, [f32(len(found), 0, 0, 0)], block=False).add_done_callback(again)

        with Executor(1, 1) as executor:
            executor.submit(method, [f32(0, 0, 0, 0)]).add_done_callback(again)
            assert end.wait(SOON)
        assert found == [2 * at for at in range(50)]


class TestCancellation:
    def test_of_one_that_waits(self, gate):
        method = gate.load(gated())
        with Executor(1, 3) as executor:
            requests = [executor.submit(method, [f32(at)]) for at in range(3)]
            gate.wait_for()
            assert requests[1].cancel()
            assert requests[1].cancel()
            assert requests[1].cancelled()
            assert executor.in_flight == 2
            gate.open.set()
        with pytest.raises(CancelledError):
            requests[1].result()
        assert [first(requests[at].result()) for at in (0, 2)] == [0, 4]
        assert gate.passed == [0, 2]
        assert not requests[0].cancel()

    def test_of_one_that_executes(self, gate):
        """It is cancelled at once, and nothing of it runs after the kernel that it was in."""
        method = gate.load(gated())
        with Executor(1, 2) as executor:
            request = executor.submit(method, [f32(1)])
            gate.wait_for()
            assert request.running()
            assert request.cancel()
            assert request.cancelled()
            assert not request.running()
            assert executor.in_flight == 1
            gate.open.set()
            assert first(executor.submit(method, [f32(2)]).result(SOON)) == 4
        assert gate.passed == [2]

    def test_of_one_that_would_not_end(self, gate):
        gate.open.set()
        method = gate.load(endless(), instruction_limit=10**12)
        with Executor(2, 2) as executor:
            requests = [executor.submit(method, [f32(at)]) for at in range(2)]
            gate.wait_for(10)
            for request in requests:
                request.cancel()
        assert all(request.cancelled() for request in requests)

    def test_leaves_the_state_that_instructions_before_have_made(self, gate):
        build = counter()
        held = build.tensor(1)
        build.call("test::gate.out", build.plan.inputs[0], held, held)
        method = gate.load(build)
        with Executor() as executor:
            request = executor.submit(method, [f32(5)])
            gate.wait_for()
            request.cancel()
            gate.open.set()
        assert method.state["total"].tolist() == [5]
        assert first(method.execute([f32(2)])) == 7

    def test_tells_those_who_wait(self, gate):
        method = gate.load(gated())
        with Executor(1, 4) as executor:
            requests = [executor.submit(method, [f32(at)]) for at in range(4)]
            requests[2].cancel()
            assert wait(requests, SOON, FIRST_COMPLETED).done == {requests[2]}
            gate.open.set()
            assert set(as_completed(requests, SOON)) == set(requests)

    @pytest.mark.parametrize("ordered", [False, True])
    @pytest.mark.parametrize("count", [400, pytest.param(20_000, marks=pytest.mark.slow)])
    def test_at_random(self, count, ordered):
        """Each request is done once, by its own result or by being cancelled. Memory is that of as many instances as
        there are threads: more would pass the limit.
        """
        threads = 3
        platform = Platform()
        program = Program.load(chain_of_adds(12, width=64).file(), platform=platform)
        method = program.load_method("forward", kernels=kernels())
        arenas = sum(program.method_meta("forward").memory_planned_buffer_sizes().values())
        platform.memory_limit = threads * (arenas + method.memory_report()["scratch"])
        chance = random.Random(7)
        ends: dict[int, list[bool]] = {at: [] for at in range(count)}
        requests: list[Request] = []
        with Executor(threads, 12, ordered=ordered) as executor:
            for at in range(count):
                request = executor.submit(method, [np.full(64, at, np.float32)])
                request.add_done_callback(lambda one, at=at: ends[at].append(one.cancelled()))
                requests.append(request)
                for _ in range(chance.randrange(2)):
                    requests[-1 - chance.randrange(min(8, len(requests)))].cancel()
        assert all(len(one) == 1 for one in ends.values())
        for at, request in enumerate(requests):
            assert request.cancelled() == ends[at][0]
            if not request.cancelled():
                assert request.result()[0].tolist() == [13 * at] * 64
        assert 0 < sum(one.cancelled() for one in requests) < count
        assert executor.in_flight == 0
        del request, executor
        platform.allocate(platform.memory_limit)  # Nothing is held any more.


class TestDeadlines:
    def test_of_one_that_waits(self, gate):
        method = gate.load(gated())
        with Executor(1, 2) as executor:
            held = executor.submit(method, [f32(1)])
            late = executor.submit(method, [f32(2)], timeout=0.01)
            assert isinstance(late.exception(SOON), TimeoutError)
            assert executor.in_flight == 1
            gate.open.set()
            assert first(held.result(SOON)) == 2
        assert gate.passed == [1]

    def test_of_one_that_executes(self, gate):
        method = gate.load(gated())
        with Executor(1, 2) as executor:
            request = executor.submit(method, [f32(1)], timeout=3600)
            gate.wait_for()
            request.expire()
            assert isinstance(request.exception(SOON), TimeoutError)
            assert executor.in_flight == 1
            gate.open.set()
        assert gate.passed == []

    def test_that_have_passed_before(self, gate):
        method = gate.load(gated())
        with Executor(1, 2) as executor:
            assert isinstance(executor.submit(method, [f32(1)], timeout=0).exception(SOON), TimeoutError)
        assert gate.passed == []

    def test_the_earliest_comes_first(self, gate):
        """A later deadline is watched when the earlier one is made."""
        method = gate.load(gated())
        with Executor(1, 3) as executor:
            requests = [executor.submit(method, [f32(1)], timeout=timeout) for timeout in (3600, 1800, 0.01)]
            assert isinstance(requests[2].exception(SOON), TimeoutError)
            gate.open.set()
            assert [first(one.result(SOON)) for one in requests[:2]] == [2, 2]

    def test_change_nothing_afterwards(self):
        request = load(chain_of_adds(1)).execute_async([f32(1, 2, 3, 4)], timeout=3600)
        assert first(request.result(SOON)) == 2
        request.expire()
        assert first(request.result()) == 2


class TestInterruption:
    def test_ends_all(self, gate):
        """Ctrl-C, while there are some that execute, for ever, and some that wait."""
        gate.open.set()
        method = gate.load(endless(), instruction_limit=10**12)
        requests: list[Request] = []
        executor = Executor(2, 6)

        def use() -> None:
            with executor:
                requests.extend(executor.submit(method, [f32(at)]) for at in range(6))
                gate.wait_for(4)
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            use()
        assert all(request.cancelled() for request in requests)
        assert executor.in_flight == 0


class TestAsync:
    def test_executes_in_order(self):
        method = load(counter())
        requests = [method.execute_async([f32(1)]) for _ in range(30)]
        assert [first(request.result(SOON)) for request in requests] == list(range(1, 31))

    def test_leaves_the_caller_free(self, gate):
        method = gate.load(gated())
        request = method.execute_async([f32(4)])
        gate.wait_for()
        assert not request.done()
        gate.open.set()
        assert first(request.result(SOON)) == 8

    def test_is_awaited(self):
        method = load(chain_of_adds(1))

        async def main() -> list[float]:
            with Executor(2, 4) as executor:
                both = await asyncio.gather(
                    method.execute_async([f32(1, 0, 0, 0)]), executor.submit(method, [f32(2, 0, 0, 0)])
                )
            return [first(outputs) for outputs in both]

        assert asyncio.run(main()) == [2, 4]

    def test_errors_are_awaited(self):
        async def main() -> None:
            with pytest.raises(InputError):
                await load(chain_of_adds(1)).execute_async([3])

        asyncio.run(main())

    def test_a_task_that_is_cancelled_stops_its_request(self, gate):
        method = gate.load(gated())

        async def main() -> Request:
            request = method.execute_async([f32(1)])

            async def use() -> None:
                await request

            task = asyncio.create_task(use())
            await asyncio.to_thread(gate.wait_for)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return request

        assert asyncio.run(main()).cancelled()
        gate.open.set()
        assert first(method.execute_async([f32(3)]).result(SOON)) == 6
        assert gate.passed == [3]

    def test_lives_as_long_as_the_memory(self):
        method = load(chain_of_adds(1))
        method.execute_async([f32(1, 2, 3, 4)]).result(SOON)
        line, memory = weakref.ref(line_of(method.memory)), weakref.ref(method.memory)
        del method
        gc.collect()
        assert memory() is None
        gc.collect()
        assert line() is None
