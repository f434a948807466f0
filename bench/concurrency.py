"""Throughput of requests: several in flight, on a thread each, against one at a time on as many threads.

    python -m bench.concurrency [--threads N] [MODEL …]

Models are compiled natively, and both take turns in one process: one request after the other, whose kernels the threads
share, and as many requests in flight as there are threads, each on one. Times are of a number of requests, divided by
that; "p99" is the time from the submission of a request to its result, against the median of one at a time. Goals with
two threads: times at most 0.87 (a throughput of 1.15 times), p99 at most 2.2.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import time
from collections.abc import Sequence
from functools import partial
from threading import Semaphore
from typing import TYPE_CHECKING, Any

from bench.measure import (
    median_ratio,
    print_table,
    progress,
    rounds_for,
    set_threads,
    show_time,
    take_turns,
    verdict,
)

if TYPE_CHECKING:
    from et_vm.runtime import Executor, Method

MODELS = ("mobilenet_v2", "bert")
REQUESTS = 20
"""Requests of a round."""
TIME_GOAL = 1 / 1.15
P99_GOAL = 2.2


class OneAtATime:
    """Requests one after the other."""

    def __init__(self, method: Method, inputs: Sequence[Any]) -> None:
        self._method = method
        self._inputs = inputs
        self.seconds: list[float] = []
        """From the submission to the result of each request."""

    def run(self) -> None:
        for _ in range(REQUESTS):
            start = time.perf_counter()
            self._method.execute(self._inputs)
            self.seconds.append(time.perf_counter() - start)


class InFlight:
    """As many requests in flight as the executor has threads."""

    def __init__(self, executor: Executor, threads: int, method: Method, inputs: Sequence[Any]) -> None:
        self._executor = executor
        self._places = Semaphore(threads)
        self._method = method
        self._inputs = inputs
        self.seconds: list[float] = []

    def run(self) -> None:
        requests: list[Any] = []
        for _ in range(REQUESTS):
            self._places.acquire()
            request = self._executor.submit(self._method, self._inputs)
            request.add_done_callback(partial(self._end, time.perf_counter()))
            requests.append(request)
        for request in requests:
            request.result()

    def _end(self, start: float, request: object) -> None:
        del request
        self.seconds.append(time.perf_counter() - start)
        self._places.release()


def row(name: str, threads: int) -> list[str]:
    from bench.subjects import file, subject
    from et_vm.runtime import Runtime

    model = subject(name)
    path, inputs = file(model, "ours-native"), [value.numpy() for value in model.inputs]
    shared = Runtime(threads=threads).load_program(path, allow_native=True).load_method("forward")
    own = Runtime(threads=1).load_program(path, allow_native=True).load_method("forward")
    with Runtime.get().executor(threads=threads) as executor:
        executor.prepare(own)
        alone, together = OneAtATime(shared, inputs), InFlight(executor, threads, own, inputs)
        pace = take_turns({"alone": alone.run}, 1)["alone"][0]
        candidates = {"alone": alone.run, "together": together.run}
        alone.seconds.clear()
        seconds = take_turns(candidates, rounds_for(pace))
    ratio = median_ratio(seconds["together"], seconds["alone"])
    p99 = sorted(together.seconds)[math.ceil(0.99 * len(together.seconds)) - 1]
    latency = p99 / statistics.median(alone.seconds)
    return [
        name,
        show_time(statistics.median(seconds["alone"]) / REQUESTS),
        show_time(statistics.median(seconds["together"]) / REQUESTS),
        f"{ratio:.2f}",
        verdict(ratio, round(TIME_GOAL, 2)),
        show_time(p99),
        f"{latency:.2f}",
        verdict(latency, P99_GOAL),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.concurrency",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", nargs="*", help=f"example models; {' and '.join(MODELS)} unless given")
    parser.add_argument("--threads", type=int, default=2, help="of both")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    set_threads(options.threads)  # which is why nothing above imports numpy
    print(f"{options.threads} threads\n")
    head = ["model", "one at a time", "in flight", "ratio", "goal", "p99", "ratio", "goal"]
    rows = [row(name, options.threads) for name in progress(options.model or MODELS, "models")]
    print_table(head, rows)


if __name__ == "__main__":
    main()
