"""Roles of a training method's results: loss, gradients, parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.discardable import discardable
from et_ir.dialects.program.ops import LoadOp

__all__ = ["ROLES", "Role", "RolesAttr", "returned_state"]

_PLAIN: Final = ("output", "loss")
_NAMED: Final = ("gradient", "parameter")


class Role(NamedTuple):
    """What a result is: `output`, `loss`, or the `gradient` or the value of the `parameter` of a name."""

    kind: str
    of: str | None = None


@irdl_attr_definition
class RolesAttr(Data[tuple[Role, ...]]):
    """The role of each result of a training method, in the order that runtimes expect: outputs, one of which is the
    loss, then the gradient of each parameter, then the parameters themselves, as state that the caller may write.

    ```mlir
    #program.roles<loss, output, gradient "fc.weight", gradient "fc.bias", parameter "fc.weight", parameter "fc.bias">
    ```

    Rules: `roles_c1` one result is the loss; `roles_c2` outputs come first, then gradients, then parameters;
    `roles_c3` each parameter has one gradient, in the same order; `roles_c4` there is a role for each result, and
    a gradient has the type of its parameter.
    """

    name = "program.roles"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Role, ...]:
        def role() -> Role:
            position = parser.pos
            kind = parser.parse_identifier()
            if kind in _PLAIN:
                return Role(kind)
            if kind not in _NAMED:
                parser.raise_error(
                    f"'{kind}' is not one of {', '.join((*_PLAIN, *_NAMED))}", position, parser.pos
                )
            return Role(kind, parser.parse_str_literal())

        with parser.in_angle_brackets():
            return tuple(parser.parse_comma_separated_list(parser.Delimiter.NONE, role))

    def print_parameter(self, printer: Printer) -> None:
        def role(one: Role) -> None:
            printer.print_string(one.kind)
            if one.of is not None:
                printer.print_string(" ")
                printer.print_string_literal(one.of)

        with printer.in_angle_brackets():
            printer.print_list(self.data, role)

    def verify(self) -> None:
        kinds = [role.kind for role in self.data]
        if kinds.count("loss") != 1:
            raise VerifyException(f"[roles_c1] {kinds.count('loss')} results are the loss, expected one")
        ranks = [0 if kind in _PLAIN else 1 + _NAMED.index(kind) for kind in kinds]
        if ranks != sorted(ranks):
            raise VerifyException("[roles_c2] the order is outputs, gradients, parameters")
        gradients, parameters = self.names("gradient"), self.names("parameter")
        if gradients != parameters or len(set(parameters)) != len(parameters):
            raise VerifyException(
                f"[roles_c3] the gradients are of {', '.join(gradients) or 'nothing'}, "
                f"the parameters are {', '.join(parameters) or 'none'}"
            )

    def names(self, kind: str) -> list[str]:
        """The names of the parameters that the results of a kind are about."""
        return [role.of or "" for role in self.data if role.kind == kind]

    def first(self, kind: str) -> int:
        """The position of the first result of a kind, or where it would be."""
        kinds = ("output", *_NAMED)
        return sum(
            kinds.index(role.kind if role.kind in kinds else "output") < kinds.index(kind)
            for role in self.data
        )

    def verify_results(self, types: Sequence[Attribute]) -> None:
        """Check the results of a method against their roles. Raises `VerifyException`."""
        if len(types) != len(self.data):
            raise VerifyException(f"[roles_c4] {len(self.data)} roles for {len(types)} results")
        count = len(self.names("parameter"))
        gradients, parameters = types[len(types) - 2 * count :][:count], types[len(types) - count :]
        for name, gradient, parameter in zip(self.names("parameter"), gradients, parameters, strict=True):
            if gradient != parameter:
                raise VerifyException(
                    f'[roles_c4] the gradient of "{name}" is {gradient}, the parameter is {parameter}'
                )


ROLES: Final = discardable("program.roles", RolesAttr)
"""The attribute of a training method's results."""


def returned_state(module: ModuleOp) -> set[str]:
    """The names of the mutable buffers that callers may write, as a method returns them as parameters."""
    found: set[str] = set()
    for method in module.body.block.ops:
        roles = method.attributes.get(ROLES)
        if not isinstance(method, FuncOp) or not isinstance(roles, RolesAttr):
            continue
        end = method.body.block.last_op
        if isinstance(end, ReturnOp):
            for role, value in zip(roles.data, end.operands, strict=False):
                if role.kind == "parameter" and isinstance(value.owner, LoadOp):
                    found.add(value.owner.symbol.string_value())
    return found
