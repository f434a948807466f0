"""Driver of `et-opt`: xDSL's, with the conventions of `mlir-opt`."""

from __future__ import annotations

import argparse
import io
import re
import sys
import time
from collections.abc import Callable
from dataclasses import fields
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, get_args, get_origin, get_type_hints

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.xdsl_opt_main import xDSLOptMain

from et_ir.diagnostics import Diagnostic, diagnostics_of
from et_ir.driver.pipelines import named_pipeline, named_pipelines
from et_ir.targets.registry import DEFAULT, find_target
from et_ir.text import parse_module, print_module, save_text, stored_constants
from et_ir.verification import verify_module
from et_tools.exit_codes import ExitCode, UsageError
from et_tools.expected import check_expected
from et_tools.failures import INPUT_ERRORS, exit_code_of, print_diagnostics, report_failures
from et_tools.output import check_output, write_stdout
from et_tools.plugins import load_passes
from et_tools.reading import attach_weights, read_text

EXPECTED = {int: "a whole number", float: "a number", bool: "true or false", str: "one text"}

__all__ = ["EtOptMain", "pipeline_text", "split_input"]

MARKER = re.compile(r"^[ \t]*// -----[ \t]*$\n?", re.M)
ANCHOR = re.compile(r"\s*(?P<op>[\w.]+)\s*\((?P<passes>.*)\)\s*", re.S)


def _given(cls: type[ModulePass]) -> type[ModulePass]:
    return cls


class EtOptMain(xDSLOptMain):
    """xDSL's driver with the manners of `mlir-opt`: diagnostics with places, exit codes, pass dumps and timing."""

    def __init__(self, args: argparse.Namespace):
        # xDSL's own constructor parses the command line with argparse's exits and builds the pipeline with raw
        # exceptions; the steps are the same here.
        self.available_frontends: dict[str, Callable[[IO[bytes]], ModuleOp]] = {}
        self.available_passes = {}
        self.available_targets = {}
        self.ctx = Context()
        self.register_all_dialects()
        self.register_all_passes()
        self.args = args
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

        from et_ir.universe import dialect_factories

        for name, factory in {**Universe.get_multiverse().all_dialects, **dialect_factories()}.items():
            self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        from et_ir.passes import pass_factories

        super().register_all_passes()
        self.own_passes = pass_factories()
        self.available_passes.update(self.own_passes)

    # -- pipeline

    def setup_pipeline(self) -> None:
        """Build the pipeline. Raises `UsageError` naming the pass or option that is wrong, and what there is."""
        try:
            specs = list(parse_pipeline(pipeline_text(self.args.pass_pipeline)))
        except ArgSpecParseError as error:
            raise UsageError(str(error).strip()) from None
        passes: list[ModulePass] = []
        for spec in specs:
            if spec.name in named_pipelines():
                passes.extend(_standard_passes(spec))
                continue
            if spec.name not in self.available_passes:
                near = get_close_matches(spec.name, [*self.available_passes, *named_pipelines()], n=3)
                hint = f", did you mean {' or '.join(near)}?" if near else " (see et-opt --list-passes)"
                raise UsageError(f"unknown pass '{spec.name}'{hint}")
            cls = self.available_passes[spec.name]()
            try:
                passes.append(cls.from_pass_spec(spec))
            except Exception as error:
                raise UsageError(f"pass '{spec.name}': {_wrong_option(cls, spec) or error}") from None
        self.pipeline = PassPipeline(tuple(passes), self._after_pass)

    def _after_pass(self, previous: ModulePass | None, module: ModuleOp, _: ModulePass | None) -> None:
        now = time.perf_counter()
        if previous is not None:
            self.timing.append((previous.name, now - self._started))
        if previous is not None and self.args.print_ir_after_all:
            print(f"// -----// IR Dump After {previous.name} //----- //", file=sys.stderr)
            print_module(module, sys.stderr, debuginfo=self.args.print_debuginfo)
        if not self.args.no_verify:
            now = time.perf_counter()
            verify_module(module)
            if previous is not None:
                self.timing.append(("  verify", time.perf_counter() - now))
        self._started = time.perf_counter()

    # -- running

    def main(self) -> int:
        """Do what the command line says; returns the exit code. Raises `UsageError` and `OSError`."""
        if self.args.list_passes:
            self.list_passes()
            return ExitCode.OK
        if self.args.output is not None:
            check_output(self.args.output)
        with report_failures("et-opt") as outcome:
            self.run()
        return outcome.exit_code or self.exit_code

    def run(self) -> None:
        """Process the input; the outcome is in `exit_code`, messages have been printed."""
        self.setup_pipeline()
        name, text = read_text(self.args.input_file or "-")
        self.sources[name] = text
        chunks = split_input(text) if self.args.split_input_file else [(1, text)]
        outputs: list[tuple[ModuleOp, str]] = []
        mismatches = 0
        for line, chunk in chunks:
            found, output = self._process(chunk, name, line)
            if self.args.verify_diagnostics:
                found = check_expected(chunk, found, name, line)
                mismatches += len(found)
            self.errors.extend(found)
            if output is not None:
                outputs.append(output)
        print_diagnostics("et-opt", self.errors, self.sources)
        if self.args.verify_diagnostics:
            self.exit_code = ExitCode.CHECK_FAILED if mismatches else ExitCode.OK
            return
        if outputs and (not self.errors or self.args.output is None):
            self._write(outputs)
        if self.args.mlir_timing:
            self._print_timing()

    def _process(
        self, chunk: str, name: str, line: int
    ) -> tuple[list[Diagnostic], tuple[ModuleOp, str] | None]:
        """Parse, verify and transform one module; returns what is wrong with it, or it and its text."""
        try:
            module = parse_module(self.ctx, chunk, name, line)
            attach_weights(module, name, self.args.weights)
            self._started = time.perf_counter()
            self.pipeline.apply(self.ctx, module)
            text = io.StringIO()
            print_module(
                module, text, debuginfo=self.args.print_debuginfo, generic=self.args.print_op_generic
            )
            return [], (module, text.getvalue())
        except INPUT_ERRORS as error:
            self.exit_code = self.exit_code or exit_code_of(error)
            return diagnostics_of(error, name, line - 1), None

    def _write(self, outputs: list[tuple[ModuleOp, str]]) -> None:
        text = "// -----\n".join(text for _, text in outputs)
        if self.args.output in (None, "-"):
            write_stdout(text)
            return
        constants = [constant for module, _ in outputs for constant in stored_constants(module)]
        known = [constant for constant in constants if constant[0].is_resolved]
        save_text(Path(self.args.output), text, known)
        if len(known) < len(constants):
            lost = next(blob.key for blob, _, _ in constants if not blob.is_resolved)
            more = f" and {len(constants) - len(known) - 1} more" if len(constants) - len(known) > 1 else ""
            print(
                f"et-opt: warning: {self.args.output}: no bytes for the constant '{lost}'{more}: "
                "the input has no weight store (--weights)",
                file=sys.stderr,
            )

    def _print_timing(self) -> None:
        total = sum(seconds for _, seconds in self.timing)
        print(f"{'pass':<40} {'ms':>10} {'share':>7}", file=sys.stderr)
        for name, seconds in self.timing:
            share = seconds / total if total else 0
            print(f"{name:<40} {seconds * 1e3:>10.2f} {share:>7.1%}", file=sys.stderr)
        print(f"{'total':<40} {total * 1e3:>10.2f}", file=sys.stderr)

    def list_passes(self) -> None:
        """Print every pass of this project with the first line of its docstring, on lines of 80 columns, and the
        standard pipelines.
        """
        for name in sorted(self.own_passes):
            cls: Any = self.own_passes[name]()
            print(f"{name:<28} {(cls.__doc__ or '').strip().partition(chr(10))[0]}")
        for name in named_pipelines():
            level, _, reached = name.partition("-")
            print(f"{name:<28} A pipeline: to {reached}, with et-compile's -{level}.")


def _standard_passes(spec: ArgSpec) -> list[ModulePass]:
    """The passes of a standard pipeline. Raises `UsageError`."""
    targets = spec.parameters.get("target", (DEFAULT,))
    if set(spec.parameters) - {"target"} or len(targets) != 1:
        raise UsageError(f"pipeline '{spec.name}': its only option is 'target', a name")
    try:
        find_target(str(targets[0]))
    except ValueError as error:
        raise UsageError(f"pipeline '{spec.name}': {error}") from None
    return named_pipeline(spec.name, str(targets[0]))


def _wrong_option(cls: type[ModulePass], spec: ArgSpec) -> str:
    """Fault in the options of a pass, or nothing where xDSL's own message says it best."""
    types = get_type_hints(cls)
    options = {field.name.replace("_", "-"): types[field.name] for field in fields(cls)}
    for name, value in spec.parameters.items():
        if name not in options:
            there = f"it has {', '.join(options)}" if options else "it has none"
            return f"no option '{name}'; {there}"
        try:
            cls.from_pass_spec(ArgSpec(spec.name, {name: value}))
        except Exception:
            choices = get_args(options[name]) if get_origin(options[name]) is Literal else ()
            expected = " or ".join(map(str, choices)) or EXPECTED.get(options[name], str(options[name]))
            return f"option '{name}' is {expected}, not {','.join(map(str, value))}"
    return ""


def pipeline_text(text: str) -> str:
    """A pipeline as `et-opt` and xDSL write it, `a,b`, from that or from mlir-opt's `builtin.module(a,b)`.

    Raises `UsageError` for a pipeline on other ops than the module.
    """
    anchored = ANCHOR.fullmatch(text)
    if anchored is None:
        return text.strip()
    if anchored["op"] != "builtin.module":
        raise UsageError(
            f"passes run on a module, not on {anchored['op']}: write 'builtin.module(a,b)' or 'a,b'"
        )
    return pipeline_text(anchored["passes"])


def split_input(text: str) -> list[tuple[int, str]]:
    """The parts of a text between lines `// -----`, each with the number of its first line."""
    parts: list[tuple[int, str]] = []
    start, line = 0, 1
    for marker in MARKER.finditer(text):
        parts.append((line, text[start : marker.start()]))
        line += text.count("\n", start, marker.end())
        start = marker.end()
    return [*parts, (line, text[start:])]
