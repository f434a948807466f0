"""Functional form of programs that write into tensors.

Torch's own functionalisation traces the program again, which costs as much as all other steps of a
compilation. Most programs need less: `relu_` on a value that nobody else can see is `relu`. `plan_mutations`
proves that for each writing node, on may-alias classes of values, and gives up where it cannot; only then
torch has to do it.

A write to `x` may be replaced by a new value if no other value that may share memory with `x` is used
afterwards, and if `x` is no memory that the caller can see. A buffer of the module is such memory, and the
one kind that may be written to: its last value is stored at the end.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Literal, cast

import torch
from torch.export import ExportedProgram, default_decompositions
from torch.fx import Graph, Node

from et_ir.frontend.functional_forms import use_functional_forms
from et_ir.frontend.library_formulas import composite_formula
from et_ir.frontend.torch_registry import COMPOSITE, Operator, as_operator, facts_of, schema_of
from et_ops.conventions import is_in_place

__all__ = [
    "IDENTITIES",
    "Mutations",
    "functional_form",
    "functionalise_by_tracing",
    "is_batching",
    "may_alias",
    "plan_mutations",
    "writes_memory",
]


_UNFOLD_BACKWARD: Final = torch.ops.aten.unfold_backward.default


class LostElements(RuntimeError):
    """Torch's functional form of a program computes something else than the program."""


IDENTITIES: Final = frozenset(
    {
        "aten::detach_",
        "aten::detach",
        "aten::alias",
        "aten::lift",
        "aten::lift_fresh",
        "aten::lift_fresh_copy",
    }
)
"""Operators that give their argument back: they concern autograd and tracing, or copy what nobody writes
to.
"""


Aliasing = Literal["fresh", "may"]


@dataclass(frozen=True, slots=True)
class _Facts:
    """Memory effects of an operator."""

    writes: bool
    aliasing: Aliasing
    functional: Operator | None
    """The operator that computes what this one writes to its first argument, the only one it writes to."""


@cache
def _facts(op: Operator) -> _Facts:
    schema = schema_of(op)
    aliased = [a for a in schema.arguments if a.alias_info is not None]
    returned = any(r.alias_info is not None for r in schema.returns)
    composite = op.has_kernel_for_dispatch_key(COMPOSITE)
    fresh = not returned and (not composite or facts_of(op).fresh)
    functional: Operator | None = None
    # Operators of other libraries, which torch allows no views as results, write and return nothing.
    if schema.is_mutable and len(aliased) == 1 and len(schema.returns) <= 1:
        functional = functional_form(op)
    return _Facts(schema.is_mutable, "fresh" if fresh else "may", functional)


def functional_form(op: Operator) -> Operator | None:
    """`relu` for `relu_`: the overload of the same arguments without the underscore."""
    schema = schema_of(op)
    namespace, _, name = schema.name.partition("::")
    first = schema.arguments[0].alias_info
    if not is_in_place(schema.name) or first is None or not first.is_write:
        return None
    packet = getattr(getattr(torch.ops, namespace), name[:-1], None)
    found = as_operator(getattr(packet, schema.overload_name or "default", None))
    if found is None or schema_of(found).is_mutable:
        return None

    def shape_of(overload: Operator) -> list[tuple[str, str]]:
        return [(a.name, str(a.real_type)) for a in schema_of(overload).arguments]

    return found if shape_of(found) == shape_of(op) and len(schema_of(found).returns) == 1 else None


def writes_memory(node: Node) -> bool:
    """Whether a node writes into one of its arguments."""
    target = as_operator(node.target)
    if target is None:
        # Traced under another precision: only torch knows which conversions that means.
        return "autocast" in str(node.target) and node.op == "call_function"
    if schema_of(target).is_mutable:
        return schema_of(target).name != "aten::detach_"
    names = facts_of(target).statistics
    if names is None:
        return False
    given = dict(zip((arg.name for arg in schema_of(target).arguments), node.args, strict=False))
    statistics, training = map(given.get, names)
    return statistics is not None and bool(training)


def may_alias(node: Node) -> bool:
    """Whether the result of a node may share memory with one of its arguments."""
    target = as_operator(node.target)
    return target is None or _facts(target).writes or _facts(target).aliasing == "may"


@dataclass
class Mutations:
    """The import plan of a graph that writes into tensors: per writing node, its functional operator and the names
    that the new value takes over; and the buffers (by placeholder) that end with another value.
    """

    functional: dict[Node, Operator] = field(default_factory=dict[Node, Operator])
    renamed: dict[Node, list[Node]] = field(default_factory=dict[Node, list[Node]])
    stored: list[Node] = field(default_factory=list[Node])


@dataclass(eq=False)
class _Class:
    """Values that may share memory. `external` ones are visible to the caller."""

    members: list[Node]
    external: bool = False


def plan_mutations(graph: Graph, writable: set[Node]) -> Mutations | None:
    """Prove that all writes of a graph can become new values.

    `writable` are the placeholders of the module's own state. Returns `None` where the proof fails.
    """
    order = {node: index for index, node in enumerate(graph.nodes)}
    last_use = {node: max((order[user] for user in node.users), default=-1) for node in graph.nodes}
    classes: dict[Node, _Class] = {}
    names: dict[Node, list[Node]] = {}
    """For each value, all nodes that are that very tensor: after `y = relu_(x)`, `x` and `y`."""
    plan = Mutations()

    def merge(node: Node, others: Iterator[Node]) -> None:
        mine = classes.setdefault(node, _Class([node]))
        for other in others:
            theirs = classes.get(other)
            if theirs is None or theirs is mine:
                continue
            mine.external |= theirs.external
            mine.members += theirs.members
            for member in theirs.members:
                classes[member] = mine

    for node, index in order.items():
        if node.op in ("placeholder", "get_attr"):
            classes[node] = _Class([node], external=True)
            names[node] = [node]
            continue
        if node.op == "output":
            continue
        target = as_operator(node.target)
        inputs = (n for n in node.all_input_nodes if n in classes)
        if node.target is operator.getitem:
            merge(node, (n for n in _sources(node) if n in classes))
            names[node] = [node]
            continue
        if target is None:
            if writes_memory(node):
                return None
            if any(n in classes for n in node.all_input_nodes) and _holds_tensors(node):
                merge(node, inputs)
                names[node] = [node]
            continue
        facts = _facts(target)
        written = node.args[0] if node.args else None
        if schema_of(target).name == "aten::detach_" and isinstance(written, Node):
            merge(node, inputs)
            group = names[written]
            group.append(node)
            names[node] = group
            continue
        if not facts.writes:
            if writes_memory(node):
                return None
            if facts.aliasing == "may":
                merge(node, inputs)
            else:
                classes[node] = _Class([node])
            names[node] = [node]
            continue
        if facts.functional is None or not isinstance(written, Node) or written not in classes:
            return None
        group, memory = names[written], classes[written]
        others = [member for member in memory.members if member not in group]
        if any(last_use[other] >= index for other in others):
            return None
        if memory.external:
            owners = [member for member in memory.members if member.op in ("placeholder", "get_attr")]
            if owners != [member for member in group if member.op == "placeholder" and member in writable]:
                return None
            plan.stored += [owner for owner in owners if owner not in plan.stored]
        if not _same_type(node, written, facts.functional):
            return None
        plan.functional[node] = facts.functional
        plan.renamed[node] = group
        group.append(node)
        names[node] = group
        classes[node] = memory
        memory.members.append(node)
    return plan


def _sources(item: Node) -> Iterator[Node]:
    """What an item of a tuple may share memory with: the same item only, where an operator made its results anew."""
    source, number = item.args
    assert isinstance(source, Node)
    target = as_operator(source.target)
    if target is None or _facts(target).writes or _facts(target).aliasing == "may":
        yield source
        return
    yield from (user for user in source.users if user.target is operator.getitem and user.args[1] == number)


def _holds_tensors(node: Node) -> bool:
    value: Any = node.meta.get("val")
    return value is None or isinstance(value, torch.Tensor | list | tuple)


_checked: Final[dict[object, bool]] = {}


def _same_type(node: Node, written: Node, functional: Operator) -> bool:
    """Whether the functional operator yields the shape and dtype of the tensor that is written to.

    It may not: `a_f32.add_(b_f64)` stays f32. Found by running the operator without data, on the sizes that the
    program was exported with: a write changes no shape, whatever the sizes are.
    """
    if schema_of(functional).name == "aten::copy":
        return True
    key: list[object] = [functional]

    def meta(argument: Any) -> Any:
        if isinstance(argument, Node):
            value: Any = argument.meta.get("val")
            if not isinstance(value, torch.Tensor):
                raise TypeError
            shape = _example_shape(value)
            key.append((shape, value.dtype))
            return (shape, value.dtype)
        if isinstance(argument, list | tuple):
            return [meta(item) for item in cast("list[Any]", argument)]
        key.append((type(cast(object, argument)), repr(argument)))
        return argument

    try:
        arguments = [meta(argument) for argument in node.args]
        keywords = {name: meta(argument) for name, argument in node.kwargs.items()}
    except TypeError:
        return False
    found = _checked.get(tuple(key))
    if found is None:

        def empty(argument: Any) -> Any:
            match argument:
                case (tuple(), torch.dtype()):
                    shape, dtype = cast("tuple[tuple[int, ...], torch.dtype]", argument)
                    return torch.empty(shape, dtype=dtype, device="meta")
                case list():
                    return [empty(item) for item in cast("list[Any]", argument)]
                case _:
                    return argument

        value = written.meta["val"]
        try:
            result = functional(*map(empty, arguments), **{k: empty(v) for k, v in keywords.items()})
        except (RuntimeError, NotImplementedError, TypeError):
            result = None
        found = (
            isinstance(result, torch.Tensor)
            and result.dtype == value.dtype
            and tuple(result.shape) == _example_shape(value)
        )
        _checked[tuple(key)] = found
    return found


def _example_shape(tensor: torch.Tensor) -> tuple[int, ...]:
    """Sizes, with those of the example where they differ between calls. Raises `TypeError` for one that data tells."""
    found: list[Any] = list(tensor.shape)
    sizes = [cast(Any, size).node.hint if isinstance(size, torch.SymInt) else size for size in found]
    if any(type(size) is not int for size in sizes):
        raise TypeError
    return tuple(sizes)


def is_batching(node: Node) -> bool:
    """Whether a node is a mark that `torch.vmap` has left, as in `associative_scan`: a trace resolves these."""
    return str(getattr(node.target, "__module__", "")).startswith("torch._functorch.predispatch")


def functionalise_by_tracing(program: ExportedProgram) -> ExportedProgram:
    """The program in torch's own functional form, which costs about as much as the export did.

    Torch keeps composite operators whole and takes their results for new tensors. Those that may return a view
    or write running statistics are decomposed, so that it sees that. Composite operators of other libraries it would
    decompose all; those that there are formulas for become these. Raises what torch raises, and `LostElements`.
    """
    own = {node.name for node in program.graph.nodes if node.target is _UNFOLD_BACKWARD}
    program = _prepared(program)
    known = cast("dict[object, Callable[..., Any]]", default_decompositions())
    table: dict[object, Callable[..., Any]] = {}
    for node in program.graph.nodes:
        op = as_operator(node.target)
        formula = None if op is None else composite_formula(op)
        if op is not None and formula is not None:
            table[op] = formula
            continue
        if op is None or op not in known or not op.has_kernel_for_dispatch_key(COMPOSITE):
            continue
        schema = schema_of(op)
        may_view = _facts(op).aliasing == "may" and all(a.alias_info is None for a in schema.returns)
        if may_view or (facts_of(op).statistics is not None and writes_memory(node)):
            table[op] = known[op]
    functional = cast(ExportedProgram, cast(Any, program).run_decompositions(table))
    for node in functional.graph.nodes:
        if node.target is _UNFOLD_BACKWARD and node.name not in own and not _covers_its_base(node):
            raise LostElements("a write to the windows of unfold sets the elements between them to 0")
    use_functional_forms(functional.graph_module, functional_form)
    return functional


def _covers_its_base(node: Node) -> bool:
    """Whether windows that are put back, by `unfold_backward`, are known to have all elements of their dimension.

    Torch takes the sum of windows for the tensor that they were views of, which has zeros wherever there is no window.
    """
    _, sizes, dim, size, step = cast("tuple[Node, list[object], int, int, int]", node.args)
    length = sizes[dim] if sizes else 1
    return isinstance(length, int) and step <= size and (length - size) % step == 0


def _prepared(program: ExportedProgram) -> ExportedProgram:
    """The program with `alias` in the place of each dropout that gives its input back, and with the source of each
    `copy_` cloned: torch refuses the result of its own trace where two buffers end as one value.
    """

    def is_identity(node: Node) -> bool:
        op = as_operator(node.target)
        if op is None or not facts_of(op).drops:
            return False
        probability, train = cast("tuple[float, bool]", node.args[1:])
        return not train or probability == 0

    def is_copy(node: Node) -> bool:
        return node.target is torch.ops.aten.copy_.default and isinstance(node.args[1], Node)

    if not any(is_identity(node) or is_copy(node) for node in program.graph.nodes):
        return program
    module = copy.deepcopy(program.graph_module)
    for node in module.graph.nodes:
        if is_identity(node):
            node.target = torch.ops.aten.alias.default
            node.args = node.args[:1]
        elif is_copy(node):
            source = cast(Node, node.args[1])
            with module.graph.inserting_before(node):
                clone = module.graph.call_function(torch.ops.aten.clone.default, (source,))
            clone.meta = {**source.meta, **{k: v for k, v in node.meta.items() if k != "val"}}
            node.args = (node.args[0], clone, *node.args[2:])
    module.recompile()
    return ExportedProgram(
        root=module,
        graph=module.graph,
        graph_signature=program.graph_signature,
        state_dict=program.state_dict,
        range_constraints=cast(Any, program).range_constraints,
        module_call_graph=program.module_call_graph,
        example_inputs=program.example_inputs,
        constants=program.constants,
        verifiers=program.verifiers,
    )
