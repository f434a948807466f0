"""Requests: executions by other threads, several at once, each in memory of its own.

An `Executor` takes requests while fewer than a given number are in flight, and has threads that execute them. A
request executes in an *instance* of its method, which shares the constants and has arenas of its own. There are as many
instances as threads at most, and outputs are copied before the next request gets an instance. A method that keeps state
between executions (`Method.serialized_by`) has no other instances: its requests execute one after the other, in the
order in which they were made, and so do those of methods with the same memory.

A `Request` is done once: by a result, an error, cancellation or its deadline. What comes after that is dropped. The
execution of a request that was cancelled is stopped (`et_vm.run.stopping`); it is in flight until it has ended.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from et_schema.errors import Error, ExecutorchError
from et_vm.backend import number_of_threads
from et_vm.run.stopping import Stop, Stopped

if TYPE_CHECKING:
    from et_vm.run.memory import MemoryManager

__all__ = ["Executable", "Executor", "Request", "line_of"]

_REST = 1.0
"""Seconds after which the thread of an executor looks whether there are still deadlines."""


class Executable(Protocol):
    """What requests execute: an `et_vm.run.method.Method`, which has requests of its own."""

    @property
    def name(self) -> str: ...
    @property
    def memory(self) -> MemoryManager: ...
    @property
    def serialized_by(self) -> tuple[str, ...]: ...
    @property
    def has_given_outputs(self) -> bool: ...
    def another(self) -> Executable: ...
    def execute_stoppable(self, inputs: Sequence[object], stop: Stop) -> list[Any]: ...


class Request(Future[list[Any]]):
    """The outputs of an execution that another thread performs, as `Method.execute` returns them.

    A `concurrent.futures.Future` that a coroutine can await. It can be cancelled while it executes, too: its execution
    stops before the next instruction.
    """

    def __init__(self, withdraw: Callable[[Request], None], timeout: float | None) -> None:
        """`withdraw` stops the execution of a request that is done, or keeps it from beginning."""
        super().__init__()
        self._withdraw = withdraw
        self._timeout = timeout
        self._to_notify = threading.Lock()
        self.is_executing = False
        self.deadline = None if timeout is None else time.monotonic() + timeout
        """The time of `time.monotonic` at which the request ends with TimeoutError, if it has not ended before."""

    def __await__(self) -> Generator[Any, None, list[Any]]:
        # Imported here because it takes its time, and who awaits has it.
        import asyncio

        return asyncio.wrap_future(self).__await__()

    def running(self) -> bool:
        """Whether the request is executing."""
        return self.is_executing and not self.done()

    def cancel(self) -> bool:
        """End the request, and stop its execution if that has begun. False if the request was done before."""
        if not super().cancel():
            return False
        if self._to_notify.acquire(blocking=False):
            self.set_running_or_notify_cancel()  # Tells those who wait for one of several.
        self._withdraw(self)
        return True

    def expire(self) -> None:
        """End the request with TimeoutError, as its deadline does, and stop its execution."""
        limit = "before its deadline" if self._timeout is None else f"within {self._timeout:g} s"
        if self.end(partial(self.set_exception, TimeoutError(f"the request has not ended {limit}"))):
            self._withdraw(self)

    def end(self, outcome: Callable[[], None]) -> bool:
        """Call what sets a result or an error, unless the request is done: returns whether it was not."""
        try:
            outcome()
        except InvalidStateError:
            return False
        return True


class _Execution:
    """What an executor knows of a request in flight."""

    def __init__(self, method: Executable, inputs: Sequence[object], memory: MemoryManager | None) -> None:
        self.method = method
        self.inputs = inputs
        self.memory = memory
        """Where the method has to be executed; None if any memory will do."""
        self.stop = Stop()
        self.outcome: Callable[[], None] | None = None
        """Gives the request what its execution has come to. None while that has not ended."""


class _Instances:
    """The instances of a method: how many there are, and those that execute nothing."""

    def __init__(self) -> None:
        self.count = 0
        self.idle: list[Executable] = []


class Executor:
    """Executes requests of methods, up to `threads` at once. A context manager: at its end it waits for all requests,
    or cancels them if an exception ends it.

    Threads may share it. Made by `et_vm.runtime.Runtime.executor`.
    """

    def __init__(
        self, threads: int = 1, in_flight: int | None = None, *, ordered: bool = False, instances: bool = True
    ) -> None:
        """Without `in_flight`, as many requests may be in flight as there are threads. Without `instances`, any number,
        each of which executes in the memory of its method.

        Raises ExecutorchError(InvalidArgument) for numbers below 1, and for too many threads.
        """
        self._threads = number_of_threads(threads)
        self._limit = threads if in_flight is None else in_flight
        if self._limit < 1:
            raise ExecutorchError(
                Error.InvalidArgument, f"in_flight={in_flight}: a number from 1 on is required"
            )
        self._ordered = ordered
        self._has_instances = instances
        # A finalizer may cancel a request, in the middle of whatever runs.
        self._lock = threading.RLock()
        self._fewer = threading.Condition(self._lock)
        """Notified when fewer requests are in flight, and when the executor is closed."""
        self._earlier = threading.Condition(self._lock)
        """Notified when there is an earlier deadline."""
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="et-vm request")
        self._instances: weakref.WeakKeyDictionary[Executable, _Instances] = weakref.WeakKeyDictionary()
        self._in_flight: dict[Request, _Execution] = {}
        self._waiting: dict[Request, None] = {}
        self._active = 0
        """Threads that execute a request."""
        self._busy: set[MemoryManager] = set()
        """Memories of requests that are executing."""
        self._unpublished: dict[Request, None] = {}
        """Requests in their order, where results are to come in it."""
        self._outbox: deque[Callable[[], object]] = deque()
        self._is_publishing = False
        self._timed: set[Request] = set()
        self._watcher: threading.Thread | None = None
        self._wakes_at = 0.0
        self._is_closed = False

    def __repr__(self) -> str:
        most = f" of {self._limit}" if self._has_instances else ""
        return f"<{type(self).__name__}: {self.in_flight}{most} requests in flight, {self._active} executing>"

    def __enter__(self) -> Executor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(cancel=error is not None)

    @property
    def in_flight(self) -> int:
        """The number of requests that wait, execute, or have a result whose turn has not come."""
        return len(self._in_flight)

    def submit(
        self,
        method: Executable,
        inputs: Sequence[object] = (),
        *,
        timeout: float | None = None,
        block: bool = True,
    ) -> Request:
        """Have a method executed on `inputs`, which must stay as they are until the request is done.

        While the most requests are in flight, waits, or with `block=False` raises ExecutorchError(OutOfResources). A
        request that has not ended `timeout` seconds after the call ends with TimeoutError. What an execution raises,
        its request raises. Inputs that the method writes to have their new values when the request has a result.

        Raises ExecutorchError(InvalidState) when the executor is closed, also while waiting, and for a method that has
        outputs in memory of the caller (`Method.set_output`).
        """
        if method.has_given_outputs:
            raise ExecutorchError(
                Error.InvalidState,
                "outputs go to memory of the caller, where those of several requests would meet",
                where=method.name,
                hint="end that with set_output(index, None)",
            )
        execution = _Execution(method, inputs, self._memory_for(method))
        request = Request(self._withdraw, timeout)
        with self._lock:
            while not self._is_closed and self._has_instances and len(self._in_flight) >= self._limit:
                if not block:
                    raise ExecutorchError(
                        Error.OutOfResources,
                        f"{len(self._in_flight)} requests are in flight, which is the limit",
                        where=method.name,
                        hint="wait for one of them, or submit without block=False",
                    )
                left = None if request.deadline is None else request.deadline - time.monotonic()
                if left is not None and left <= 0:
                    request.expire()
                    return request
                self._fewer.wait(left)
            if self._is_closed:
                raise ExecutorchError(Error.InvalidState, "the executor is closed", where=method.name)
            self._in_flight[request] = execution
            self._waiting[request] = None
            if self._ordered:
                self._unpublished[request] = None
            if request.deadline is not None:
                self._watch(request)
            self._start()
        return request

    def map(
        self, method: Executable, inputs: Iterable[Sequence[object]], *, timeout: float | None = None
    ) -> Iterator[list[Any]]:
        """The outputs for each of `inputs`, in their order. Takes as many ahead as may be in flight; `timeout` is of
        each request. An error ends the iteration, which cancels what it has in flight.
        """
        taken: deque[Request] = deque()
        try:
            for given in inputs:
                if len(taken) >= self._limit:
                    yield taken.popleft().result()
                taken.append(self.submit(method, given, timeout=timeout))
            while taken:
                yield taken.popleft().result()
        finally:
            for request in taken:
                request.cancel()

    def prepare(self, method: Executable) -> None:
        """Load the instances that requests of `method` may need, which otherwise the first requests do.

        Raises what `et_vm.program.Program.load_method` raises.
        """
        if self._memory_for(method) is not None:
            return
        with self._lock:
            instances = self._instances.setdefault(method, _Instances())
            while instances.count < min(self._threads, self._limit):
                instances.idle.append(method.another())
                instances.count += 1

    def close(self, *, cancel: bool = False) -> None:
        """Take no more requests, wait until none is in flight, and let go of threads and instances. With `cancel`, all
        are cancelled first.
        """
        with self._lock:
            self._is_closed = True
            self._fewer.notify_all()
            requests = list(self._in_flight) if cancel else []
        for request in requests:
            request.cancel()
        with self._lock:
            while self._in_flight:
                self._fewer.wait()
        self._pool.shutdown()
        with self._lock:
            self._instances.clear()

    def _memory_for(self, method: Executable) -> MemoryManager | None:
        return method.memory if not self._has_instances or method.serialized_by else None

    # Executing

    def _start(self) -> None:
        """Give requests that can execute to threads that have none. The lock is held."""
        while self._active < self._threads and (request := self._next()) is not None:
            self._active += 1
            try:
                self._pool.submit(self._serve, request)
            except RuntimeError as error:  # The interpreter is about to end.
                self._pass_on(request)
                self._end(request, partial(request.set_exception, error))

    def _next(self) -> Request | None:
        """Take the first request that can execute. The lock is held."""
        # A copy, as a finalizer may cancel one of them.
        for request in list(self._waiting):
            memory = self._in_flight[request].memory
            if memory is None or memory not in self._busy:
                del self._waiting[request]
                if memory is not None:
                    self._busy.add(memory)
                return request
            if not self._has_instances:
                break  # All have the same.
        return None

    def _pass_on(self, request: Request) -> Request | None:
        """The request that the thread of this one executes next, if there is one."""
        with self._lock:
            memory = self._in_flight[request].memory
            if memory is not None:
                self._busy.discard(memory)
            following = self._next()
            if following is None:
                self._active -= 1
            return following

    def _serve(self, request: Request) -> None:
        """Execute a request, and then others until there are none."""
        following: Request | None = request
        while following is not None:
            request = following
            if request.deadline is not None and request.deadline <= time.monotonic():
                request.expire()
            request.is_executing = True
            outputs, error = self._execute(self._in_flight[request])
            request.is_executing = False
            if error is None:
                outcome = partial(request.set_result, outputs)
            elif isinstance(error, Stopped):
                outcome = _nothing
            else:
                outcome = partial(request.set_exception, error)
            following = self._pass_on(request)
            self._end(request, outcome)
            # What is kept of one must not outlive the next.
            del outputs, error, outcome

    def _execute(self, execution: _Execution) -> tuple[list[Any], BaseException | None]:
        """The outputs or an error. The request is not named here: it holds the error, and that these variables."""
        try:
            if execution.memory is None:
                return self._execute_instance(execution), None
            with execution.memory.turn:
                return execution.method.execute_stoppable(execution.inputs, execution.stop), None
        except BaseException as error:
            return [], error

    def _execute_instance(self, execution: _Execution) -> list[Any]:
        with self._lock:
            instances = self._instances.setdefault(execution.method, _Instances())
            instance = instances.idle.pop() if instances.idle else None
        if instance is None:
            instance = execution.method.another()
            with self._lock:
                instances.count += 1
        try:
            return instance.execute_stoppable(execution.inputs, execution.stop)
        finally:
            with self._lock:
                instances.idle.append(instance)

    # Ending

    def _withdraw(self, request: Request) -> None:
        """Do not execute a request that is done; stop its execution if it has begun."""
        with self._lock:
            execution = self._in_flight.get(request)
            if execution is None:
                return
            waits = request in self._waiting
            if waits:
                del self._waiting[request]
        if waits:
            self._end(request, _nothing)
        else:
            execution.stop.request()
            if self._ordered:
                self._publish(self._in_order())

    def _end(self, request: Request, outcome: Callable[[], None]) -> None:
        """Note that a request does not execute any more, and give it `outcome`, now or when its turn has come."""
        with self._lock:
            self._in_flight[request].outcome = outcome
            self._timed.discard(request)
            if self._ordered and not request.done():
                ready = self._in_order()
            else:
                self._unpublished.pop(request, None)
                ready = [*self._leave([request]), *self._in_order()]
        self._publish(ready)

    def _in_order(self) -> list[Callable[[], object]]:
        """What gives results to the requests whose turn it is; they are in flight no more."""
        with self._lock:
            first: list[Request] = []
            for request in list(self._unpublished):
                ended = self._in_flight[request].outcome is not None
                if not ended and not request.done():
                    break
                first.append(request)
            for request in first:
                del self._unpublished[request]
            return self._leave([one for one in first if self._in_flight[one].outcome is not None])

    def _leave(self, requests: Iterable[Request]) -> list[Callable[[], object]]:
        """Count requests as in flight no more; returns what gives them their results. The lock is held."""
        ends: list[Callable[[], object]] = []
        for request in requests:
            outcome = self._in_flight.pop(request).outcome
            assert outcome is not None
            ends.append(partial(request.end, outcome))
        if ends:
            self._fewer.notify_all()
        return ends

    def _publish(self, ends: Iterable[Callable[[], object]]) -> None:
        """Call what gives requests their results. In order, one thread does that for all, as callbacks take a while."""
        if not self._ordered:
            for end in ends:
                end()
            return
        with self._lock:
            self._outbox.extend(ends)
            if self._is_publishing:
                return
            self._is_publishing = True
        while True:
            with self._lock:
                if not self._outbox:
                    self._is_publishing = False
                    return
                end = self._outbox.popleft()
            end()

    # Deadlines

    def _watch(self, request: Request) -> None:
        """Have a request expire at its deadline. The lock is held."""
        self._timed.add(request)
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._expire_in_time, name="et-vm deadlines", daemon=True)
            self._watcher.start()
        elif request.deadline is not None and request.deadline < self._wakes_at:
            self._earlier.notify()

    def _expire_in_time(self) -> None:
        """Expire requests at their deadlines, as long as there are some."""
        while True:
            with self._lock:
                if not self._timed:
                    self._watcher = None
                    return
                now = time.monotonic()
                deadlines = {one: one.deadline for one in self._timed if one.deadline is not None}
                expired = [one for one, deadline in deadlines.items() if deadline <= now]
                self._timed.difference_update(expired)
                if not expired:
                    # Later deadlines can wait, but an executor that nobody uses is not held for as long.
                    self._wakes_at = min(*deadlines.values(), now + _REST)
                    deadlines.clear()
                    self._earlier.wait(self._wakes_at - now)
                    continue
            while expired:
                expired.pop().expire()


def _nothing() -> None:
    """Of an execution that was stopped or did not begin: its request is done."""


_lines: weakref.WeakKeyDictionary[MemoryManager, Executor] = weakref.WeakKeyDictionary()
_lines_lock = threading.Lock()


def line_of(memory: MemoryManager) -> Executor:
    """The executor of the requests that execute one after the other in a memory; it lives as long as that."""
    with _lines_lock:
        line = _lines.get(memory)
        if line is None:
            line = _lines[memory] = Executor(instances=False)
        return line
