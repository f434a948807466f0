"""Declarations of operators that no registry knows: those of a user's own library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

if TYPE_CHECKING:
    from et_ir.dialects.aten import AtenOp
    from et_ir.dialects.edge import EdgeOp
    from et_ir.dialects.schema.operator import OperatorOp

__all__ = ["DeclareOperatorOp", "declare_operators"]


@irdl_op_definition
class DeclareOperatorOp(IRDLOperation):
    """An operator that is in no registry, with its schema and that of its out variant, which runtimes call.

    The module's ops of that operator are called as those of any other namespace, `aten.mylib.scale` and
    `edge.mylib.scale`; their declaration stands before them. `random` says that equal calls may differ.

    ```mlir
    program.operator "mylib::scale(Tensor x, float by) -> Tensor" out "mylib::scale.out(Tensor x, float by, *, Tensor(a!) out) -> Tensor(a!)"
    ```

    Rules: `operator_c1` the schema can be read, names a namespace, and computes new tensors; `operator_c2` the out
    variant is of the same namespace, takes the same arguments and writes what the operator returns; `operator_c3` the
    registries have no operator of that name.

    Syntax: `[random] "SCHEMA" [out "SCHEMA"]`.
    """  # noqa: E501

    name = "program.operator"
    schema = prop_def(StringAttr)
    """The functional schema in torch's syntax, with its namespace."""
    out = opt_prop_def(StringAttr)
    """The schema of the out variant. Without it no runtime can call the operator."""
    random = opt_prop_def(UnitAttr)
    """Equal calls may give different results, so that passes merge none and fold none."""

    def __init__(self, schema: str, out: str = "", *, random: bool = False):
        properties: dict[str, Attribute] = {"schema": StringAttr(schema)}
        if out:
            properties["out"] = StringAttr(out)
        if random:
            properties["random"] = UnitAttr()
        super().__init__(properties=properties)

    @property
    def out_schema(self) -> str:
        """The schema of the out variant, empty if there is none."""
        return self.out.data if self.out is not None else ""

    def aten_class(self) -> type[AtenOp]:
        """The class of the operator's ops in `aten`. Raises `ValueError` if the schema cannot be read."""
        from et_ir.dialects.aten import AtenOp
        from et_ir.dialects.schema.custom import custom_class

        return custom_class(AtenOp, "aten", self.schema.data, self.out_schema, random=self.random is not None)

    def edge_class(self) -> type[EdgeOp]:
        """The class of the operator's ops in `edge`. Raises `ValueError` if the schema cannot be read."""
        from et_ir.dialects.edge import EdgeOp
        from et_ir.dialects.schema.custom import custom_class

        return custom_class(EdgeOp, "edge", self.schema.data, self.out_schema, random=self.random is not None)

    def classes(self) -> Sequence[type[OperatorOp]]:
        """The operator's op classes; none for a schema that cannot be read, which the verifier reports."""
        try:
            return (self.aten_class(), self.edge_class())
        except ValueError:
            return ()

    def verify_(self) -> None:
        from et_ir.dialects.aten import OP_BY_NAME as ATEN
        from et_ir.dialects.edge import OP_BY_NAME as EDGE
        from et_ops import parse_schema
        from et_ops.schema import namespace_of
        from et_ops.variants import functional_problem, out_variant_problem

        try:
            schema = parse_schema(self.schema.data)
            out = parse_schema(self.out_schema) if self.out_schema else None
        except (ValueError, SyntaxError) as error:
            raise VerifyException(f"[operator_c1] {error}") from None
        namespace = namespace_of(self.schema.data)
        if not namespace:
            raise VerifyException(f"[operator_c1] '{schema.text}' has no namespace")
        problem = functional_problem(schema)
        if problem is not None:
            raise VerifyException(f"[operator_c1] '{schema.text}' is not functional: {problem}")
        name = f"{namespace}.{schema.qualified_name}"
        if namespace == "aten" or name in ATEN or name in EDGE:
            raise VerifyException(
                f"[operator_c3] the operator {namespace}::{schema.qualified_name} exists already"
            )
        if out is None:
            return
        if namespace_of(out.text) != namespace:
            raise VerifyException(f"[operator_c2] '{out.text}' is not in the namespace '{namespace}'")
        problem = out_variant_problem(schema, out)
        if problem is not None:
            raise VerifyException(f"[operator_c2] '{out.text}' is not its out variant: {problem}")

    def print(self, printer: Printer) -> None:
        if self.random is not None:
            printer.print_string(" random")
        printer.print_string(" ")
        printer.print_attribute(self.schema)
        if self.out is not None:
            printer.print_string(" out ")
            printer.print_attribute(self.out)
        if self.attributes:
            printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> DeclareOperatorOp:
        random = parser.parse_optional_keyword("random") is not None
        schema = parser.parse_str_literal("the operator's schema")
        out = ""
        if parser.parse_optional_keyword("out") is not None:
            out = parser.parse_str_literal("the schema of the out variant")
        attributes = parser.parse_optional_attr_dict_with_keyword()
        op = cls(schema, out, random=random)
        op.attributes.update({} if attributes is None else attributes.data)
        known: Any = getattr(parser, "declare", None)
        if known is None:
            # A parser of xDSL's own tools: it asks the context, which keeps what it has been told.
            loaded = {other.name for other in parser.ctx.loaded_ops}
            for made in op.classes():
                if made.name not in loaded:
                    parser.ctx.load_op(made)
        return op


def declare_operators(module: ModuleOp) -> None:
    """Declare, at the start of a module, the operators that its ops use and no registry knows.

    Whoever adds such an op to a module calls this: without its declaration the module's text cannot be read.
    """
    from et_ir.dialects.schema.custom import is_custom
    from et_ir.dialects.schema.operator import OperatorOp

    block = module.body.block
    declared = {made for op in block.ops if isinstance(op, DeclareOperatorOp) for made in op.classes()}
    missing: dict[type[OperatorOp], None] = {}
    for op in module.walk():
        if isinstance(op, OperatorOp) and is_custom(type(op)) and type(op) not in declared:
            missing[type(op)] = None
    for made in missing:
        if made in declared:
            continue
        operator = made.operator
        out = f"{operator.namespace}::{operator.out_text}" if operator.out_text else ""
        op = DeclareOperatorOp(
            f"{operator.namespace}::{operator.schema_text}", out, random=operator.is_random
        )
        declared.update(op.classes())
        if block.first_op is None:
            block.add_op(op)
        else:
            block.insert_op_before(op, block.first_op)
