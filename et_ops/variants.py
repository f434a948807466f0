"""Out variants: the form of an operator that writes its results into tensors it is given, which is what runtimes call.

mylib::foo(Tensor x, int n) -> Tensor
mylib::foo.out(Tensor x, int n, *, Tensor(a!) out) -> Tensor(a!)
"""

from __future__ import annotations

from string import ascii_lowercase

from et_ops import Arg, Schema, parse_schema

__all__ = ["functional_problem", "out_variant_definition", "out_variant_problem"]


def functional_problem(schema: Schema) -> str | None:
    """Why an operator cannot be an op that computes new tensors from its arguments, `None` if it can."""
    for arg in schema.args:
        if arg.is_mutated:
            return f"it writes to its argument '{arg.name}'"
    if not schema.returns:
        return "it returns nothing"
    for returned in schema.returns:
        if returned.alias is not None:
            return "it returns a view of an argument"
        if not returned.type.is_tensor or returned.type.optional or returned.type.element_optional:
            return f"it returns a value of type {returned.type}, not a tensor"
    if any(returned.type.is_list for returned in schema.returns) and len(schema.returns) > 1:
        return "it returns a list of tensors and more"
    return None


def out_variant_problem(functional: Schema, out: Schema) -> str | None:
    """Why `out` is no out variant of `functional`, `None` if it is one.

    It takes the same arguments, by names and types, and after them keyword-only tensors that it writes to, one for each
    result (or a list of them for a list).
    """
    written = out.out_args
    positional = [arg for arg in out.args if arg.is_mutated and arg not in written]
    if positional:
        names = ", ".join(f"'{arg.name}'" for arg in positional)
        return f"{names} must be keyword-only: write '*' before the first argument that it writes to"
    if not written:
        return "it writes to no argument"
    taken = [arg for arg in out.args if arg not in written]
    for mine, its in zip(functional.args, taken, strict=False):
        if (mine.name, mine.type) != (its.name, its.type):
            return f"its argument '{its.type} {its.name}' is '{mine.type} {mine.name}' there"
    if len(functional.args) != len(taken):
        return f"it takes {len(taken)} arguments beside its outputs, not {len(functional.args)}"
    if [arg.type for arg in written] != [returned.type for returned in functional.returns]:
        outputs = ", ".join(str(arg.type) for arg in written)
        results = ", ".join(str(returned.type) for returned in functional.returns)
        return f"it writes {outputs} where the results are {results}"
    return None


def out_variant_definition(text: str) -> str:
    """The call that defines the out variant which an operator lacks, from the operator's schema with its namespace."""
    functional = parse_schema(text)
    overload = f"{functional.overload}_out" if functional.overload else "out"
    open_ = text.index("(")
    arguments = text[open_ + 1 : text.rindex("->")].strip().removesuffix(")")
    parts = [arguments] if arguments else []
    if not any(arg.kwarg_only for arg in functional.args):
        parts.append("*")
    taken = functional.by_name
    returns: list[str] = []
    for index, returned in enumerate(functional.returns):
        returns.append(_annotated(returned, ascii_lowercase[index % 26]))
        name = "out" if len(functional.returns) == 1 else f"out{index}"
        parts.append(f"{returns[-1]} {name if name not in taken else f'{name}_'}")
    # Torch has no out variants that return the list which they are given.
    listed = any(returned.type.is_list for returned in functional.returns)
    returned_text = "()" if listed else returns[0] if len(returns) == 1 else f"({', '.join(returns)})"
    namespace = text.partition("::")[0]
    name = f"{namespace}::{functional.name}.{overload}"
    return f'torch.library.define("{name}", "({", ".join(parts)}) -> {returned_text}")'


def _annotated(returned: Arg, letter: str) -> str:
    return f"Tensor({letter}!)" + ("[]" if returned.type.is_list else "")
