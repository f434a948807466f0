"""Facts of programs for a report, as objects that JSON has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

from et_schema.errors import ExecutorchError, InvalidFile
from et_tools.diff.compare import differences
from et_tools.info import container, delegates, listing, methods, plan, sizes, weights
from et_tools.info.delegate_weights import delegate_weights
from et_tools.progress import progress
from et_tools.report.dataflow import Edge, Operands, edges, operands
from et_tools.report.explanations import explanation_facts
from et_tools.report.hierarchy import nested_drawing
from et_tools.report.histograms import constant_values, histogram
from et_tools.report.profiles import profile_facts

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan
    from et_tools.report.level_facts import LevelFacts
    from et_vm.load.instructions import Instruction
    from et_vm.program import Program

__all__ = ["Subject", "program_facts", "report_facts"]

MOST_DIFFERENCES = 5_000
"""Differences of two programs that a page lists."""


class _AnyKernel:
    """Kernels are of a runtime, and a report is of a file."""

    def __contains__(self, name: object) -> bool:
        return True


@dataclass
class Subject:
    """A program, and what is known of it beside its file."""

    name: str
    program: Program
    debug_map: str | None = None
    """The file of a debug map."""
    profile: tuple[str, Any] | None = None
    """The output of `et-vm profile --json`, and where it was read."""
    explanation: tuple[str, Any] | None = None
    """The output of `et-compile --explain=json`, and where it was read."""
    levels: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Levels as `level_facts` has them."""


def report_facts(subjects: Sequence[Subject]) -> dict[str, Any]:
    """`programs`, and `differences` of the first to each other.

    Raises ExecutorchError for debug maps that cannot be read, InvalidFile for what is of another form or program.
    """
    found = [program_facts(one) for one in progress(subjects, "programs")]
    compared: list[dict[str, Any]] = []
    for at, one in enumerate(subjects[1:], 1):
        listed = differences(subjects[0].program, one.program)
        shown = [[one.where, one.before, one.after] for one in listed[:MOST_DIFFERENCES]]
        compared.append({"before": 0, "after": at, "count": len(listed), "differences": shown})
    return _plain({"format": 2, "programs": found, "differences": compared})


def program_facts(subject: Subject) -> dict[str, Any]:
    """All of one program. Raises what reading the map raises."""
    program = subject.program
    summary = methods.facts(program, _AnyKernel())
    values = listing.value_facts(program)
    instructions = listing.instruction_facts(program)
    for method, registers, listed in zip(summary, values, instructions, strict=True):
        index = program.plan_index(method["name"])
        method["count"] = method.pop("instructions")
        for operator in method["operators"]:
            del operator["kernel"]
        method["values"] = [_value(value) for value in registers["values"]]
        method["inputs"] = methods.named(method["inputs"], _input_names(method["name"], subject.levels))
        inputs = [slot.get("name", "") for slot in method["inputs"]]
        method.update(_graph(program, index, listed["instructions"], subject.debug_map, inputs))
        try:
            method["plan"] = [_arena(arena) for arena in plan.facts(program, method["name"])]
        except ExecutorchError as error:
            method["plan"], method["plan_error"] = [], error.message
    found = {
        "file": subject.name,
        "size": program.file.nbytes,
        **container.facts(program),
        "parts": sizes.parts(program),
        "methods": summary,
        "weights": _weights(program, subject.levels),
        "delegates": delegates.facts(program),
    }
    if subject.levels:
        # Weights have their names already.
        found["levels"] = [{key: level[key] for key in level if key != "weights"} for level in subject.levels]
    if subject.explanation is not None:
        file, said = subject.explanation
        found["explanation"] = explanation_facts(said, file)
    if subject.profile is not None:
        file, measured = subject.profile
        found["profile"] = profile_facts(measured, file, found)
    return found


def _input_names(method: str, levels: Sequence[LevelFacts]) -> Sequence[str]:
    """The names of inputs in the first of the levels."""
    return next((level["inputs"][method] for level in levels if method in level["inputs"]), [])


def _weights(program: Program, levels: Sequence[LevelFacts]) -> list[dict[str, Any]]:
    """Constants of the program, then those of its delegates, each by size."""
    found: list[dict[str, Any]] = []
    for table, weight in progress(weights.constants(program), "weights"):
        values = None if weight["external"] else constant_values(program, table, weight["nbytes"])
        shown = None if values is None else histogram(values)
        found.append(weight if shown is None else weight | {"histogram": shown})
    names = _weight_names(levels)
    for weight in progress(delegate_weights(program, names).weights, "weights of delegates"):
        values = weight.values()
        shown = None if values is None else histogram(values)
        found.append(weight.facts if shown is None else weight.facts | {"histogram": shown})
    return found


def _weight_names(levels: Sequence[LevelFacts]) -> dict[str, list[str]]:
    """Names of constants by the SHA-256 of their bytes: the program's, or those of the backend that has packed them."""
    own: dict[str, dict[str, None]] = {}
    packed: dict[str, dict[str, None]] = {}
    for level in levels:
        for digest, name, is_own in level["weights"]:
            (own if is_own else packed).setdefault(digest, {})[name] = None
    # A backend may call everything that it packs the same.
    uses = Counter(name for found in packed.values() for name in found)
    for digest, found in packed.items():
        telling = [name for name in found if uses[name] == 1]
        if telling:
            own.setdefault(digest, dict.fromkeys(telling))
    return {digest: list(found) for digest, found in own.items()}


def _value(value: dict[str, Any]) -> dict[str, Any]:
    """A register as text: what a tensor is, where it lies."""
    from et_tools.info.tensors import describe

    found: dict[str, Any] = {"text": describe(value["tensor"]) if "tensor" in value else value["type"]}
    if "tensor" in value:
        found["nbytes"] = value["tensor"]["nbytes"]
    found |= {key: value[key] for key in ("arena", "offset", "input", "output") if key in value}
    if "constant" in value or "external" in value:
        found["constant"] = value["tensor"].get("name", "")
    return found


def _arena(arena: dict[str, Any]) -> dict[str, Any]:
    """An arena without what the registers say already."""
    kept = ("register", "offset", "nbytes", "first", "last", "op", "source")
    tensors = [{key: tensor[key] for key in kept if key in tensor} for tensor in arena["tensors"]]
    return {**arena, "tensors": tensors, "certainty": plan.certainty(arena)}


def _graph(
    program: Program,
    index: int,
    listed: Sequence[dict[str, Any]],
    debug_map: str | None,
    inputs: Sequence[str],
) -> dict[str, Any]:
    """Instructions with their operands, modules and sources; and the drawing."""
    schema = program.pte.program.execution_plan[index]
    instructions = program.instructions(index)
    operated = operands(schema, instructions)
    origins = None if debug_map is None else _origins(debug_map, schema.name, instructions)
    nodes: list[dict[str, Any]] = []
    for instruction, text, registers in zip(instructions, listed, operated, strict=True):
        node: dict[str, Any] = {
            "op": instruction.name,
            "kind": instruction.opcode.mnemonic,
            "text": text["text"],
            "reads": registers.reads,
            "writes": registers.writes,
            "module": _module_of_weights(schema, registers),
        }
        if instruction.opcode.mnemonic == "delegate":
            node["delegate"] = instruction.callee
        if "target" in text:
            node["target"] = text["target"]
        frames = [[one["file"], one["line"], one["name"], one["text"]] for one in text.get("frames", ())]
        if origins is not None:
            node["module"], frames = origins.get(instruction.index, ("", frames))
        if frames:
            node["frames"] = frames
        nodes.append(node)
    drawn_edges = edges(schema, instructions, operated)
    labels = [_label(node["op"]) for node in nodes]
    labels += [f"input {name or at}" for at, name in enumerate(inputs)]
    labels += [f"output {at}" for at in range(len(schema.outputs))]
    return {
        "modules_from": "weights" if origins is None else "map",
        "classes": {} if debug_map is None else _classes(debug_map, schema.name),
        "instructions": nodes,
        "edges": drawn_edges,
        "graph": _drawing(labels, [node["module"] for node in nodes], drawn_edges, len(schema.inputs)),
    }


def _drawing(labels: list[str], modules: list[str], lines: Sequence[Edge], inputs: int) -> dict[str, Any]:
    """The drawing with inputs first and outputs last, which is the order that its layers need."""
    count = len(modules)
    order = [*range(count, count + inputs), *range(count), *range(count + inputs, len(labels))]
    rank = {node: at for at, node in enumerate(order)}
    paths = [modules[node] if node < count else "" for node in order]
    drawn = nested_drawing(
        [labels[node] for node in order],
        paths,
        [(rank[line.source], rank[line.target]) for line in lines],
        {rank[node] for node in range(count, len(labels))},
    )
    return drawn | {"nodes": [drawn["nodes"][rank[node]] for node in range(len(labels))], "labels": labels}


def _label(op: str) -> str:
    """The operator's name without its namespace and overload."""
    return op.rpartition("::")[2].partition(".")[0]


def _module_of_weights(schema: ExecutionPlan, registers: Operands) -> str:
    """The module of the constants that an instruction reads; empty if it reads none with a name."""
    from et_schema.program import Tensor
    from et_tools.info.tensors import tensor_name
    from et_vm.load.instructions import is_constant

    common: list[str] | None = None
    for register in registers.reads:
        table = schema.values[register].val
        name = tensor_name(table) if isinstance(table, Tensor) and is_constant(table) else ""
        if not name:
            continue
        path = name.split(".")[:-1]
        if common is None:
            common = path
        length = next(
            (at for at, pair in enumerate(zip(common, path, strict=False)) if pair[0] != pair[1]), None
        )
        common = common[: min(len(common), len(path)) if length is None else length]
    return ".".join(common or ())


def _origins(
    file: str, method: str, instructions: Sequence[Instruction]
) -> dict[int, tuple[str, list[list[Any]]]]:
    """Module and frames of each instruction. Raises InvalidFile if the map is of another program."""
    from et_vm.devtools.debug_map import places_of_method, rows_of_method

    places = places_of_method(file, method)
    rows = rows_of_method(file, method)
    found: dict[int, tuple[str, list[list[Any]]]] = {}
    for row in rows:
        at = row["instruction"]
        fits = isinstance(at, int) and 0 <= at < len(instructions)
        # Of a delegate's call, the map has the symbol and the file the backend.
        named = fits and instructions[at].opcode.mnemonic != "delegate"
        if not fits or (named and instructions[at].name != row.get("operator", instructions[at].name)):
            raise InvalidFile("the debug map is of another program", where=file)
        frames = row.get("source") or ()
        try:
            shown = [[one["file"], one["line"], one["function"], one["code"]] for one in frames]
        except (TypeError, KeyError) as error:
            raise InvalidFile("the debug map has rows of another form", where=file) from error
        found[at] = (places[at].module, shown)
    return found


def _classes(file: str, method: str) -> dict[str, str]:
    """The classes of modules by their paths, as far as a debug map knows them."""
    from et_vm.devtools.debug_map import rows_of_method

    found: dict[str, str] = {}
    for row in rows_of_method(file, method):
        inside = (row.get("delegate") or {}).get("identifiers", {}).values()
        for one in (row, *(part for parts in inside for part in parts)):
            path = str(one.get("module", "")).split(".")
            for end, name in enumerate(one.get("classes") or (), 1):
                if name:
                    found[".".join(path[:end])] = name
    return found


def _plain(value: Any) -> Any:
    """The same with numbers that JSON has: infinities and NaN become text."""
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
