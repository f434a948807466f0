"""Operators of libraries other than torch's: which are kept whole, and the out variants that runtimes call for them.

An operator that a library registers (`torch.library`) may be there for the kernel that a device has for it, or only
to give a name to what it does with torch's operators. The out variant tells: kernels are called by it. So

- an operator with an out variant is kept whole, and so is one that the user asks to preserve;
- one without is compiled as what it calls, if that is torch's operators;
- where it does something else it is kept whole as well, for a backend to take over. Without one, the step that calls
  kernels reports it.

An out variant is an overload of the operator (`foo.out`), an operator called like it (`foo_out`), or what
`torch._library._out_variant.register_out_variant` says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple, cast

import torch

from et_ir.dialects.aten import OP_BY_NAME, AtenOp
from et_ir.dialects.schema.custom import custom_class
from et_ir.frontend.torch_registry import Operator, as_operator, name_of, schema_of
from et_ir.frontend.unsupported import UnsupportedNode
from et_ops import Schema, parse_schema
from et_ops.torch_operators import user_overloads
from et_ops.variants import functional_problem, out_variant_definition, out_variant_problem

__all__ = [
    "CustomOperators",
    "DeclaredOutVariant",
    "find_operator",
    "find_out_variant",
    "is_known_namespace",
    "write_refusal",
]

_KNOWN = frozenset(
    {
        "aten",
        "prims",
        "grouped",
        "integer",
        "quantized_decomposed",
        "quantized",
        "dim_order_ops",
        "_c10d_functional",
    }
)
"""Namespaces of torch's own, whose operators the dialects have, decompose, or refuse."""


class DeclaredOutVariant(NamedTuple):
    """The out variant of an operator, empty if there is none, and what is there but is none, with the reason."""

    text: str
    unfit: tuple[str, ...] = ()


def is_known_namespace(op: Operator) -> bool:
    """Whether an operator is of a library of torch's own, or of another one and known all the same."""
    return op.namespace in _KNOWN or name_of(op) in OP_BY_NAME


def _schema(op: Operator) -> Schema:
    """The schema of an operator. Raises `UnsupportedNode` where it has types that programs do not have."""
    try:
        return parse_schema(str(schema_of(op)))
    except (ValueError, SyntaxError) as error:
        raise UnsupportedNode(
            f"its schema '{schema_of(op)}' is not supported: {error}",
            "take and return tensors, numbers, strings, and lists of them",
        ) from None


def _overloads(namespace: str, name: str) -> Iterator[Operator]:
    packet = getattr(getattr(torch.ops, namespace), name, None)
    for overload in cast("list[str]", packet.overloads() if packet is not None else []):
        found = as_operator(getattr(packet, overload))
        if found is not None:
            yield found


def _registered(op: Operator) -> Operator | None:
    """Registered out variant of an operator, whatever its name."""
    from torch._library import _out_variant

    return cast("Operator | None", cast(Any, _out_variant).lookup_manual_out_variant(op))


def find_out_variant(op: Operator) -> DeclaredOutVariant:
    """The out variant of an operator. Raises `UnsupportedNode` if the operator has a schema that cannot be read."""
    schema = _schema(op)
    given = _registered(op)
    name = schema.name
    candidates = (
        [given]
        if given is not None
        else [*_overloads(op.namespace, name), *_overloads(op.namespace, f"{name}_out")]
    )
    fitting: list[Schema] = []
    unfit: list[str] = []
    for candidate in candidates:
        if candidate is op or not schema_of(candidate).is_mutable:
            continue
        other = _schema(candidate)
        problem = out_variant_problem(schema, other)
        if candidate.namespace != op.namespace:
            problem = f"it is not in the namespace '{op.namespace}'"
        if problem is None:
            fitting.append(other)
        else:
            unfit.append(f"{candidate.namespace}::{other.qualified_name} is none: {problem}")
    if not fitting:
        return DeclaredOutVariant("", tuple(unfit))
    wanted = (f"{schema.overload}_out" if schema.overload else "out", f"{schema.overload}.out", "out")
    fitting.sort(key=lambda s: (s.name != name, wanted.index(s.overload) if s.overload in wanted else 9))
    return DeclaredOutVariant(fitting[0].text)


def find_operator(kernel: str) -> tuple[str, str] | None:
    """The schemas of the registered operator that a kernel is the out variant of, by the name that files give that, and
    of the out variant: both with the namespace. `None` if there is none.
    """
    namespace, _, rest = kernel.partition("::")
    name = rest.partition(".")[0]
    # The name is that of a file, which must reach nothing else of torch's registry.
    packets = dict.fromkeys((name, name.removesuffix("_out")))
    operators: list[Operator] = [op for packet in packets for op in user_overloads(torch, namespace, packet)]
    for op in operators:
        if schema_of(op).is_mutable:
            continue
        schema = _schema(op)
        out = find_out_variant(op).text
        if out.partition("(")[0] == kernel and functional_problem(schema) is None:
            return schema.text, out
    return None


def write_refusal(op: Operator, form: Operator | None = None) -> UnsupportedNode:
    """Why a call of an operator that writes into its arguments cannot be compiled, and what to write instead. `form` is
    the operator that returns the new value, if there is one, which is no help where the argument is a view.
    """
    if form is not None:
        call = f"torch.ops.{form.name().replace('::', '.')}"
        return UnsupportedNode(
            "it writes through a view that is not a slice",
            f"write the new value: view.copy_({call}(view, …))",
        )
    name = schema_of(op).name
    written = [a.name for a in schema_of(op).arguments if a.alias_info is not None and a.alias_info.is_write]
    functional = name.removesuffix("_")
    return UnsupportedNode(
        f"it writes to its argument '{', '.join(written)}', and has no functional form",
        f"define one that returns it, with an out variant, and copy: {written[0] if written else 'x'}.copy_("
        f"torch.ops.{functional.replace('::', '.')}{'_new' if functional == name else ''}(…))",
    )


def _is_registered(name: str) -> bool:
    """Whether torch's registry has an operator: `mylib::foo`, `mylib.foo.overload`."""
    namespace, _, rest = name.replace("::", ".").partition(".")
    packet, _, overload = rest.partition(".")
    found = getattr(getattr(torch.ops, namespace), packet, None) if packet else None
    return found is not None and (not overload or overload in cast("list[str]", found.overloads()))


class CustomOperators:
    """The operators of a program that are not torch's own.

    `preserve` are those to keep whole though they have no out variant, as `mylib::foo`.
    """

    def __init__(self, preserve: Collection[str] = ()):
        """Raises `ValueError` for a name that torch's registry does not have."""
        for name in preserve:
            if not _is_registered(name):
                raise ValueError(f"unknown operator {name}")
        self._preserve = frozenset(name.replace("::", ".") for name in preserve)
        self._known: dict[Operator, type[AtenOp] | None] = {}

    def kept(self, op: Operator) -> type[AtenOp] | None:
        """The op class of an operator that is kept whole before it is decomposed; `None` for one that is not.

        Raises `UnsupportedNode` if the operator cannot be an op, or its supposed out variant is none.
        """
        if is_known_namespace(op):
            return None
        if op not in self._known:
            self._known[op] = self._kept(op)
        return self._known[op]

    def _kept(self, op: Operator) -> type[AtenOp] | None:
        if schema_of(op).is_mutable:
            return None
        preserved = name_of(op) in self._preserve
        found = find_out_variant(op)
        if found.unfit and not found.text:
            raise UnsupportedNode(
                f"its out variant does not fit: {'; '.join(found.unfit)}",
                f"define it as {out_variant_definition(str(schema_of(op)))}",
            )
        return self.opaque(op, found.text) if found.text or preserved else None

    def opaque(self, op: Operator, out: str = "") -> type[AtenOp]:
        """The op class of an operator. Raises `UnsupportedNode` where it cannot be an op."""
        schema = _schema(op)
        problem = functional_problem(schema)
        if problem is not None:
            raise UnsupportedNode(f"{problem}, which no op can represent", "return only new tensors")
        if name_of(op) in OP_BY_NAME:
            raise UnsupportedNode("its name is that of an ATen operator", "register it in another namespace")
        random = torch.Tag.nondeterministic_seeded in op.tags
        return custom_class(AtenOp, "aten", schema.text, out, random=random)
