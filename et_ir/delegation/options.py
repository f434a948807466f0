"""User options of partitioners: operators by name, and numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from et_schema.diagnostics import did_you_mean
from et_schema.whole_numbers import shortened, whole_number

__all__ = ["check_options", "number_option", "operators", "operators_option"]


def check_options(options: Mapping[str, str], known: Collection[str]) -> None:
    """Raises `ValueError` for an option that is not among the `known`."""
    for key in options:
        if key not in known:
            there = ", ".join(known)
            raise ValueError(f"unknown option '{key}'; options are: {there}{did_you_mean(key, known)}")


def number_option(options: Mapping[str, str], key: str, default: int) -> int:
    """An option that is a number. Raises `ValueError`."""
    given = options.get(key, str(default))
    number = whole_number(given)
    if number is None:
        raise ValueError(f"{key}={shortened(given)}: expected a number of ops")
    return number


def operators_option(options: Mapping[str, str], key: str) -> list[str]:
    """An option that names operators, with `+` between them."""
    return [name for name in options.get(key, "").split("+") if name]


def operators(names: Iterable[str], also: Collection[str] = ()) -> frozenset[str]:
    """Operators by `Operator.view_form`, from what users write: `relu`, `edge.relu`, `permute` or
    `permute_copy`, a name for all its overloads (`add`), and `mylib::scale` for one of another library. `also` are
    words that are taken as they are.

    Raises `ValueError` for an operator that there is not.
    """
    found: set[str] = set()
    for name in names:
        found.update([name] if name in also else _operators(name))
    return frozenset(found)


def _operators(name: str) -> Iterable[str]:
    from et_ir.dialects.counterparts import forms
    from et_ir.dialects.edge import OP_BY_NAME
    from et_ops import OPERATORS

    if "::" in name and not name.startswith("aten::"):
        return [name.partition("::")[2]]
    plain = name.removeprefix("aten::").removeprefix("aten.").removeprefix("edge.").removesuffix(".default")
    try:
        return {cls.operator.view_form for cls in forms(plain)}
    except KeyError:
        pass
    packets = (plain, f"{plain}_copy")
    overloads = {OPERATORS[full].view_form for full in OP_BY_NAME if full.partition(".")[0] in packets}
    if overloads:
        return overloads
    raise ValueError(f"unknown operator '{name}'{did_you_mean(plain, OP_BY_NAME)}")
