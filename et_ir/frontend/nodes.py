"""Import of fx nodes into ops of the `aten` dialect.

One `NodeConverter` fills one list of ops. It is used for whole programs and for the graphs that
`decompose-traced` derives; where values of placeholders come from is the caller's business.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast

import torch
from torch._ops import HigherOrderOperator, OpOverload
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from et_ir.dialects.aten import OP_BY_NAME
from et_ir.dialects.schema.tensors import Size, is_tensor, same_type, sizes_of, with_sizes_of
from et_ir.frontend.calls import CallBuilder, op_class
from et_ir.frontend.control_flow import CONTROL_FLOW, convert_control_flow
from et_ir.frontend.corrections import traced_value
from et_ir.frontend.custom_operators import CustomOperators, is_known_namespace, write_refusal
from et_ir.frontend.expressions import Translation, translation_of_trace
from et_ir.frontend.mutation import IDENTITIES, Mutations, functional_form, writes_memory
from et_ir.frontend.ranges import Ranges, symbol_ranges
from et_ir.frontend.resizes import RESIZES, with_factors_in_use
from et_ir.frontend.run_time_sizes import SizedTensors
from et_ir.frontend.size_arithmetic import SizeArithmetic
from et_ir.frontend.strides import STRIDED, check_strided
from et_ir.frontend.torch_registry import Operator, as_operator, schema_of
from et_ir.frontend.types import QUANTISED_FIX, UnsupportedType, result_type
from et_ir.frontend.unsupported import Reasons, UnsupportedNode
from et_ops.sizes import Ranges as SymbolRanges

__all__ = ["Converted", "NodeConverter"]

Converted = Any
"""The import of a node: an SSA value, a tuple of them for operators with several results, or a Python
literal.
"""

Locate = Callable[[Node], LocationAttr]

Decompose = Callable[[Operator, Node], tuple[GraphModule, list[Node]] | None]
"""For a call of an operator that the dialect lacks: a graph of operators that it has, and the nodes of the
call that the graph's placeholders stand for. `None` if there is no such graph.
"""

# Checks of the trace's assumptions. Types state most of them, and the runtime checks shapes itself.
_DROPPED: Final = frozenset(
    {
        "aten::_assert_tensor_metadata",
        "aten::_assert_scalar",
        "aten::sym_constrain_range",
        "aten::sym_constrain_range_for_size",
    }
)
# Operators that no value stands for: why, and what to do.
_RESIZES: Final = (
    "it resizes a tensor in place",
    "create a tensor of the new size: slice or pad the flattened elements and view them",
)
_REFUSED: Final = {"aten::resize": _RESIZES, "aten::resize_": _RESIZES}
_SET_GRAD: Final = "wrap_with_set_grad_enabled"


class NodeConverter:
    """Converts nodes in order. `ops` grows; `values` maps each node to what it became.

    What cannot be converted is added to `reasons`; nodes that depend on it are passed over in silence.
    """

    def __init__(
        self,
        reasons: Reasons,
        locate: Locate,
        *,
        mutations: Mutations | None = None,
        decompose: Decompose | None = None,
        custom: CustomOperators | None = None,
    ):
        self.reasons = reasons
        self.locate: Locate = locate
        self.ops: list[Operation] = []
        self.values: dict[Node, Converted] = {}
        self.missing: Callable[[Node], Converted] | None = None
        """Gives the value of a node that was not converted because it is only made on first use (weights)."""
        self.stand_in: Callable[[Attribute], SSAValue] | None = None
        """Gives a value of a type for one that could not be made, so that what depends on it is looked at as well."""
        self.decompose = decompose
        self.custom = custom
        self.mutations = mutations if mutations is not None else Mutations()
        self.sized = SizedTensors()
        """Tensors that have the sizes which the program computes."""
        self.ranges: Ranges = {}
        """Facts of the program's symbols."""
        self.translate: Translation | None = None
        """Gives the expressions of sizes in result types for those of the nodes."""
        self._computed: dict[Node, LocationAttr] = {}
        self._location: LocationAttr | None = None
        self._builder = CallBuilder(self)

    # -- graphs

    def convert(self, module: GraphModule, placeholders: Mapping[Node, Converted]) -> Any:
        """Convert all nodes of a module's graph; returns what its output became, in the output's own
        structure.

        Placeholders not in the mapping are asked from `missing` when they are used. Returns `None` for an
        output that depends on what cannot be converted.
        """
        self.values.update(placeholders)
        for node, value in placeholders.items():
            self.note_sizes(node, value)
        for node in module.graph.nodes:
            match node.op:
                case "call_function":
                    self.convert_call(module, node)
                case "output":
                    return self._output(node.args[0])
                case "placeholder" | "get_attr":
                    pass
                case _:
                    self.reasons.add(
                        f"{node.op} {node.target}",
                        "is not a node of an exported program",
                        "pass the result of torch.export.export",
                        self.locate(node),
                    )
        raise ValueError("the graph has no output node")

    def convert_trace(self, module: GraphModule, values: Sequence[Converted], ranges: SymbolRanges) -> Any:
        """Convert a graph traced for the call of an operator on values, whose symbols have these ranges."""
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        operands: list[tuple[Sequence[Any], Sequence[Size]]] = []
        for node, value in zip(placeholders, values, strict=True):
            fake: Any = node.meta.get("val")
            if isinstance(fake, torch.Tensor) and isinstance(value, SSAValue):
                type = cast("SSAValue[Attribute]", value).type
                operands += [(fake.shape, sizes_of(type))] if is_tensor(type) else []
        self.translate = translation_of_trace(operands, ranges)
        return self.convert(module, dict(zip(placeholders, values, strict=True)))

    def _output(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return tuple(self._output(item) for item in cast("Sequence[Any]", value))
        if isinstance(value, dict):
            return {name: self._output(item) for name, item in cast("dict[str, Any]", value).items()}
        if not isinstance(value, Node):
            return value
        try:
            return self.value_of(value)
        except UnsupportedNode:
            return None

    def value_of(self, node: Node) -> Converted:
        """Value of a converted node. Raises `UnsupportedNode` if it could not be converted."""
        try:
            return self.values[node]
        except KeyError:
            if node in self._computed:
                return self._read_size(node)
            if self.missing is None:
                raise UnsupportedNode from None
        value = self.missing(node)
        if value is None and node not in self.values:
            raise UnsupportedNode
        return value

    def convert_call(self, module: GraphModule, node: Node) -> None:
        """Convert one `call_function` node of a module."""
        target: Any = node.target
        self._location = location = self.locate(node)
        try:
            op = as_operator(target)
            if op is not None:
                self._convert_operator(op, node)
            elif target is operator.getitem:
                self.values[node] = self.value_of(cast(Node, node.args[0]))[cast(int, node.args[1])]
            elif isinstance(target, HigherOrderOperator):
                self._convert_higher_order(target, module, node)
            elif not self._is_only_checked(node):
                name = getattr(target, "__name__", str(target))
                if not isinstance(node.meta.get("val"), torch.SymInt | torch.SymFloat | torch.SymBool):
                    raise UnsupportedNode(
                        f"the graph calls the Python function {name}, which is not an operator",
                        "rewrite its caller with torch operators",
                    )
                self._computed[node] = location
        except UnsupportedNode as problem:
            if str(problem):
                self.reasons.add(_subject(target), str(problem), problem.fix, location)
            self._stand_in(node)
        except UnsupportedType as problem:
            self.reasons.add(_subject(target), str(problem), problem.fix, location)
            self._stand_in(node)

    def _stand_in(self, node: Node) -> None:
        """Go on with values of the types that torch says a node has, if the IR has them."""
        value: Any = node.meta.get("val")
        if self.stand_in is None or value is None:
            return
        several = isinstance(value, list | tuple)
        try:
            types = [result_type(item) for item in cast("Sequence[Any]", value if several else (value,))]
        except UnsupportedType:
            return
        found = tuple(self.stand_in(type) for type in types)
        self.values[node] = found if several else found[0]

    # -- sizes known at run time only

    def note_sizes(self, node: Node, value: Converted) -> None:
        """Note which sizes the tensors have that a node became."""
        fake: Any = node.meta.get("val")
        if isinstance(value, SSAValue):
            self.sized.add(cast("SSAValue[Attribute]", value), fake)
        elif isinstance(value, tuple) and isinstance(fake, list | tuple):
            for item, like in zip(cast("tuple[Any, ...]", value), cast("Sequence[Any]", fake), strict=False):
                if isinstance(item, SSAValue):
                    self.sized.add(cast("SSAValue[Attribute]", item), like)

    @contextmanager
    def inside(self, graph: GraphModule) -> Generator[None]:
        """Collect the ops of a region in a list of its own. What they compute is known in the region only."""
        outer, sized, location = self.ops, self.sized, self._location
        self.ops, self.sized = [], sized.copy()
        try:
            yield
        finally:
            self.ops, self.sized, self._location = outer, sized, location
            for node in graph.graph.nodes:
                self.values.pop(node, None)

    def _read_size(self, node: Node) -> SSAValue:
        """A computed size: read off a tensor that has it, or computed. Raises `UnsupportedNode`."""
        found = self.sized.find(node.meta.get("val"))
        if found is None:
            arguments = pytree.tree_map_only(Node, self.value_of, list(node.args))
            computed = SizeArithmetic(self.place).call(getattr(node.target, "__name__", ""), arguments)
            if computed is not None:
                return computed
            self.reasons.add(
                _subject(node.target),
                f"arithmetic on dynamic sizes ({_subject(node.target)}) is not supported",
                "export with static shapes, or compute the size from constants",
                self._computed[node],
            )
            raise UnsupportedNode
        op = OP_BY_NAME["sym_size.int"].make(*found)
        self.place(op)
        return op.results[0]

    def is_left_to_view(self, item: Any, others: Sequence[Any]) -> bool:
        """Whether a size is computed, no tensor has it, and it is the only one of a view that is not given."""
        if not isinstance(item, Node) or item in self.values or item not in self._computed:
            return False
        if self.sized.find(item.meta.get("val")) is not None:
            return False
        return not any(other == -1 or self.is_left_to_view(other, ()) for other in others)

    def place(self, op: Operation) -> None:
        """Append an op that stands for no node, with the location of the node being converted."""
        if self._location is not None:
            op.location = self._location
        self.ops.append(op)

    def _is_only_checked(self, node: Node) -> bool:
        """Whether a number is used by nothing but checks that are dropped."""
        for user in node.users:
            op = as_operator(user.target)
            dropped = op is not None and schema_of(op).name in _DROPPED
            if not dropped and (op is not None or user.op == "output" or not self._is_only_checked(user)):
                return False
        return True

    # -- operators

    def _convert_operator(self, target: Operator, node: Node) -> None:
        name = schema_of(target).name
        if name in _DROPPED:
            return
        if name in IDENTITIES:
            self.values[node] = self.value_of(cast(Node, node.args[0]))
            return
        functional = self.mutations.functional.get(node)
        if functional is not None:
            target = functional
            name = schema_of(target).name
        elif writes_memory(node):
            if not is_known_namespace(target):
                raise write_refusal(target)
            raise UnsupportedNode(
                "it writes into an aliased tensor, which cannot be functionalized",
                "return a new tensor instead of writing in place",
            )
        cls = op_class(target)
        if cls is None and self.custom is not None:
            cls = self.custom.kept(target)
        if cls is None:
            self._rename(node, self._convert_decomposed(target, node))
            return
        if name in STRIDED:
            check_strided(target, node)
        value = traced_value(node)
        if functional is not None and value is None:
            value = cast(Node, node.args[0]).meta["val"]  # what it writes to, as it returns nothing
        if functional is not None and name == "aten::copy":
            source = self._builder.tensor(node.args[1])
            if same_type(source.type, result_type(value)):
                self._rename(node, source)
                return
        args, kwargs = with_factors_in_use(target, node) if name in RESIZES else (node.args, node.kwargs)
        self._rename(node, self._builder.create(cls, args, kwargs, value))

    def _convert_decomposed(self, target: Operator, node: Node) -> Converted:
        """Convert what an operator that the dialect lacks comes down to; all of it has the operator's
        location.
        """
        found = None if self.decompose is None else self.decompose(target, node)
        if found is not None:
            module, inputs = found
            values = [self.value_of(n) for n in inputs]
            outer = self.locate
            location = outer(node)

            def here(_: Node) -> LocationAttr:
                return location

            # Symbols of the graph have nothing to do with those of the program, though they may have their names.
            sized, self.sized = self.sized, SizedTensors()
            translate = self.translate
            self.locate = here
            try:
                found = self.convert_trace(module, values, symbol_ranges(self.ranges))
            finally:
                self.locate, self.sized, self.translate = outer, sized, translate
            return self._with_symbols(found, node, values)
        for operand in node.all_input_nodes:
            self.value_of(operand)  # what is wrong with an operand says why
        for item in pytree.tree_leaves(node.meta.get("val")):
            result_type(item)
        if self.custom is not None and not is_known_namespace(target):
            cls = self.custom.opaque(target)
            return self._builder.create(cls, node.args, node.kwargs, node.meta.get("val"))
        if "quantize" in schema_of(target).name:
            raise UnsupportedNode("quantized tensors of torch's eager mode are not supported", QUANTISED_FIX)
        refused = _REFUSED.get(schema_of(target).name)
        if refused is not None:
            raise UnsupportedNode(*refused)
        raise UnsupportedNode(
            "the operator is not in the aten dialect and does not decompose",
            "use operators listed in et_ops/schemas.txt",
        )

    def _with_symbols(self, made: Converted, node: Node, given: Sequence[Converted]) -> Converted:
        """The decomposition of a call, with torch's symbols of the call's results."""
        if self.translate is None:
            return made
        known: Any = node.meta.get("val")

        def one(value: Converted, fake: object) -> Converted:
            if not isinstance(value, OpResult) or any(value is each for each in given):
                return cast(Converted, value)
            result = cast("OpResult[Attribute]", value)
            if not isinstance(fake, torch.Tensor) or not is_tensor(result.type):
                return result
            type = with_sizes_of(result.type, result_type(fake, self.translate))
            if type == result.type:
                return result
            return Rewriter.replace_value_with_new_type(result, type)

        if isinstance(made, tuple) and isinstance(known, list | tuple):
            pairs = zip(cast("tuple[Converted, ...]", made), cast("Sequence[object]", known), strict=False)
            return tuple(one(*pair) for pair in pairs)
        return one(made, known)

    def _rename(self, node: Node, value: Converted) -> None:
        self.note_sizes(node, value)
        self.values[node] = value
        for other in self.mutations.renamed.get(node, ()):
            self.values[other] = value

    # -- higher-order operators

    def _convert_higher_order(self, target: HigherOrderOperator, module: GraphModule, node: Node) -> None:
        name: str = target.name()  # pyright: ignore[reportUnknownMemberType]  (not annotated)
        if name == _SET_GRAD:
            # Gradients are no matter of inference: the body is inlined.
            body = node.args[1]
            inner = getattr(module, str(cast(Node, body).target))
            arguments = [self.value_of(a) if isinstance(a, Node) else a for a in node.args[2:]]
            placeholders = [n for n in inner.graph.nodes if n.op == "placeholder"]
            self.values[node] = self.convert(inner, dict(zip(placeholders, arguments, strict=True)))
            return
        if name in CONTROL_FLOW:
            self.values[node] = convert_control_flow(self, name, module, node)
            return
        inner = as_operator(node.args[0]) if node.args else None
        if name.startswith("auto_functionalized") and inner is not None:
            problem = write_refusal(inner, functional_form(inner))
            self.reasons.add(_subject(inner), str(problem), problem.fix, self.locate(node))
            raise UnsupportedNode
        raise UnsupportedNode("the higher-order operator is not supported", "export without it")


def _subject(target: Any) -> str:
    if isinstance(target, OpOverload):
        return str(cast(Operator, target)).removesuffix(".default")
    if isinstance(target, HigherOrderOperator):
        return f"higher_order.{target.name()}"
    return str(getattr(target, "__name__", target))
