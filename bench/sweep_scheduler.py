"""Overhead of Dask's own scheduler per cell of a sweep: empty tasks on simulated workers.

    python -m bench.sweep_scheduler [--workers N …] [--cells N …]

Drives the state machine of `distributed.scheduler` in this process, as its server does for messages: workers are
added, tasks submitted, and each is reported done. There are no connections: figures are processor time of the
scheduler's state alone. What messages cost comes on top, and no sweep on one scheduler can be faster. Tasks have no
dependencies, as those of sweeps.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import resource
import time
from typing import Any

from bench.measure import print_table, progress


def simulated(workers: int, cells: int) -> tuple[float, float, int]:
    """Seconds of processor time for adding the workers, and for all cells, and bytes of memory that were added."""
    return asyncio.run(_simulated(workers, cells))


async def _simulated(workers: int, cells: int) -> tuple[float, float, int]:
    from dask.task_spec import Task
    from distributed import Status
    from distributed.collections import HeapSet
    from distributed.scheduler import SchedulerState, WorkerState
    from sortedcontainers import SortedDict

    queued: Any = HeapSet(key=lambda task: task.priority)

    class State(SchedulerState):
        """With a dictionary of attributes, which the base leaves to the server."""

    state = State(
        aliases={},
        clients={},
        workers=SortedDict(),
        host_info={},
        resources={},
        tasks={},
        unrunnable={},
        queued=queued,
        validate=False,
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    for index in range(workers):
        address = f"tcp://10.{index >> 16}.{index >> 8 & 255}.{index & 255}:1"
        worker = WorkerState(
            address=address,
            status=Status.running,
            pid=1,
            name=address,
            nthreads=1,
            memory_limit=1 << 32,
            local_directory="",
            nanny=None,
            server_id=address,
            scheduler=state,
        )
        state.workers[address] = worker
        state.aliases[address] = address
        state.running.add(worker)
        state.total_nthreads += 1
        state.check_idle_saturated(worker)
    added = time.process_time() - started
    started = time.process_time()
    sent: dict[str, Any] = {}
    for index in range(cells):
        key = f"cell-{index}"
        task = state.new_task(key, Task(key, dict), "released")
        task.priority = (0, 0, index)
    state._transitions({f"cell-{index}": "waiting" for index in reversed(range(cells))}, {}, sent, "submit")
    done = 0
    while done < cells:
        # As messages of workers come: of each what it has been sent.
        messages, sent = sent, {}
        for address, orders in messages.items():
            for order in orders:
                if order["op"] != "compute-task":
                    continue
                key = order["key"]
                facts = {"worker": address, "nbytes": 1, "type": b"", "typename": "dict", "startstops": []}
                recommended, clients, to_workers = state._transition(
                    key, "memory", "done", run_id=order["run_id"], **facts
                )
                for other, found in to_workers.items():
                    sent.setdefault(other, []).extend(found)
                state._transitions(recommended, clients, sent, "done")
                # The slot is free: what is queued goes to it.
                for waiting in list(state.queued.peekn(1)):
                    state._transitions({waiting.key: "processing"}, {}, sent, "slot")
                state._transitions({key: "forgotten"}, {}, sent, "forget")
                done += 1
        if not sent and done < cells:
            raise RuntimeError(f"{cells - done} of {cells} cells are on no worker")
    spent = time.process_time() - started
    return added, spent, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.sweep_scheduler",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--workers", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--cells", type=int, nargs="+", default=[100_000])
    args = parser.parse_args()
    logging.getLogger("distributed").setLevel(logging.WARNING)
    rows: list[list[str]] = []
    for workers, cells in progress([(w, c) for w in args.workers for c in args.cells], "simulating"):
        added, spent, size = simulated(workers, cells)
        rows.append(
            [
                f"{workers:,}",
                f"{cells:,}",
                f"{added / workers * 1e6:.0f} µs",
                f"{spent / cells * 1e6:.0f} µs",
                f"{cells / spent:,.0f}",
                f"{size / 1e6:,.0f} MB",
            ]
        )
    print_table(["workers", "cells", "per worker", "per cell", "cells/s", "memory"], rows)


if __name__ == "__main__":
    main()
