"""Sweep of torch's operator samples: kernels alone, end to end, and on the stock runtime.

    PYTHONPATH=test:test/conformance python -m sweep [--only TEXT] [--limit N] [--processes N] [--results FOLDER]

Outcomes are kept by entry under `build/sweep` until the sources change, so that a sweep that was interrupted
goes on where it was. A sweep of all entries, with `--document` if it is limited, writes `docs/ops.md`,
`docs/generated/ops.md` and `test/conformance/sweep/known.json`, the failures that `docs/ops.md` explains.
Exit code 1 if a sample failed that is not known to.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from examples.artefacts import digest, package
from sweep.report import KNOWN_FAILURES, document, full_table, known, known_failures, read, totals
from sweep.samples import entries

HERE = Path(__file__).resolve().parent
ORACLES = HERE.parent
ROOT = ORACLES.parents[1]
INPUTS = ("factorizations", "kernel_oracle", "stock", "stock_faults", "stock_models")
"""The oracles that outcomes depend on."""
DOCUMENT = ROOT / "docs" / "ops.md"
TABLE = ROOT / "docs" / "generated" / "ops.md"


class Worker:
    """A process that sweeps, started anew when it died."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._process: subprocess.Popen[str] | None = None

    def sweep(self, entry: str) -> dict[str, Any]:
        """The outcomes of `entry`; of an entry at which the process dies, its exit status."""
        if self._process is None:
            limit = [] if self._limit is None else [str(self._limit)]
            self._process = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-m", "sweep.worker", *limit],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={
                    **os.environ,
                    "OMP_NUM_THREADS": "1",
                    "PYTHONPATH": f"{ORACLES}:{ORACLES.parent}:{ROOT}",
                },
                text=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{entry}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            self._process = None
            return {"entry": entry, "seconds": 0.0, "types": {}, "died": code}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def stop(self) -> None:
        """End the process."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()


def sweep_all(names: Sequence[str], folder: Path, limit: int | None, processes: int) -> None:
    """Sweep the entries that `folder` has no outcomes of, with a line of progress for each."""
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name in names:
        if not (folder / f"{name}.json").exists():
            waiting.put(name)
    total, done, started = waiting.qsize(), 0, time.monotonic()

    def work() -> None:
        nonlocal done
        worker = Worker(limit)
        while True:
            try:
                entry = waiting.get_nowait()
            except queue.Empty:
                worker.stop()
                return
            answer = worker.sweep(entry)
            draft = folder / f"{entry}.part"
            draft.write_text(json.dumps(answer))
            draft.rename(folder / f"{entry}.json")
            done += 1
            print(f"{done}/{total} after {time.monotonic() - started:.0f} s: {entry}", flush=True)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _sources() -> str:
    """Changes with everything that outcomes depend on."""
    folders = [package(name) for name in ("et_backends", "et_ir", "et_schema", "et_vm")]
    oracles = [ORACLES / f"{name}.py" for name in INPUTS]
    return digest(*folders, HERE, *oracles, torch.__version__)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--limit", type=int, help="samples of each entry and type; all unless given")
    parser.add_argument("--document", action="store_true", help="write docs/ops.md in spite of --limit")
    parser.add_argument("--only", default="", help="entries whose name contains this")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--results", type=Path, help="keep outcomes here, whatever the sources")
    options = parser.parse_args()
    kept = f"{_sources()[:16]}{'' if options.limit is None else f'-{options.limit}'}"
    folder: Path = options.results or ROOT / "build" / "sweep" / kept
    folder.mkdir(parents=True, exist_ok=True)
    names = [name for name in entries() if options.only in name]
    sweep_all(names, folder, options.limit, options.processes)

    found = [entry for entry in read(folder) if entry.name in names]
    print("\n".join(totals(found)))
    before = known_failures()
    short = known(found)
    new = [
        f"{name}: {column}, {', '.join(sorted(unknown))}"
        for name, columns in short.items()
        for column, dtypes in columns.items()
        if (unknown := set(dtypes) - set(before.get(name, {}).get(column, ())))
    ]
    print(*(f"new failure: {line}" for line in new), sep="\n")
    if (options.limit is None or options.document) and not options.only:
        DOCUMENT.write_text(document(found, options.limit))
        TABLE.parent.mkdir(exist_ok=True)
        TABLE.write_text(full_table(found))
        if options.limit is None:
            # Samples that a limited sweep leaves out keep what is known of them.
            KNOWN_FAILURES.write_text(json.dumps(short, indent=1, sort_keys=True) + "\n")
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
