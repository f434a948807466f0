"""The stock ExecuTorch toolchain as an oracle: its compiler in this process, its runtime in one of its own.

The stock runtime ends the process on some malformed files. It runs in a worker, so that a file of ours that
upsets it fails one test, with the runtime's own log, and not the whole session. The worker starts once, as
importing the stock runtime takes seconds.

Run as a script this file is the worker: it reads pickled requests from standard input and answers on standard
output.
"""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch

LOG_TAIL = 4000


class StockError(Exception):
    """The stock runtime refused a file or an input, or died of it; the message ends with its log."""


def compile_stock(program: torch.export.ExportedProgram) -> bytes:
    """The `.pte` that the stock compiler makes of an exported program with its default settings."""
    with warnings.catch_warnings(action="ignore"):  # about its own use of deprecated functions
        from executorch.exir import to_edge

        # Stock's passes change the program that they are given.
        return to_edge(copy.deepcopy(program)).to_executorch().buffer


class StockRuntime:
    """A worker process with the stock runtime; a context manager. Restarts by itself after a crash.

    With `quantized` it has the kernels of the library for quantised programs, too, with `language_models` those of the
    library for attention over caches.
    """

    def __init__(self, *, quantized: bool = False, language_models: bool = False) -> None:
        libraries = {"--quantized": quantized, "--language-models": language_models}
        self._options = [option for option, is_wanted in libraries.items() if is_wanted]
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed by __exit__)
        self._worker: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        self._log.close()

    def run(self, path: Path, inputs: Sequence[Any], method: str = "forward") -> list[Any]:
        """The outputs of `method` of the file at `path`, flat; raises `StockError`."""
        return self.run_in_place(path, inputs, method)[0]

    def run_on(self, path: Path, inputs: Sequence[Any], method: str = "forward") -> list[Any]:
        """The same with the program as the last call for this file left it, if that was the last call: state goes on.

        All methods are loaded at first, which is when state gets its initial values.
        """
        return self.run_in_place(path, inputs, method, go_on=True)[0]

    def run_in_place(
        self,
        path: Path,
        inputs: Sequence[Any],
        method: str = "forward",
        *,
        go_on: bool = False,
        as_data: bool = False,
    ) -> tuple[list[Any], list[Any]]:
        """The outputs, and what the caller's inputs hold afterwards.

        With `as_data` the runtime gets the bytes of the file, which stay. From a path, it frees blobs when models have
        been imported, and OpenVINO 2026 goes on to read weights there. executorch's extra asks for an earlier one.
        """
        worker = self._started()
        assert worker.stdin is not None
        assert worker.stdout is not None
        mark = self._log.seek(0, os.SEEK_END)
        try:
            pickle.dump((str(path), method, list(inputs), go_on, as_data), worker.stdin)
            worker.stdin.flush()
            answer, failure = pickle.load(worker.stdout)
        except (EOFError, BrokenPipeError):
            code = self._stop()
            raise StockError(f"the stock runtime died ({code}) of {path}\n{self._tail(mark)}") from None
        except BaseException:
            # Interrupted by a time limit: the answer would be taken for that to the next question.
            worker.kill()
            self._stop()
            raise
        if failure is not None:
            raise StockError(f"{failure}\n{self._tail(mark)}")
        return answer

    def _started(self) -> subprocess.Popen[bytes]:
        if self._worker is None:
            self._worker = subprocess.Popen(
                [sys.executable, __file__, *self._options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
            )
        return self._worker

    def _stop(self) -> int:
        worker, self._worker = self._worker, None
        if worker is None:
            return 0
        assert worker.stdin is not None
        assert worker.stdout is not None
        with suppress(BrokenPipeError):  # then it is gone already, and its exit status says how
            worker.stdin.close()
        worker.stdout.close()
        return worker.wait()

    def _tail(self, mark: int) -> str:
        end = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(mark, end - LOG_TAIL))
        return self._log.read().decode(errors="replace")


def load(source: str | bytes, methods: Sequence[str]) -> dict[str, Any]:
    """The methods of a program, all of them if none are named. They share its memory."""
    from executorch.runtime import Runtime, Verification

    program = Runtime.get().load_program(source, verification=Verification.InternalConsistency)
    return {name: program.load_method(name) for name in methods or sorted(program.method_names)}


def answer(loaded: Any, inputs: list[Any]) -> tuple[list[Any], list[Any]]:
    assert loaded is not None
    # The outputs live in the program's arena, which is freed with it.
    outputs = [
        value.clone() if isinstance(value, torch.Tensor) else value for value in loaded.execute(inputs)
    ]
    return outputs, inputs


def serve() -> None:
    """Answer requests until standard input ends."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever the runtime prints must not end up between the answers
    if "--quantized" in sys.argv:
        import_module("executorch.kernels.quantized")  # registers them
    if "--language-models" in sys.argv:
        import_module("executorch.extension.pybindings.portable_lib")  # which the library registers with
        import_module("executorch.extension.llm.custom_ops.custom_ops")
    kept: tuple[str, dict[str, Any]] = "", {}
    source: str | bytes = ""
    while True:
        try:
            path, method, inputs, go_on, as_data = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            if not go_on or kept[0] != path:
                kept = "", {}  # before the data that they read
                source = Path(path).read_bytes() if as_data else path
                kept = path if go_on else "", load(source, () if go_on else (method,))
            reply = answer(kept[1][method], inputs), None
        except Exception as error:
            reply = None, f"{type(error).__name__}: {error}"
        pickle.dump(reply, replies)
        replies.flush()


if __name__ == "__main__":
    serve()
