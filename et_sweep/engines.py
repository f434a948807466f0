"""Engines of sweeps: where cells are compiled, and where they are timed.

All of them run cells by servers (`et_sweep.server`). Compilations go to any worker, and are tried again where one dies;
timings run one at a time on a machine.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, Final, Protocol

from et_sweep.server import Server, ServerDied

__all__ = ["TRIES", "DaskEngine", "Engine", "EngineError", "LocalEngine"]

TRIES: Final = 3
"""Times that a cell is tried whose worker dies."""

Request = Mapping[str, Any]
Answer = dict[str, Any]


class EngineError(RuntimeError):
    """An engine that cannot be had, or has lost its scheduler: the message says what to do."""


class Engine(Protocol):
    """A place to run requests."""

    def compile(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Answers as they come, with the index of their request."""
        ...

    def time(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Answers as they come; no two requests run on a machine at once."""
        ...

    def close(self) -> None:
        """End what it has started."""
        ...


class _Servers:
    """A server for each thread that asks, and each number of threads of a request."""

    def __init__(self) -> None:
        self._local = threading.local()
        self._all: set[Server] = set()
        self._lock = threading.Lock()
        self._closed = False

    def ask(self, request: Request) -> Answer:
        """The answer; of the last of `TRIES` servers that died, `died`."""
        died = ""
        for _ in range(TRIES):
            server = self._server(request["threads"])
            try:
                return server.ask(request)
            except ServerDied as error:
                died = str(error)
                with self._lock:
                    self._all.discard(server)
                del self._local.server
        return {"died": died}

    def _server(self, threads: int) -> Server:
        found = getattr(self._local, "server", None)
        if found is not None and found[0] == threads:
            return found[1]
        with self._lock:
            if self._closed:
                raise EngineError("the sweep has been stopped")
            if found is not None:
                self._all.discard(found[1])
                found[1].close()
            server = Server(threads)
            self._all.add(server)
        self._local.server = threads, server
        return server

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for server in self._all:
                server.close()
            self._all.clear()


class LocalEngine:
    """Processes of this machine, `workers` of them."""

    def __init__(self, workers: int) -> None:
        self._servers = _Servers()
        self._pool = ThreadPoolExecutor(workers)
        self._one = ThreadPoolExecutor(1)

    def compile(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        return self._run(self._pool, requests)

    def time(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        return self._run(self._one, requests)

    def _run(self, pool: ThreadPoolExecutor, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        futures = {pool.submit(self._servers.ask, one): index for index, one in enumerate(requests)}
        yield from _as_completed(futures)

    def close(self) -> None:
        for pool in (self._pool, self._one):
            pool.shutdown(wait=False, cancel_futures=True)
        self._servers.close()


def _as_completed(futures: dict[Future[Answer], int]) -> Iterator[tuple[int, Answer]]:
    pending = set(futures)
    while pending:
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        for future in done:
            yield futures[future], future.result()


_worker_servers = _Servers()


def _ask_on_worker(request: Request) -> Answer:
    """The answer to a request, on a worker of Dask."""
    return _worker_servers.ask(request)


@contextmanager
def _scheduler_there() -> Generator[None]:
    """Raise `EngineError` where the scheduler goes away."""
    from distributed.client import FutureCancelledError

    try:
        yield
    except (OSError, TimeoutError, FutureCancelledError) as error:
        message = f"the scheduler is gone: {error}; start it and the sweep again, which goes on where it was"
        raise EngineError(message) from None


def _result(future: Any) -> Answer:
    """The answer of a task; of one whose workers died, `died`."""
    from distributed.scheduler import KilledWorker

    with _scheduler_there():
        try:
            return future.result()
        except KilledWorker as error:
            return {"died": f"workers died: {error}"}


class DaskEngine:
    """Workers of `dask.distributed`: those of a scheduler at an address, or `workers` local ones.

    Timings run on the workers with the resource `timing`, or where none has it on one worker of each machine. Raises
    `EngineError` without the package, and without a scheduler at the address.
    """

    def __init__(self, address: str | None = None, workers: int = 2) -> None:
        try:
            from distributed import Client, LocalCluster
        except ImportError:
            from et_schema.distribution import installation

            raise EngineError(
                f"the package distributed is not installed; install it with: {installation('sweep')}"
            ) from None
        # What is lost is said once, by a message or a row.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        self._cluster = None
        try:
            if address is None:
                self._cluster = LocalCluster(
                    n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50
                )
            self._client = Client(address if self._cluster is None else self._cluster, timeout="10s")
        except (OSError, TimeoutError, ValueError) as error:
            raise EngineError(f"--scheduler {address}: there is no scheduler: {error}") from None

    def compile(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        return self._completed(requests)

    def _submit(self, request: Request, workers: Sequence[str] | None = None) -> Any:
        return self._client.submit(_ask_on_worker, request, pure=False, retries=TRIES, workers=workers)

    def _completed(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        from distributed import as_completed

        with _scheduler_there():
            futures = {self._submit(one): index for index, one in enumerate(requests)}
            queue: Any = as_completed(list(futures))
        for _ in requests:
            with _scheduler_there():
                future = next(queue)
            yield futures.pop(future), _result(future)
            future.release()

    def time(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        from distributed import as_completed

        with _scheduler_there():
            machines = self._machines()
        if not machines:
            raise EngineError("the scheduler has no workers to time on")
        left = list(enumerate(requests))
        running: dict[Any, tuple[int, str]] = {}
        queue: Any = as_completed()
        while left or running:
            with _scheduler_there():
                for machine in set(machines) - {one for _, one in running.values()}:
                    if left:
                        index, request = left.pop(0)
                        future = self._submit(request, [machines[machine]])
                        running[future] = index, machine
                        queue.add(future)
                future = next(queue)
            index, _ = running.pop(future)
            yield index, _result(future)

    def _machines(self) -> dict[str, str]:
        """The address of a worker for timings on each machine."""
        workers: dict[str, Any] = self._client.scheduler_info(n_workers=-1)["workers"]
        tagged = {address for address, one in workers.items() if one.get("resources", {}).get("timing")}
        return {workers[address]["host"]: address for address in sorted(tagged or workers, reverse=True)}

    def close(self) -> None:
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()
