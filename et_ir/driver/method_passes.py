"""User passes on whole programs or on single methods. The latter see a module without the other methods.

Constants that a pass changes are that method's own afterwards, where another method uses them too; they were shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from et_ir.analysis.constant_methods import methods_of
from et_ir.dialects.program import BufferOp, DeclareOperatorOp, Globals
from et_ir.pass_application import apply_pass

__all__ = ["MethodPasses", "PythonPass", "TransformPass", "UserPass", "as_pass", "method_module"]

UserPass: TypeAlias = ModulePass | Callable[[ModuleOp], object]
"""A pass, or a function that changes the module that it is given."""

MethodPasses: TypeAlias = Sequence[UserPass] | Mapping[str, Sequence[UserPass]]
"""Passes on the whole program, or by the name of the method that they are for."""


class PythonPass(ModulePass):
    """A pass whose options are Python objects."""

    def standard_passes(self) -> Sequence[ModulePass]:
        """The passes with a textual form that do the same, as far as there are any."""
        return ()


@dataclass(frozen=True)
class FunctionPass(PythonPass):
    """Call a function of the user's. Each has a class of its own, with the function's name and module."""

    name = "function"

    function: Callable[[ModuleOp], object]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        returned = self.function(op)
        if returned is not None and returned is not op and not isinstance(returned, bool):
            raise PassFailedException(
                f"the pass '{self.name}' returned {type(returned).__name__}: "
                "a function changes the module that it is given, and returns nothing"
            )


def _kind(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"


def _way(value: object) -> str:
    """The way to a pass from what is none."""
    if isinstance(value, str):
        from et_ir.delegation.backends_by_name import backend_names

        if value in backend_names():
            return f"; of a backend, partitioner=et_ir.backends.make_partitioner({value!r})"
        return f"; et_ir.driver.pipelines.parse_passes({value!r}) makes passes of their names"
    if isinstance(value, type):
        return f"; make one of it: {value.__name__}()"
    return "; give a partitioner as partitioner=…" if hasattr(value, "delegation_spec") else ""


def as_pass(one: UserPass) -> ModulePass:
    """A pass, also of a function.

    Raises `TypeError` for what is neither.
    """
    if isinstance(one, ModulePass):
        return one
    if isinstance(one, type) or not callable(one) or hasattr(one, "delegation_spec"):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"a pass is a ModulePass, or a function of a module, not {_kind(one)}{_way(one)}")
    name = getattr(one, "__name__", type(one).__name__)
    kind = type("FunctionPass", (FunctionPass,), {"name": name, "__module__": one.__module__})
    return kind(one)


@dataclass(frozen=True)
class TransformPass(PythonPass):
    """Run passes of the user's."""

    name = "transform"

    passes: MethodPasses

    def standard_passes(self) -> Sequence[ModulePass]:
        return () if isinstance(self.passes, Mapping) else [as_pass(one) for one in _listed(self.passes)]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _run(ctx, op, self.passes)


def _run(context: Context, module: ModuleOp, passes: MethodPasses) -> None:
    """Run passes of the user's.

    Raises what they raise, and `PassFailedException` for a method that there is not, and for passes that do to one
    method what would change others: to state that these use, or to its name.
    """
    if not isinstance(passes, Mapping):
        for one in _listed(passes):
            apply_pass(as_pass(one), context, module)
        return
    methods = _methods(module)
    for name in passes:
        if name not in methods:
            there = ", ".join(sorted(methods)) or "none"
            raise PassFailedException(f"transform_passes: no method named '{name}'; methods are: {there}")
    for name, ones in passes.items():
        if len(methods) == 1:
            _run(context, module, ones)
            continue
        part = _alone(module, name)
        for one in ones:
            apply_pass(as_pass(one), context, part)
        _put_back(module, name, part)


def _listed(passes: Sequence[UserPass]) -> Sequence[UserPass]:
    """Passes one by one. Raises `TypeError` for names of passes."""
    if isinstance(passes, str):
        as_pass(cast("UserPass", passes))
    return passes


def _methods(module: ModuleOp) -> dict[str, FuncOp]:
    return {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}


def method_module(module: ModuleOp, name: str) -> ModuleOp:
    """A copy of a module with one of its methods, and what that uses."""
    part = _alone(module, name)
    Globals(part).drop_unused()
    return part


def _alone(module: ModuleOp, name: str) -> ModuleOp:
    """A copy of a module with one of its methods."""
    part = module.clone()
    for method in methods_of(part):
        if method.sym_name.data != name:
            part.body.block.erase_op(method)
    return part


def _put_back(module: ModuleOp, name: str, part: ModuleOp) -> None:
    """Put a method, and the constants that it has now, into the module that it was taken from."""
    made = _methods(part)
    if list(made) != [name]:
        there = ", ".join(sorted(made)) or "none"
        raise PassFailedException(
            f"transform_passes of '{name}': the passes must keep exactly this method; methods are: {there}"
        )
    old, new = _methods(module)[name], made[name]
    block = module.body.block
    elsewhere = {symbol for op in block.ops if op is not old for symbol in _symbols(op)}
    symbols, theirs = Globals(module), Globals(part)
    renamed: dict[str, str] = {}
    for key, op in theirs.by_name.items():
        known = symbols.by_name.get(key)
        if known is not None and _says_the_same(known, op):
            continue
        if known is not None and key in elsewhere:
            if isinstance(known, BufferOp) and known.mutable is not None:
                raise PassFailedException(
                    f"transform_passes of '{name}': @{key} is shared with other methods and must not change"
                )
            renamed[key] = _free_name(key, symbols, theirs)
            op.properties["sym_name"] = StringAttr(renamed[key])
        op.detach()
        block.insert_op_before(op, old)
        if known is not None and key not in renamed:
            block.erase_op(known)
        symbols.by_name[op.key] = op
    declared = [op for op in block.ops if isinstance(op, DeclareOperatorOp)]
    for op in [op for op in part.body.block.ops if isinstance(op, DeclareOperatorOp)]:
        if not any(_says_the_same(op, known) for known in declared):
            op.detach()
            block.insert_op_before(op, old)
    for op in new.walk():
        symbol = op.properties.get("symbol")
        if isinstance(symbol, SymbolRefAttr) and symbol.string_value() in renamed:
            op.properties["symbol"] = SymbolRefAttr(renamed[symbol.string_value()])
    new.detach()
    block.insert_op_before(new, old)
    block.erase_op(old)
    Globals(module).drop_unused()


def _says_the_same(one: Operation, other: Operation) -> bool:
    return (one.name, one.properties, one.attributes) == (other.name, other.properties, other.attributes)


def _symbols(op: Operation) -> Iterator[str]:
    """The symbols that an op and all in it refer to."""
    for inner in op.walk():
        symbol = inner.properties.get("symbol")
        if isinstance(symbol, SymbolRefAttr):
            yield symbol.string_value()


def _free_name(name: str, *tables: Globals) -> str:
    """A name that no table has, made from one."""
    number = 1
    while any(f"{name}_{number}" in table.by_name for table in tables):
        number += 1
    return f"{name}_{number}"
