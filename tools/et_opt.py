"""et-opt: run passes over a module in text form.

examples:
  et-opt model.mlir                                        parse, verify, print
  et-opt -p decompose,cse,dce model.mlir -o core.mlir      run passes
  et-opt -p 'plan-memory{algorithm=naive}' model.mlir      a pass with options
  et-opt --list-passes                                     what there is
  et-opt -p cse --print-ir-after-all --mlir-timing - <x    from standard input
"""

from __future__ import annotations

import argparse
import gc
import io
import sys
import time
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import IO, Any, NoReturn

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.utils.arg_spec import parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.xdsl_opt_main import xDSLOptMain

from et_ir.data.store import StoreError, WeightStore
from et_ir.diagnostics import Diagnostic, diagnostics_of, render
from et_ir.text import parse_module, print_module, resolve_weights, store_path, write_weights
from et_ir.verification import verify_module
from et_tools.exit_codes import ExitCode, UsageError, guarded
from et_tools.expected import check_expected
from et_tools.failures import INPUT_ERRORS, exit_code_of
from et_tools.plugins import load_passes

__all__ = ["EtOptMain", "main"]


def _given(cls: type[ModulePass]) -> type[ModulePass]:
    return cls


class _ArgumentParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see et-opt --help)")


class EtOptMain(xDSLOptMain):
    """xDSL's driver with the manners of `mlir-opt`: diagnostics with places, exit codes, pass dumps and timing."""

    def __init__(self, args: Sequence[str]):
        # xDSL's own constructor parses the command line with argparse's exits and builds the pipeline with raw
        # exceptions; the steps are the same here.
        from xdsl.context import Context

        self.available_frontends: dict[str, Callable[[IO[bytes]], ModuleOp]] = {}
        self.available_passes = {}
        self.available_targets = {}
        self.ctx = Context()
        self.register_all_dialects()
        self.register_all_passes()
        summary, _, examples = (__doc__ or "").partition("\n\n")
        parser = _ArgumentParser(
            prog="et-opt",
            usage="et-opt [-p PIPELINE] [options] [FILE]",
            description=f"{examples}\n{summary.partition(': ')[2]}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.register_all_arguments(parser)
        self.args = parser.parse_args(args)
        for file in self.args.load:
            for name, cls in load_passes(Path(file)).items():
                self.available_passes[name] = self.own_passes[name] = partial(_given, cls)
        self.ctx.allow_unregistered = self.args.allow_unregistered_dialect
        self.errors: list[Diagnostic] = []
        self.sources: dict[str, str] = {}
        self.exit_code = ExitCode.OK
        self.timing: list[tuple[str, float]] = []

    def register_all_dialects(self) -> None:
        from xdsl.universe import Universe

        from et_ir.universe import ET_UNIVERSE

        for name, factory in {**Universe.get_multiverse().all_dialects, **ET_UNIVERSE.all_dialects}.items():
            self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        from et_ir.passes import pass_factories

        super().register_all_passes()
        self.own_passes = pass_factories()
        self.available_passes.update(self.own_passes)

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        add = arg_parser.add_argument
        add("input_file", nargs="?", metavar="FILE", help="text to read; standard input for '-' or none")
        add(
            "-p", "--pass-pipeline", default="", metavar="PIPELINE", help="passes to run: 'a{option=value},b'"
        )
        add("--load", action="append", default=[], metavar="FILE.py", help="add the passes that a Python file defines")
        add(
            "-o",
            "--output",
            metavar="FILE",
            help="write here, constants to FILE's .safetensors; default stdout",
        )
        add("--weights", metavar="FILE", help="weight store of the input; default its .safetensors")
        add(
            "--split-input-file",
            action="store_true",
            help="treat the parts between '// -----' as files of their own",
        )
        add(
            "--verify-diagnostics",
            action="store_true",
            help="compare errors with 'expected-error' comments",
        )
        add("--no-verify", action="store_true", help="do not verify the input, nor after each pass")
        add("--print-ir-after-all", action="store_true", help="print the module after each pass, on stderr")
        add("-g", "--print-debuginfo", action="store_true", help="print locations")
        add("--print-op-generic", action="store_true", help="print operations in the generic form")
        add("--mlir-timing", action="store_true", help="print the time that each pass took, on stderr")
        add("--allow-unregistered-dialect", action="store_true", help="accept operations of unknown dialects")
        add("--list-passes", action="store_true", help="list this project's passes and exit")

    # -- pipeline ----------------------------------------------------------------------------------------------------

    def setup_pipeline(self) -> None:
        """Build the pipeline. Raises `UsageError` naming the pass or option that is wrong, and what there is."""
        try:
            specs = list(parse_pipeline(self.args.pass_pipeline))
        except ArgSpecParseError as error:
            raise UsageError(str(error)) from None
        passes: list[ModulePass] = []
        for spec in specs:
            if spec.name not in self.available_passes:
                near = get_close_matches(spec.name, self.available_passes, n=3)
                hint = f", did you mean {' or '.join(near)}?" if near else " (see et-opt --list-passes)"
                raise UsageError(f"no pass is called '{spec.name}'{hint}")
            cls = self.available_passes[spec.name]()
            try:
                passes.append(cls.from_pass_spec(spec))
            except Exception as error:
                raise UsageError(f"pass '{spec.name}': {error}") from None
        self.pipeline = PassPipeline(tuple(passes), self._after_pass)

    def _after_pass(self, previous: ModulePass | None, module: ModuleOp, _: ModulePass | None) -> None:
        now = time.perf_counter()
        if previous is not None:
            self.timing.append((previous.name, now - self._started))
        if previous is not None and self.args.print_ir_after_all:
            print(f"// -----// IR Dump After {previous.name} //----- //", file=sys.stderr)
            print_module(module, sys.stderr, debuginfo=self.args.print_debuginfo)
        if not self.args.no_verify:
            verify_module(module)
            if previous is not None:
                self.timing.append(("  verify", time.perf_counter() - now))
        self._started = time.perf_counter()

    # -- running -----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Process the input; the outcome is in `exit_code`, messages have been printed."""
        name, text = self._read()
        self.sources[name] = text
        self.setup_pipeline()
        outputs: list[str] = []
        expected_failures = 0
        line = 1
        for chunk in text.split("// -----") if self.args.split_input_file else [text]:
            found, output = self._process(chunk, name, line)
            if self.args.verify_diagnostics:
                mismatches = check_expected(chunk, found, name, line)
                self.errors.extend(mismatches)
                expected_failures += len(mismatches)
            else:
                self.errors.extend(found)
            if output is not None:
                outputs.append(output)
            line += chunk.count("\n")
        if self.errors:
            print(render(self.errors, self.sources), file=sys.stderr)
        if expected_failures:
            self.exit_code = ExitCode.CHECK_FAILED
        if self.args.verify_diagnostics:
            if not expected_failures:
                self.exit_code = ExitCode.OK
            return
        if not self.errors or self.args.split_input_file:
            self._write("// -----\n".join(outputs))
        if self.args.mlir_timing:
            self._print_timing()

    def _read(self) -> tuple[str, str]:
        if self.args.input_file in (None, "-"):
            return "<stdin>", sys.stdin.read()
        path = Path(self.args.input_file)
        try:
            return str(path), path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise UsageError(f"{path}: not a text file: byte {error.start:#x} is no UTF-8") from None

    def _process(self, chunk: str, name: str, line: int) -> tuple[list[Diagnostic], str | None]:
        try:
            module = parse_module(self.ctx, chunk, name, line)
            self._load_weights(module)
            self._started = time.perf_counter()
            self.pipeline.apply(self.ctx, module)
            self.module = module
            output = io.StringIO()
            print_module(
                module, output, debuginfo=self.args.print_debuginfo, generic=self.args.print_op_generic
            )
            return [], output.getvalue()
        except INPUT_ERRORS as error:
            self.exit_code = exit_code_of(error)
            return diagnostics_of(error, name, line - 1), None

    def _load_weights(self, module: ModuleOp) -> None:
        if self.args.weights is not None:
            path = Path(self.args.weights)
        elif self.args.input_file not in (None, "-"):
            path = store_path(Path(self.args.input_file))
            if not path.exists():
                return
        else:
            return
        missing = resolve_weights(module, WeightStore(path))
        if missing and self.args.weights is not None:
            raise StoreError(f'{path}: does not have the constant "{missing[0].key}"')

    def _write(self, text: str) -> None:
        if self.args.output in (None, "-"):
            sys.stdout.write(text)
            return
        from et_schema.atomic import atomic_writer

        path = Path(self.args.output)
        with atomic_writer(path) as stream:
            stream.write(text.encode())
        if not self.args.split_input_file:
            write_weights(self.module, store_path(path))

    def _print_timing(self) -> None:
        total = sum(seconds for _, seconds in self.timing)
        print(f"{'pass':<40} {'ms':>10} {'share':>7}", file=sys.stderr)
        for name, seconds in self.timing:
            print(
                f"{name:<40} {seconds * 1e3:>10.2f} {seconds / total if total else 0:>7.1%}", file=sys.stderr
            )
        print(f"{'total':<40} {total * 1e3:>10.2f}", file=sys.stderr)

    def list_passes(self) -> None:
        """Print every pass of this project with the first line of its docstring."""
        for name in sorted(self.own_passes):
            cls: Any = self.own_passes[name]()
            print(f"{name:<28} {(cls.__doc__ or '').strip().partition(chr(10))[0]}")


def run(arguments: list[str]) -> int:
    """The command; returns its exit code."""
    # A module is one large web of live objects: collecting it again and again finds nothing.
    gc.set_threshold(200_000, 50, 100)
    tool = EtOptMain(arguments)
    if tool.args.list_passes:
        tool.list_passes()
        return ExitCode.OK
    tool.run()
    return tool.exit_code


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `et-opt`."""
    return guarded(run, sys.argv[1:] if arguments is None else arguments, "et-opt")


if __name__ == "__main__":
    sys.exit(main())
