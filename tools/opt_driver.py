"""Driver of `et-opt`: xDSL's, with the conventions of `mlir-opt`."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import shorten
from typing import IO, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.xdsl_opt_main import xDSLOptMain

from et_ir.context import OperatorContext
from et_ir.diagnostics import Diagnostic, diagnostics_of
from et_ir.driver.observer import Observer
from et_ir.driver.pipelines import named_pipelines, pipeline_text
from et_ir.pass_application import apply_pass, verify_after
from et_ir.passes.common.erase_quantized_types import erase_quantized_types
from et_ir.rewrite_limit import RewriteLimit, limited
from et_ir.rewrite_statistics import counted_rewrites
from et_ir.text import module_text, parse_module, save_text, stored_constants
from et_ir.verification import verify_module
from et_schema.user_code import is_library
from et_tools.exit_codes import ExitCode, print_traceback
from et_tools.expected import check_expected
from et_tools.failures import INPUT_ERRORS, exit_code_of, print_hint, report_failures
from et_tools.messages import print_diagnostics, print_message
from et_tools.output import check_text_output, write_stdout
from et_tools.pass_options import inline_elements
from et_tools.pass_pipelines import IrPrinter, find_pass, parse_passes, pass_help, passes_until
from et_tools.pass_statistics import PassStatistics, statistics_report
from et_tools.plugins import load_extensions, register_dialects
from et_tools.reading import attach_weights, read_text
from et_tools.reproducer import check_round_trip, write_reproducer

__all__ = ["EtOptMain", "split_input"]

MARKER = re.compile(r"^[ \t]*// -----[ \t]*$\n?", re.M)


class EtOptMain(xDSLOptMain):
    """xDSL's driver with the manners of `mlir-opt`: diagnostics with places, exit codes, pass dumps and timing."""

    def __init__(self, args: argparse.Namespace):
        # xDSL's own constructor parses the command line with argparse's exits and builds the pipeline with raw
        # exceptions; the steps are the same here.
        self.available_frontends: dict[str, Callable[[IO[bytes]], ModuleOp]] = {}
        self.available_passes = {}
        self.available_targets = {}
        self.ctx = OperatorContext()
        self.register_all_dialects()
        self.register_all_passes()
        self.args = args
        extensions = load_extensions(self.args.load, "et-opt")
        extensions.register_dialects(self.ctx)
        self.available_passes = extensions.all_passes()
        self.own_passes.update((name, self.available_passes[name]) for name in extensions.passes)
        self.observer = Observer()
        self.limit = None if self.args.rewrite_limit is None else RewriteLimit(self.args.rewrite_limit)
        self.ctx.allow_unregistered = self.args.allow_unregistered_dialect
        self.errors: list[Diagnostic] = []
        self.failures: list[BaseException] = []
        self.sources: dict[str, str] = {}
        self.exit_code = ExitCode.OK
        self.timing: list[tuple[str, float]] = []
        self.statistics: list[PassStatistics] = []

    def register_all_dialects(self) -> None:
        register_dialects(self.ctx)

    def register_all_passes(self) -> None:
        from et_ir.passes import pass_factories

        self.own_passes = pass_factories()

    # -- pipeline

    def setup_pipeline(self) -> None:
        """Build the pipeline. Raises `UsageError` naming the pass or option that is wrong, and what there is."""
        passes = parse_passes(self.args.pass_pipeline, self.available_passes)
        if self.args.stop_after is not None:
            passes = passes[: passes_until(passes, self.args.stop_after)]
        self.pipeline = PassPipeline(tuple(passes))
        if IrPrinter.is_wanted(self.args):
            self.observer = IrPrinter(self.args, passes)

    def has_pass(self, name: str) -> bool:
        """Whether there is a pass or a standard pipeline of that name."""
        return name in self.available_passes or name in named_pipelines()

    def _run_passes(self, module: ModuleOp) -> None:
        if not self.args.no_verify:
            self._timed("  verify", lambda: verify_module(module))
        if self.args.verify_roundtrip:
            self._timed("  verify round trip", lambda: check_round_trip(self.ctx, module))
        for one in self.pipeline.passes:
            before = module.clone() if self.args.crash_reproducer is not None else None
            try:
                self._run_pass(one, module)
            except Exception:
                self.observer.failed_pass(one, module)
                if before is not None:
                    options = "".join(f"--load {shlex.quote(file)} " for file in self.args.load)
                    write_reproducer(Path(self.args.crash_reproducer), before, one, options)
                raise

    def _run_pass(self, one: ModulePass, module: ModuleOp) -> None:
        if not one.name.startswith("verify-"):
            erase_quantized_types(module)
        self.observer.before_pass(one, module)
        count = sum(1 for _ in module.walk()) if self.args.pass_statistics else 0
        with counted_rewrites() as rewrites:
            self._timed(one.name, lambda: apply_pass(one, self.ctx, module, verify=False))
        if self.args.pass_statistics:
            now = sum(1 for _ in module.walk())
            self.statistics.append(PassStatistics(one.name, count, now, rewrites))
        self.observer.after_pass(one, module)
        if not self.args.no_verify and (self.args.verify_each or not is_library(one)):
            self._timed("  verify", lambda: verify_after(one, module))

    def _timed(self, name: str, action: Callable[[], None]) -> None:
        start = time.perf_counter()
        action()
        self.timing.append((name, time.perf_counter() - start))

    # -- running

    def main(self) -> int:
        """Do what the command line says; returns the exit code. Raises `UsageError` and `OSError`."""
        if self.args.list_passes:
            self.list_passes()
            return ExitCode.OK
        if self.args.help_pass is not None:
            write_stdout(pass_help(find_pass(self.args.help_pass, self.available_passes)))
            return ExitCode.OK
        if self.args.output is not None:
            check_text_output(self.args.output, self.args.input_file or "-", self.args.weights)
        with report_failures("et-opt") as outcome:
            self.run()
        return outcome.exit_code or self.exit_code

    def run(self) -> None:
        """Process the input; the outcome is in `exit_code`, messages have been printed."""
        self.setup_pipeline()
        if self.args.print_pipeline:
            write_stdout(pipeline_text(self.pipeline.passes) + "\n")
            return
        name, text = read_text(self.args.input_file or "-")
        self.sources[name] = text
        chunks = split_input(text) if self.args.split_input_file else [(1, text)]
        outputs: list[tuple[ModuleOp, str]] = []
        mismatches = 0
        for line, chunk in chunks:
            with limited(self.limit):
                found, output = self._process(chunk, name, line)
            if self.args.verify_diagnostics:
                found = check_expected(chunk, found, name, line)
                mismatches += len(found)
            self.errors.extend(found)
            if output is not None:
                outputs.append(output)
        print_diagnostics("et-opt", self.errors, self.sources)
        if self.failures and not self.args.verify_diagnostics:
            print_hint("et-opt", self.failures[0])
        if self.args.verify_diagnostics:
            self.exit_code = ExitCode.CHECK_FAILED if mismatches else ExitCode.OK
            return
        if self.limit is not None:
            print(f"et-opt: rewrite limit {self.limit.limit}: {self.limit}", file=sys.stderr)
        if outputs and (not self.errors or self.args.output is None):
            self._write(outputs)
        if self.args.mlir_timing:
            self._print_timing()
        if self.args.pass_statistics:
            print("\n".join(statistics_report(self.statistics)), file=sys.stderr)

    def _process(
        self, chunk: str, name: str, line: int
    ) -> tuple[list[Diagnostic], tuple[ModuleOp, str] | None]:
        """Parse, verify and transform one module; returns what is wrong with it, or it and its text."""
        try:
            module = parse_module(self.ctx, chunk, name, line)
            attach_weights(module, name, self.args.weights)
            self._run_passes(module)
            text = module_text(
                module,
                debuginfo=self.args.print_debuginfo,
                generic=self.args.print_op_generic,
                inline_elements=inline_elements(self.args),
            )
            return [], (module, text)
        except INPUT_ERRORS as error:
            print_traceback(error)
            self.failures.append(error)
            self.exit_code = self.exit_code or exit_code_of(error)
            return diagnostics_of(error, name, line - 1), None

    def _write(self, outputs: list[tuple[ModuleOp, str]]) -> None:
        text = "// -----\n".join(text for _, text in outputs)
        if self.args.output in (None, "-"):
            write_stdout(text)
            return
        constants = [
            constant
            for module, _ in outputs
            for constant in stored_constants(module, inline_elements(self.args))
        ]
        known = [constant for constant in constants if constant[0].is_resolved]
        save_text(Path(self.args.output), text, known)
        if len(known) < len(constants):
            lost = next(blob.key for blob, _, _ in constants if not blob.is_resolved)
            more = f" and {len(constants) - len(known) - 1} more" if len(constants) - len(known) > 1 else ""
            print_message(
                "et-opt",
                f"{self.args.output}: no bytes for the constant '{lost}'{more}: "
                "the input has no weight store (--weights)",
                "warning",
            )

    def _print_timing(self) -> None:
        total = sum(seconds for _, seconds in self.timing)
        print(f"{'pass':<40} {'ms':>10} {'share':>7}", file=sys.stderr)
        for name, seconds in self.timing:
            share = seconds / total if total else 0
            print(f"{name:<40} {seconds * 1e3:>10.2f} {share:>7.1%}", file=sys.stderr)
        print(f"{'total':<40} {total * 1e3:>10.2f}", file=sys.stderr)

    def list_passes(self) -> None:
        """Print every pass of this project with the first line of its docstring, on lines of 80 columns, the
        standard pipelines, and the passes of xDSL and of installed packages.
        """
        for name in sorted(self.own_passes):
            cls: Any = self.own_passes[name]()
            print(f"{name:<28} {(cls.__doc__ or '').strip().partition(chr(10))[0]}")
        for name in named_pipelines():
            level, _, reached = name.partition("-")
            print(f"{name:<28} A pipeline: to {reached}, with et-compile's -{level}.")
        for name in sorted(self.available_passes.keys() - self.own_passes.keys()):
            cls = self.available_passes[name]()
            if cls.__module__.startswith(("et_ir.", "et_backends.")):
                continue  # published to xDSL by another name
            summary = (cls.__doc__ or "").strip().partition("\n\n")[0]
            of = f"A pass of {cls.__module__.partition('.')[0]}."
            # As dataclasses have no docstring, Python gives them one: their signature.
            summary = of if not summary or summary.startswith(cls.__name__) else summary
            width = max(28, len(name))
            print(f"{name:<{width}} {shorten(summary, 79 - width, placeholder=' …')}")


def split_input(text: str) -> list[tuple[int, str]]:
    """The parts of a text between lines `// -----`, each with the number of its first line."""
    parts: list[tuple[int, str]] = []
    start, line = 0, 1
    for marker in MARKER.finditer(text):
        parts.append((line, text[start : marker.start()]))
        line += text.count("\n", start, marker.end())
        start = marker.end()
    return [*parts, (line, text[start:])]
