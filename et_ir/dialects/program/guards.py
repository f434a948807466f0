"""Input size guards of a method."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.discardable import discardable
from et_schema.guards import MethodGuards, checked

__all__ = ["GUARDS", "Guards", "GuardsAttr"]


class Guards(NamedTuple):
    """The names of a method's inputs, and conditions on their sizes in the syntax of `et_schema.guards`."""

    inputs: tuple[str, ...]
    conditions: tuple[str, ...]

    def checked(self) -> MethodGuards:
        """The conditions, parsed. Raises `ValueError` for what is none."""
        return checked(self.inputs, self.conditions)


@irdl_attr_definition
class GuardsAttr(Data[Guards]):
    """Conditions on the sizes of a method's inputs, as `torch.export` recorded them; the runtime checks them.

    ```mlir
    #program.guards<(x, mask), "2 <= x.shape[0] <= 64", "mask.shape[1] == x.shape[0]">
    ```

    Rule: `guards_c1` inputs have names, all different, and conditions are about dimensions that they have.
    """

    name = "program.guards"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Guards:
        with parser.in_angle_brackets():
            inputs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_identifier)
            conditions: list[str] = []
            while parser.parse_optional_punctuation(",") is not None:
                conditions.append(parser.parse_str_literal())
        return Guards(tuple(inputs), tuple(conditions))

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"({', '.join(self.data.inputs)})")
            for condition in self.data.conditions:
                printer.print_string(", ")
                printer.print_string_literal(condition)

    def verify(self) -> None:
        try:
            self.data.checked()
        except ValueError as error:
            raise VerifyException(f"[guards_c1] {error}") from None

    def verify_inputs(self, types: list[Attribute]) -> None:
        """Check that the inputs of a method have what the conditions are about. Raises `VerifyException`."""
        names = self.data.inputs
        if len(names) != len(types):
            raise VerifyException(
                f"[guards_c1] guards name {len(names)} inputs, but the method has {len(types)}"
            )
        by_name = dict(zip(names, types, strict=True))
        for condition in self.data.checked().conditions:
            for name, dim in condition.sizes:
                type = by_name[name]
                rank = cast("TensorType[Any]", type).get_num_dims() if isinstance(type, TensorType) else None
                if (dim is None) != (rank is None) or (dim is not None and rank is not None and dim >= rank):
                    raise VerifyException(
                        f"[guards_c1] {condition.text!r} is not about an input of type {type}"
                    )


GUARDS: Final = discardable("program.guards", GuardsAttr)
"""The attribute of a method's conditions on the sizes of its inputs."""
