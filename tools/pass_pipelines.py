"""Pass pipelines of a command line: their syntax, and what is printed while they run."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from difflib import unified_diff
from inspect import cleandoc
from pathlib import Path
from shutil import which
from textwrap import fill
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError

from et_ir.driver.observer import Observer
from et_ir.driver.pipelines import named_pipeline, named_pipelines
from et_ir.pass_options import pass_options
from et_ir.printing import ValueNames
from et_ir.targets.lookup import DEFAULT, find_target
from et_schema.diagnostics import did_you_mean, near_names
from et_schema.whole_numbers import shortened, whole_number
from et_tools.exit_codes import UsageError
from et_tools.pass_options import inline_elements

__all__ = ["IrPrinter", "find_pass", "parse_passes", "pass_help", "passes_until"]

EXPECTED: dict[Any, str] = {
    int: "a whole number",
    int | None: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "one text",
    str | None: "one text",
    tuple[str, ...]: "a list",
}
ANCHOR = re.compile(r"(?P<op>[\w.]+)\s*\((?P<passes>.*)\)", re.S)
ANCHORS = ("builtin.module", "func.func", "executorch.plan", "any")
"""Ops that mlir-opt's pipelines may be nested in. Passes run on a module, and so on all of its methods."""
SEPARATOR = re.compile(r'"(?:[^"\\]|\\.)*"|[(){},]')
"""What matters to the structure of a pipeline: texts, in which nothing does, brackets and commas."""


def parse_passes(text: str, available: Mapping[str, Callable[[], type[ModulePass]]]) -> list[ModulePass]:
    """The passes of a pipeline. Raises `UsageError` naming the pass or option that is wrong, and what there is."""
    try:
        specs = list(parse_pipeline(",".join(_unnested(text))))
    except ArgSpecParseError as error:
        told = str(error).strip()
        if "Unknown token" in told:
            told += '\n  fix: quote values other than names and numbers: a{target="stock-1.5"}'
        raise UsageError(told) from None
    except ValueError:  # what Python raises for an integer of thousands of digits
        raise UsageError(f"{shortened(text)}: an option has a number with too many digits") from None
    passes: list[ModulePass] = []
    for spec in specs:
        if spec.name in named_pipelines():
            passes.extend(_standard_passes(spec))
            continue
        cls = find_pass(spec.name, available)
        try:
            passes.append(cls.from_pass_spec(spec))
        except Exception as error:
            raise UsageError(f"pass '{spec.name}': {_wrong_option(cls, spec) or error}") from error
        _check_files(passes[-1])
    return passes


def find_pass(name: str, available: Mapping[str, Callable[[], type[ModulePass]]]) -> type[ModulePass]:
    """The pass of that name. Raises `UsageError` with similar names."""
    if name not in available:
        near = near_names(name, [*available, *named_pipelines()], count=3, cutoff=0.6)
        listed = " (see et-opt --list-passes), or --load the file that defines it"
        hint = f", did you mean {' or '.join(near)}?" if near else listed
        raise UsageError(f"unknown pass '{name}'{hint}")
    return available[name]()


def pass_help(cls: type[ModulePass]) -> str:
    """The reference of a pass: its summary, its options, and what the docstring of its module says beyond that."""
    summary, *more = cleandoc(cls.__doc__ or "").split("\n\n")
    lines = [f"{cls.name}: {' '.join(summary.split())}", *more]
    options = pass_options(cls)
    if options:
        lines.append("options:")
    for option in options:
        values = "|".join(option.choices) or EXPECTED.get(option.type, "")
        default = "required" if option.default is None else f"default: {option.default or 'none'}"
        lines.append(f"  {option.name} ({', '.join(filter(None, (values, default)))})")
        lines.append(fill(option.meaning, 100, initial_indent="      ", subsequent_indent="      "))
    module = sys.modules[cls.__module__].__doc__
    return "\n".join([*lines, *(("", cleandoc(module)) if module else ())]) + "\n"


def _check_files(one: ModulePass) -> None:
    """Raise `UsageError` for a missing file that an option names, and for a tool that is not installed."""
    for option in fields(one):
        value = getattr(one, option.name)
        if option.name.endswith("_file") and value is not None and not Path(value).is_file():
            problem = "is a folder" if Path(value).is_dir() else "no such file"
            raise UsageError(
                f"pass '{one.name}': option '{option.name.replace('_', '-')}': {value}: {problem}"
            )
    if one.name == "mlir-opt":
        tool = str(getattr(one, "executable", "mlir-opt"))
        if which(tool) is None:
            raise UsageError(
                f"pass 'mlir-opt': the tool {tool} is not installed: install MLIR's tools (mlir-tools of Debian and "
                "Ubuntu, llvm of Homebrew), or name the tool by its option 'executable' or by XDSL_MLIR_OPT"
            )


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
    options = {option.name: option for option in pass_options(cls)}
    for name, value in spec.parameters.items():
        if name not in options:
            there = f"it has {', '.join(options)}" if options else "it has none"
            return f"no option '{name}'{did_you_mean(name, options) or f'; {there}'}"
        try:
            cls.from_pass_spec(ArgSpec(spec.name, {name: value}))
        except Exception:
            type, choices = options[name].type, options[name].choices
            given = ",".join(map(str, value))
            hint = did_you_mean(given, choices)
            expected = " or ".join(choices) or EXPECTED.get(type, str(type))
            return f"option '{name}' is {expected}, not {given}{hint}"
    return ""


def _unnested(text: str) -> list[str]:
    """The passes of a pipeline as `et-opt` and xDSL write it, `a,b`, or as mlir-opt does:
    `builtin.module(a,func.func(b))`.

    Raises `UsageError` for a pipeline on ops that are no methods, and for parentheses that do not match.
    """
    found: list[str] = []
    for part in _separated(text):
        anchored = ANCHOR.fullmatch(part)
        if anchored is None:
            found.append(part)
        elif anchored["op"] not in ANCHORS:
            raise UsageError(
                f"passes run on a module and all of its methods, not on {anchored['op']}: write "
                f"'{anchored['passes'].strip()}', or nest it in {' or '.join(ANCHORS[:2])}"
            )
        else:
            found += _unnested(anchored["passes"])
    return found


def _separated(text: str) -> list[str]:
    """The parts of a pipeline between its outermost commas, without the blanks around them; none of a blank text."""
    parts: list[str] = []
    start = depth = 0
    for found in SEPARATOR.finditer(text):
        match found.group():
            case "(" | "{":
                depth += 1
            case ")" | "}":
                depth -= 1
            case "," if not depth:
                parts.append(text[start : found.start()].strip())
                start = found.end()
            case _:
                pass
    last = text[start:].strip()
    return [*parts, last] if parts or last else []


def passes_until(passes: Sequence[ModulePass], wanted: str) -> int:
    """The number of passes up to the one of `--stop-after NAME[,N]`, the Nth of that name. Raises `UsageError`."""
    name, _, number = wanted.partition(",")
    times = whole_number(number) if number else 1
    if not times:
        raise UsageError(f"--stop-after {shortened(wanted)}: expected NAME or NAME,N, where N counts from 1")
    found = [index for index, one in enumerate(passes, 1) if one.name == name]
    if len(found) < times:
        names = list(dict.fromkeys(one.name for one in passes))
        near = near_names(name, names)
        hint = f", did you mean {near[0]}?" if near else f"; it has {', '.join(names) or 'no passes'}"
        raise UsageError(
            f"--stop-after {wanted}: the pipeline does not have '{name}'{f' {times} times' if found else hint}"
        )
    return found[times - 1]


class IrPrinter(Observer):
    """Prints the module on stderr before and after passes, as the options of mlir-opt ask for it."""

    def __init__(self, args: argparse.Namespace, passes: Sequence[ModulePass]):
        """Raises `UsageError` for a pass that does not run."""
        self._args = args
        self._before: frozenset[str] = _names(args.print_ir_before, "--print-ir-before", passes)
        self._after: frozenset[str] = _names(args.print_ir_after, "--print-ir-after", passes)
        self._previous: ModuleOp | None = None
        self._names = ValueNames() if args.print_ir_diff else None
        self._text = ""
        is_alone = not (args.print_ir_after_all or args.print_ir_after)
        self._follows_changes = bool(args.print_ir_after_change or (args.print_ir_diff and is_alone))

    @staticmethod
    def is_wanted(args: argparse.Namespace) -> bool:
        """Whether anything is to be printed."""
        every = args.print_ir_before_all or args.print_ir_after_all
        by_change = args.print_ir_after_change or args.print_ir_diff
        some = args.print_ir_before or args.print_ir_after
        return bool(every or by_change or some or args.print_ir_after_failure)

    def before_pass(self, one: ModulePass, module: ModuleOp) -> None:
        if self._args.print_ir_before_all or one.name in self._before:
            self._print("Before", one, module)
        if self._follows_changes:
            self._previous = module.clone()
        if self._names is not None:
            self._text = self._printed(module)

    def after_pass(self, one: ModulePass, module: ModuleOp) -> None:
        asked = self._args.print_ir_after_all or one.name in self._after
        changed = self._previous is not None and not module.is_structurally_equivalent(self._previous)
        if asked or changed:
            self._print("After", one, module, is_diff=self._names is not None)

    def failed_pass(self, one: ModulePass, module: ModuleOp) -> None:
        if self._args.print_ir_after_failure:
            self._print("After", one, module, " Failed")

    def _print(
        self, when: str, one: ModulePass, module: ModuleOp, outcome: str = "", *, is_diff: bool = False
    ) -> None:
        print(f"// -----// IR Dump {when} {one.name}{outcome} //----- //", file=sys.stderr)
        text = self._printed(module)
        if not is_diff:
            print(text, end="", file=sys.stderr)
            return
        # The first two lines of a diff are names of files.
        lines = list(unified_diff(self._text.splitlines(), text.splitlines(), lineterm=""))[2:]
        print("\n".join(lines or ["// no changes"]), file=sys.stderr)

    def _printed(self, module: ModuleOp) -> str:
        from et_ir.text import module_text

        return module_text(
            module,
            debuginfo=self._args.print_debuginfo,
            inline_elements=inline_elements(self._args),
            names=self._names,
        )


def _names(given: Sequence[str], option: str, passes: Sequence[ModulePass]) -> frozenset[str]:
    names = [name.strip() for text in given for name in text.split(",")]
    there = list(dict.fromkeys(one.name for one in passes))
    for name in names:
        if name not in there:
            near = near_names(name, there)
            hint = f", did you mean {near[0]}?" if near else ""
            if name == "all":
                hint = f", did you mean {option}-all?"
            raise UsageError(f"{option} {name}: the pipeline has no such pass{hint}")
    return frozenset(names)
