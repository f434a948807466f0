"""et-reduce: find a smaller program for which a command still succeeds.

examples:
  et-reduce net.mlir --keep 'grep -q edge.mm' -o small.mlir        the file is its last argument
  et-reduce net.mlir --keep '! et-compile -q {} -o /dev/null'      {} stands for the file
  et-reduce net.mlir --keep 'et-vm run {} 2>&1 | grep -q range' -o small.mlir
  et-reduce net.mlir --keep './fails.sh' --timeout 60 -q           a command that takes longer fails

The command runs in a shell. It succeeds (exit status 0) if the program still shows the behavior of interest,
as it must for the input program. Ops are removed, and their results become inputs; methods, outputs, regions
and constants are removed; dimensions shrink. The output file always has the smallest program found so far.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from et_schema.whole_numbers import shortened
from et_schema.wording import in_words
from et_tools.arguments import CommandParser
from et_tools.exit_codes import ExitCode, UsageError, guarded
from et_tools.output import check_text_output, write_stdout

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

__all__ = ["main"]


_TIMES: Final = 10
_MARGIN: Final = 5.0
"""Of a command's first run, its limit of time: a multiple, and seconds."""


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise argparse.ArgumentTypeError(f"{shortened(text)!r} is not a number of seconds")
    return seconds


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = CommandParser("et-reduce", "et-reduce FILE --keep COMMAND [options]", __doc__ or "")
    add = parser.add_argument
    add("file", metavar="FILE", help="a .mlir at any level; '-' is standard input")
    add(
        "--keep",
        required=True,
        metavar="COMMAND",
        help="succeeds (exit status 0) for programs to keep; {} is the file",
    )
    add("-o", "--output", default="-", metavar="FILE", help="output file (default: '-', standard output)")
    add("--weights", metavar="FILE", help="weight store of the text (default: the .safetensors next to it)")
    add(
        "--load",
        action="append",
        default=[],
        metavar="FILE",
        help="Python file that defines dialects; repeatable",
    )
    add(
        "--timeout",
        type=_seconds,
        metavar="S",
        help="time limit of the command, in seconds (default: ten times that of its first run, and 5 s)",
    )
    add("-q", "--quiet", action="store_true", help="do not print progress")
    parser.add_version()
    return parser.parse_args(arguments)


class _Command:
    """The condition: a command on a file in a folder of its own.

    Smaller programs may be endless, so without `timeout` it has a limit, too: that of its first run, with a margin.
    """

    def __init__(self, command: str, folder: Path, timeout: float | None):
        self._file = folder / "reduced.mlir"
        quoted = shlex.quote(str(self._file))
        self._line = command.replace("{}", quoted) if "{}" in command else f"{command} {quoted}"
        self._timeout = timeout

    def __call__(self, module: ModuleOp) -> bool:
        _save(module, self._file)
        start = time.monotonic()
        # A session of its own, as a shell that is killed leaves what it started running.
        ran = subprocess.Popen(
            self._line,
            shell=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            succeeded = ran.wait(self._timeout) == 0
        except subprocess.TimeoutExpired:
            succeeded = False
        finally:
            if ran.poll() is None:
                os.killpg(ran.pid, signal.SIGKILL)
                ran.wait()
        if self._timeout is None:
            self._timeout = _MARGIN + _TIMES * (time.monotonic() - start)
        return succeeded


def _save(module: ModuleOp, path: Path) -> None:
    from et_ir.text import module_text, save_text, store_path, stored_constants

    store_path(path).unlink(missing_ok=True)
    save_text(path, module_text(module), stored_constants(module))


def run(arguments: list[str]) -> int:
    """The command; returns its exit code."""
    args = _arguments(arguments)
    if args.output != "-":
        check_text_output(args.output, args.file, args.weights)
    from et_ir.verification import verify_module
    from et_tools.failures import report_failures
    from et_tools.plugins import load_extensions
    from et_tools.reading import read_text_module, require_weights
    from et_tools.reduction import Reducer, count_ops

    with report_failures("et-reduce", args.file) as outcome:
        module = read_text_module(args.file, args.weights, load_extensions(args.load, "et-reduce"))
        verify_module(module)
        require_weights(module, args.file)

        def report(found: ModuleOp, tests: int) -> None:
            if not args.quiet:
                ops, runs = in_words(count_ops(found), "op"), in_words(tests, "run")
                print(f"et-reduce: {ops} after {runs} of the command", file=sys.stderr)
            if args.output != "-":
                _save(found, Path(args.output))

        with tempfile.TemporaryDirectory(prefix="et-reduce-") as folder:
            reducer = Reducer(module, _Command(args.keep, Path(folder), args.timeout), report)
            try:
                found = reducer.run()
            except ValueError as error:
                raise UsageError(f"--keep: {error}", ExitCode.CHECK_FAILED) from None
        if args.output == "-":
            from et_ir.text import module_text

            write_stdout(module_text(found))
        else:
            _save(found, Path(args.output))
    return outcome.exit_code


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `et-reduce`."""
    return guarded(run, sys.argv[1:] if arguments is None else arguments, "et-reduce")


if __name__ == "__main__":
    sys.exit(main())
