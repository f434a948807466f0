"""Processes of cells: a server has the compiler imported, and forks for each request.

A cell that crashes, or uses all memory, ends its own process. Server and cells end with the process that asked.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Final

__all__ = ["Server", "ServerDied", "main"]

_TAIL: Final = 2000
"""Characters of what a cell printed that are kept if it dies."""
_PR_SET_PDEATHSIG: Final = 1


class ServerDied(Exception):
    """The process that serves requests has ended before the answer."""


class Server:
    """A process that answers requests, one at a time. `threads` is the number that numerical libraries take."""

    def __init__(self, threads: int = 1) -> None:
        variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ET_VM_THREADS")
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from et_sweep.server import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C is for the sweep, which ends its servers itself.
            start_new_session=True,
            env={**os.environ, "PYTHONHASHSEED": "0", **dict.fromkeys(variables, str(threads))},
        )

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a request of `kind` `compile` or `time`. Raises `ServerDied`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            pickle.dump(dict(request), self._process.stdin)
            self._process.stdin.flush()
            return pickle.load(self._process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError, ValueError) as error:
            self.close()
            raise ServerDied(f"the worker process ended ({self._process.returncode})") from error

    def close(self) -> None:
        """End the process, and the cell that it runs."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except OSError:
                continue  # what is left in the buffer is for nobody


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _answer(work: Callable[[Any], dict[str, Any]], request: Mapping[str, Any]) -> dict[str, Any]:
    """What `work` makes of a request, in a process of its own; or `died`, how it ended without an answer."""
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            _run_child(work, request, writer, output.fileno())
        os.close(writer)
        data, is_late = _read(reader, request.get("timeout"))
        os.close(reader)
        if is_late:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if is_late:
            return {"died": f"the time limit of {request['timeout']:g} s has passed"}
        try:
            return pickle.loads(data)
        except (EOFError, pickle.UnpicklingError):
            output.seek(0)
            tail = output.read().decode(errors="replace")[-_TAIL:].strip()
            code = os.waitstatus_to_exitcode(status)
            how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
            return {"died": f"the process ended by {how}", "output": tail}


def _run_child(
    work: Callable[[Any], dict[str, Any]], request: Mapping[str, Any], writer: int, output: int
) -> None:
    try:
        _die_with_parent()
        for stream in (1, 2):
            os.dup2(output, stream)
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(work(request), pipe)
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def _read(reader: int, timeout: float | None) -> tuple[bytes, bool]:
    """All bytes until the end of a pipe, and whether the time was over before."""
    end = None if timeout is None else time.monotonic() + timeout
    found: list[bytes] = []
    while True:
        left = None if end is None else max(0.0, end - time.monotonic())
        if not select.select([reader], [], [], left)[0]:
            return b"", True
        part = os.read(reader, 1 << 20)
        if not part:
            return b"".join(found), False
        found.append(part)


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    from et_sweep.cell import compile_cell
    from et_sweep.timing import time_cells

    _preload()
    kinds = {"compile": compile_cell, "time": time_cells}
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        pickle.dump(_answer(kinds[request["kind"]], request), answers)
        answers.flush()


def _preload() -> None:
    """Import what cells do, which takes longer than compiling many of them; torch imports most of its own for the
    first export.
    """
    import torch

    import et_vm.program  # noqa: F401
    from et_tools.loading import quiet_torch

    with quiet_torch():
        torch.export.export(torch.nn.Linear(1, 1), (torch.ones(1, 1),)).run_decompositions()


def main() -> None:
    """Serve requests of standard input until it ends."""
    _die_with_parent()
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print must not come between answers
    _serve(sys.stdin.buffer, channel)
