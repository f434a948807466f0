"""Pages of the reference of the Python API: signatures and docstrings of what users call."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cached_property
from importlib import import_module
from typing import Any, Final, NamedTuple, cast

from dev.docstrings import field_docstrings, in_a_line, paragraphs

__all__ = ["API", "ApiPage", "api_page"]

WIDTH = 100
"""Characters of a line of a signature."""


class ApiPage(NamedTuple):
    """A page: its file name, its title, its line in the index, and the names it shows, by module."""

    name: str
    title: str
    summary: str
    introduction: str
    """The module whose docstring, without its first line, opens the page."""
    modules: dict[str, tuple[str, ...]]


API = (
    ApiPage(
        "lowering",
        "Lowering",
        "from `torch.export` to a `.pte`: `to_edge`, `to_executorch`, their configurations",
        "et_ir.driver.managers",
        {
            "et_ir": (
                *("to_edge", "to_edge_transform_and_lower", "EdgeCompileConfig", "EdgeProgramManager"),
                *("ExecutorchBackendConfig", "ExecutorchProgramManager", "MemoryPlanningPass"),
                "raise_program",
                "with_loss",
                "joint_program",
                "training_step",
            ),
            "et_ir.driver.observer": ("Observer",),
        },
    ),
    ApiPage(
        "quantization",
        "Quantization",
        "`quantize`, modes, the quantizer of ExecuTorch's name, the search for a bound of quality",
        "et_ir.quantization",
        {
            "et_ir.quantization": (
                *(
                    "quantize",
                    "QuantizedModule",
                    "Layer",
                    "QuantizedOperator",
                    "Remedy",
                    "Unquantized",
                    "QuantizationMode",
                    "QuantizationError",
                ),
                *("quantize_to_accuracy", "AccuracySearch", "Trial"),
                *("XNNPACKQuantizer", "get_symmetric_quantization_config", "QuantizationConfig"),
            ),
            "et_ir.analysis.quantization": ("Quantization", "Granularity", "quantization_of"),
        },
    ),
    ApiPage(
        "passes",
        "Writing passes",
        "patterns and `rewrite`, building ops, symbols, diagnostics, text",
        "et_ir.rewriting",
        {
            "et_ir.rewriting": ("rewrite", "op_type_rewrite_pattern", "root_classes"),
            "et_ir.dialects.schema.op": ("SchemaOp",),
            "et_ir.dialects.program": ("Globals", "declare_operators"),
            "et_ir.diagnostics": ("diagnose", "PassReport"),
            "et_schema.diagnostics": ("Diagnostic",),
            "et_ir.pass_application": ("apply_pass",),
            "et_ir.verification": ("verify_module",),
            "et_ir.text": ("parse_module", "print_module"),
        },
    ),
    ApiPage(
        "backends",
        "Backends ahead of time",
        "partitioners, `preprocess`, named data, registration",
        "et_ir.backends",
        {
            "et_ir.backends": (
                *("Partitioner", "PartitionResult", "DelegationSpec", "CompileSpec"),
                *("CapabilityPartitioner", "OperatorSupport", "SupportTable", "AnyOf", "PatternPartitioner"),
                *("ClaimPattern", "tag", "tag_of", "BackendDetails", "PreprocessResult", "NamedDataStore"),
                *("DelegateMappingBuilder", "Backend", "register_backend", "DelegationReport"),
            ),
        },
    ),
    ApiPage(
        "targets",
        "Targets",
        "the facts of a runtime as an object, and its registration",
        "et_ir.targets.target",
        {
            "et_ir.targets.target": ("Target", "Tables"),
            "et_ir.targets.lookup": ("find_target", "register_target", "target_names"),
        },
    ),
    ApiPage(
        "planners",
        "Memory planners",
        "what a planner is given and returns, and how one is registered",
        "et_ir.planning.planners",
        {
            "et_ir.planning": ("Buffer", "Layout", "Plan", "layout_problems", "lower_bound"),
            "et_ir.planning.planners": ("find_planner", "run_planner"),
        },
    ),
    ApiPage(
        "runtime",
        "Runtime",
        "`Runtime`, `Program`, `Method`, requests, errors, bundled programs",
        "et_vm.runtime",
        {
            "et_vm.runtime": (
                *("Runtime", "Program", "Method", "Executor", "Request", "MethodMeta", "TensorInfo"),
                "Verification",
            ),
            "et_schema.errors": ("ExecutorchError",),
            "et_vm.devtools.bundled": (
                *("BundledProgram", "MethodTestCase", "MethodTestSuite", "bundle"),
                "serialize_from_bundled_program_to_flatbuffer",
            ),
        },
    ),
    ApiPage(
        "evaluation",
        "Evaluation and numeric gaps",
        "programs of any level above executorch on values, and how far two values are apart",
        "et_ir.evaluation.evaluator",
        {
            "et_ir.evaluation.evaluator": ("Evaluator", "EvaluationFailed"),
            "et_vm.devtools.gaps": ("Gap", "gap_between", "bound_for"),
        },
    ),
    ApiPage(
        "profiling",
        "Profiles",
        "times of instructions over executions, traces and flame graphs",
        "et_vm.devtools.profiling",
        {
            "et_vm.devtools.inspector": ("Inspector", "EventBlock", "Event", "PerfData", "TimeScale"),
            "et_vm.devtools.numeric_gaps": ("NumericGap",),
            "et_vm.devtools.comparators": (
                *("NumericalComparatorBase", "MSEComparator", "L1Comparator", "SNRComparator"),
            ),
            "et_ir.etrecord": ("ETRecord", "generate_etrecord", "parse_etrecord"),
            "et_schema.etrecord": ("RecordedProgram", "RecordedNode"),
            "et_vm.devtools.profiling": (
                *("ProfileRecorder", "Execution", "Profile", "ProfileRow", "Rates", "Times"),
                *("group_rows", "chrome_trace", "stacks", "flamegraph_lines"),
            ),
            "et_vm.devtools.debug_map": ("Place", "places_of_method", "read_debug_map", "rows_of_method"),
            "et_vm.devtools.flamegraph": ("flamegraph_svg",),
            "et_vm.devtools.machine_peak": ("MachinePeak", "machine_peak", "measured_peak"),
            "et_vm.devtools.memory_plan": ("MemoryPlan", "PlannedArena", "PlannedTensor"),
        },
    ),
    ApiPage(
        "debugger",
        "Debugger",
        "steps in both directions, breakpoints, watchpoints, changes of values",
        "et_vm.devtools.debugger",
        {
            "et_vm.devtools.debugger": (
                *("Debugger", "Stop", "StopReason", "Access"),
                *("Breakpoint", "AtInstruction", "AtOperator", "AtLine", "InModule"),
                *("NonFinite", "WatchRegister", "WatchBytes"),
            ),
        },
    ),
    ApiPage(
        "language-models",
        "Language models",
        "folders of Hugging Face as programs with a cache",
        "et_ir.language_models",
        {
            "et_ir.language_models": (
                *(
                    "ModelFolder",
                    "CachedDecoder",
                    "Sizes",
                    "check_decoder",
                    "export_decoder",
                    "DecoderPrograms",
                ),
                *("quantize_weights", "metadata", "LanguageModelError"),
            ),
        },
    ),
    ApiPage(
        "generation",
        "Generation",
        "text of language models: sessions, sampling, constraints, drafts",
        "et_vm.llm",
        {
            "et_vm.llm": (
                *("TextLLMRunner", "GenerationConfig", "Stats", "LanguageModel", "Session", "Sampler"),
                *("Constraint", "Draft", "Tokenizer", "TextStream"),
            ),
        },
    ),
    ApiPage(
        "runtime-extensions",
        "Kernels, backends, memory and tracing",
        "what a runtime is made of, each of which can be one's own",
        "et_vm",
        {
            "et_vm": ("kernel", "load_kernels", "KernelRegistry", "Backend"),
            "et_vm.backend": ("BackendInitContext", "BackendExecuteContext", "PartWork"),
            "et_vm ": ("BackendRegistry", "MemoryManager", "Platform", "EventTracer", "RecordingTracer"),
        },
    ),
)

NOT_CALLED = frozenset(
    {"DelegationReport", "ExecutorchProgramManager", "Method", "MethodMeta", "Program", "TensorInfo"}
)
"""Classes whose instances other functions make for users."""


def api_page(page: ApiPage) -> Iterator[str]:
    """The lines of a page. Raises ValueError for something public without a docstring."""
    yield f"# {page.title}"
    yield ""
    yield "{BANNER}"
    yield ""
    yield paragraphs(import_module(page.introduction)).partition("\n\n")[2]
    yield ""
    for module, names in page.modules.items():
        yield f"- `{module.strip()}`: {', '.join(f'[`{name}`](#{name.lower()})' for name in names)}"
    for module, names in page.modules.items():
        for name in names:
            yield ""
            yield f"## {name}"
            yield ""
            yield f"`from {module.strip()} import {name}`"
            yield ""
            yield from _item(name, getattr(import_module(module.strip()), name))


def _item(name: str, item: Any) -> Iterator[str]:
    if not inspect.isclass(item):
        yield from _code(_signature(name, item))
        yield paragraphs(item)
        return
    cls: type[Any] = item
    rows = _fields(cls)
    made = next((vars(base)["__init__"] for base in _own(item) if "__init__" in vars(base)), None)
    is_record = is_dataclass(cls) or issubclass(cls, tuple | Enum)
    called = made is not None and not is_record and name not in NOT_CALLED
    if called:
        yield from _code(_signature(name, item))
    yield paragraphs(item)
    if called and made.__doc__:
        yield ""
        yield inspect.cleandoc(made.__doc__)
    if rows:
        yield ""
        yield from rows
    members: dict[str, Any] = {}
    for base in reversed(_own(item)):
        if base is item or base.__name__.startswith("_"):  # what public bases have is on their pages
            members |= vars(base)
    for attribute, member in members.items():
        if not attribute.startswith("_"):
            yield from _member(name, attribute, member)


_PACKAGES: Final = ("et_backends", "et_ir", "et_schema", "et_vm")


def _own(cls: type) -> list[type]:
    """The class and its bases that are this project's."""
    return [base for base in cls.__mro__ if base.__module__.partition(".")[0] in _PACKAGES]


def _fields(cls: type[Any]) -> list[str]:
    """The table of the fields of a dataclass or a named tuple, of the members of an enumeration, or of the attributes
    of another class that have docstrings.
    """
    made = cast(Any, cls)
    declared = {name for base in _own(cls) for name in inspect.get_annotations(base)}
    is_tuple = issubclass(cls, tuple)
    if issubclass(cls, Enum):
        return [
            "| member | |",
            "|---|---|",
            *(f"| `{name}` | {_meaning(cls, name)} |" for name in made.__members__),
        ]
    found: list[tuple[str, Any, Any]] = []
    if is_dataclass(cls):
        found = [
            (one.name, one.type, one.default if one.default_factory is MISSING else one.default_factory())
            for one in fields(made)
            if one.name in declared and one.init
        ]
    elif is_tuple:
        defaults = made._field_defaults
        found = [(one, made.__annotations__[one], defaults.get(one, MISSING)) for one in made._fields]
    else:
        shown = inspect.get_annotations(cls).items()
        documented = field_docstrings(cls)
        found = [
            (one, kind, MISSING if inspect.ismemberdescriptor(default) else default)
            for one, kind in shown
            for default in [vars(cls).get(one, MISSING)]
            if one in documented and not one.startswith("_")
        ]
    rows = ["| field | type | default | |", "|---|---|---|---|"] if found else []
    for name, type, default in found:
        kind = in_a_line(str(getattr(type, "__forward_arg__", type)))
        value = "" if default is MISSING else f"`{_plain(default)!r}`"
        rows.append(f"| `{name}` | `{kind}` | {value} | {_meaning(cls, name)} |")
    return rows


def _meaning(cls: type, name: str) -> str:
    found = field_docstrings(cls).get(name)
    if found is None:
        raise ValueError(f"{cls.__module__}: {cls.__name__}.{name} has no docstring")
    return found


def _member(cls: str, name: str, member: Any) -> Iterator[str]:
    """A method or a property of a class, as an item of a list."""
    mark = ""
    match member:
        case staticmethod() | classmethod():
            mark = "@staticmethod " if isinstance(member, staticmethod) else "@classmethod "
            function: Any = cast(Any, member).__func__
        case property() | cached_property():
            function = member.fget if isinstance(member, property) else member.func
        case _ if inspect.isfunction(member):
            function = member
        case _:
            return
    if not function.__doc__:
        if not inspect.getdoc(function):
            raise ValueError(f"{function.__module__}: {cls}.{name} has no docstring")
        return  # that of the base class, which is on a page itself
    text = inspect.cleandoc(function.__doc__)
    signature = inspect.signature(function)
    if isinstance(member, property | cached_property):
        line = f"{name}: {signature.return_annotation}"
    else:
        inner = [
            one
            for one in signature.parameters.values()
            if one.name not in ("self", "cls") and one.annotation != "Never"
        ]
        line = f"{mark}{name}{_readable(signature.replace(parameters=inner))}"
    yield ""
    yield f"- `{line}`: {textwrap.indent(text, '  ').strip()}"


class _Plain:
    """Shown as its text."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _plain(value: object) -> object:
    return _Plain(f"{type(value).__name__}.{value.name}") if isinstance(value, Enum) else value


def _readable(signature: inspect.Signature) -> inspect.Signature:
    """A signature that prints annotations without quotes, and members of enumerations by name."""

    def annotation(given: Any) -> Any:
        return _Plain(given) if isinstance(given, str) else given

    inner = [
        one.replace(annotation=annotation(one.annotation), default=_plain(one.default))
        for one in signature.parameters.values()
    ]
    return signature.replace(parameters=inner, return_annotation=annotation(signature.return_annotation))


def _signature(name: str, item: Callable[..., Any]) -> str:
    """The definition of a function as source has it, over several lines where one is too long."""
    signature = _readable(inspect.signature(item))
    if inspect.isclass(item):
        signature = signature.replace(return_annotation=inspect.Signature.empty)
    line = f"{name}{signature}"
    if len(line) <= WIDTH:
        return line
    parts = [str(one) for one in signature.parameters.values()]
    kinds = [one.kind for one in signature.parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        parts.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    returned = signature.replace(parameters=())
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + str(returned)[1:]


def _code(text: str) -> Iterator[str]:
    yield "```text"
    yield text
    yield "```"
    yield ""
