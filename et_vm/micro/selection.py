"""Operator selection from programs and from ExecuTorch's selective-build lists."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from et_schema.errors import Error, ExecutorchError, MissingOperator
from et_schema.scalar_type import ScalarType
from et_vm.kernels.prims import PRIMS
from et_vm.micro.kernels import KERNELS, Kernel
from et_vm.micro.keys import KernelKey, kernel_key
from et_vm.program import Program

__all__ = ["Selection", "select", "selected_of_programs", "selected_of_yaml"]


MAX_RANK: Final = 16
"""Of tensors that the runtime loads."""


@dataclass
class Selection:
    """Operators by name, with the kernel keys of their calls; None selects all."""

    keys: dict[str, set[KernelKey] | None] = field(default_factory=dict[str, "set[KernelKey] | None"])

    def add(self, operator: str, key: KernelKey | None) -> None:
        """Add a call of an operator."""
        known = self.keys.setdefault(operator, set())
        if key is None or known is None:
            self.keys[operator] = None
        else:
            known.add(key)

    def update(self, other: Selection) -> None:
        """Add the operators of another."""
        for operator, keys in other.keys.items():
            for key in (None,) if keys is None else keys:
                self.add(operator, key)


def _key_of(text: str, operator: str) -> KernelKey | None:
    if text == "default":
        return None
    parts = [] if text in ("v1", "v1/") else text.removeprefix("v1/").split("|")
    key: list[tuple[ScalarType, tuple[int, ...]]] = []
    try:
        if not text.startswith("v1"):
            raise ValueError(text)
        for part in parts:
            kind, _, order = part.partition(";")
            dims = tuple(int(dim) for dim in order.split(",") if dim)
            if sorted(dims) != list(range(len(dims))) or len(dims) > MAX_RANK:
                raise ValueError(text)
            key.append((ScalarType(int(kind)), dims))
    except ValueError:
        raise ExecutorchError(
            Error.InvalidArgument,
            f"{text!r} is not a kernel key",
            where=operator,
            hint="expected 'default', or v1/ followed by the element type and dim order of each tensor: v1/6;0,1|6;0,1",
        ) from None
    return tuple(key)


def selected_of_programs(programs: Iterable[Program]) -> Selection:
    """The operators that programs call."""
    found = Selection()
    for program in programs:
        for index, plan in enumerate(program.pte.program.execution_plan):
            for instruction in program.instructions(index):
                if instruction.opcode.mnemonic == "call":
                    found.add(instruction.name, kernel_key(plan, instruction.args))
    return found


def selected_of_yaml(text: str) -> Selection:
    """The operators of a `selected_operators.yaml`. Raises ExecutorchError for another text, and for one that includes
    all operators, whose kernels would not fit a small device.
    """
    try:
        content = _parsed(text)
    except RecursionError:
        raise ExecutorchError(Error.InvalidArgument, "the file is nested too deeply") from None
    if content.get("include_all_operators"):
        raise ExecutorchError(
            Error.NotSupported, "the file includes all operators", where="include_all_operators"
        )
    if not content.keys() & {"operators", "et_kernel_metadata"}:
        raise ExecutorchError(
            Error.InvalidArgument,
            "no list of operators",
            hint="give a program, or what et-vm ops or ExecuTorch's gen_oplist writes",
        )
    operators: Any = content.get("operators") or {}
    metadata: Any = content.get("et_kernel_metadata") or {}
    if not isinstance(operators, dict) or not isinstance(metadata, dict):
        raise ExecutorchError(
            Error.InvalidArgument, "operators are names with their properties", where="operators"
        )
    found = Selection()
    keys = cast("dict[str, Any]", metadata)
    for name in [*cast("dict[str, Any]", operators), *keys]:
        given: Any = keys.get(name) or ["default"]
        if not isinstance(given, list):
            raise ExecutorchError(Error.InvalidArgument, "kernel keys are a list", where=name)
        for key in cast("list[Any]", given):
            found.add(name, _key_of(str(key), name))
    return found


def _parsed(text: str) -> dict[str, Any]:
    """Parse a subset of YAML: nested mappings, lists of plain values, and JSON."""
    stripped = text.lstrip()
    if stripped.startswith("{"):
        try:
            return cast("dict[str, Any]", json.loads(text))
        except ValueError as error:
            raise ExecutorchError(Error.InvalidArgument, f"neither YAML nor JSON: {error}") from None
    lines = [
        (number, line.rstrip())
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#") and line.strip() != "---"
    ]
    at, found = _block(lines, 0, 0)
    if at < len(lines) or not isinstance(found, dict):
        raise _bad_line(*(lines[at] if at < len(lines) else (1, "")))
    return cast("dict[str, Any]", found)


def _bad_line(number: int, line: str) -> ExecutorchError:
    return ExecutorchError(
        Error.InvalidArgument,
        f"cannot parse line {number}: {line.strip()!r}",
        hint="expected the output of et-vm ops or of ExecuTorch's gen_oplist",
    )


def _block(lines: Sequence[tuple[int, str]], at: int, indent: int) -> tuple[int, Any]:
    """A mapping or list whose lines are indented by `indent`, and the index of the line after it."""
    mapping: dict[str, Any] = {}
    items: list[Any] = []
    while at < len(lines):
        number, line = lines[at]
        depth = len(line) - len(line.lstrip(" "))
        body = line[depth:]
        if depth < indent:
            break
        if depth > indent:
            raise _bad_line(number, line)
        at += 1
        if body.startswith("- "):
            items.append(_value(body[2:], number, line))
            continue
        key, value = _entry(body, number, line)
        if value is not None:
            mapping[key] = _value(value, number, line)
            continue
        mapping[key] = None
        if at < len(lines):
            following = lines[at][1]
            deeper = len(following) - len(following.lstrip(" "))
            if deeper > indent or (deeper == indent and following.lstrip().startswith("- ")):
                at, mapping[key] = (
                    _items(lines, at, deeper)
                    if following.lstrip().startswith("- ")
                    else _block(lines, at, deeper)
                )
    return at, items if items else mapping


def _items(lines: Sequence[tuple[int, str]], at: int, indent: int) -> tuple[int, list[Any]]:
    found: list[Any] = []
    while at < len(lines):
        number, line = lines[at]
        if len(line) - len(line.lstrip(" ")) != indent or not line.lstrip().startswith("- "):
            break
        found.append(_value(line.lstrip()[2:], number, line))
        at += 1
    return at, found


def _entry(body: str, number: int, line: str) -> tuple[str, str | None]:
    """The key of a line, and its value, if any."""
    if body[:1] in "\"'":
        end = body.find(body[0], 1)
        key, rest = body[1:end], body[end + 1 :]
        if end < 0 or not rest.startswith(":"):
            raise _bad_line(number, line)
        rest = rest[1:]
    else:
        # Names of operators have colons, but no space behind one.
        key, colon, rest = body.partition(": ")
        if not colon:
            if not body.endswith(":"):
                raise _bad_line(number, line)
            key, rest = body[:-1], ""
    return key, rest.strip() or None


def _value(text: str, number: int, line: str) -> Any:
    plain: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "[]": [], "{}": {}}
    text = text.strip()
    if text in plain:
        return plain[text]
    if text[:1] == "'":
        return text.strip("'")
    if text[:1] in '"[{':
        try:
            return json.loads(text)
        except ValueError:
            raise _bad_line(number, line) from None
    return text


def select(selection: Selection) -> list[tuple[Kernel, frozenset[KernelKey] | None]]:
    """The C kernels for operators, with their kernel keys; primitive operators have no kernels.

    Raises MissingOperator with all operators, or types of their tensors, that there is none for.
    """
    chosen: dict[Kernel, set[KernelKey] | None] = {}
    missing: list[str] = []
    for operator, keys in sorted(selection.keys.items()):
        if operator in PRIMS:
            continue
        kernels = [one for one in KERNELS if one.operator == operator]
        if not kernels:
            missing.append(operator)
            continue
        if keys is None:
            chosen.update((one, None) for one in kernels)
            continue
        for key in sorted(keys):
            found = next((one for one in kernels if one.takes(key)), None)
            if found is None:
                missing.append(f"{operator} [{' '.join(_types(key))}]")
                continue
            known = chosen.setdefault(found, set())
            if known is not None:
                known.add(key)
    if missing:
        raise MissingOperator(
            list(dict.fromkeys(missing)),
            where="the runtime in C",
            hint="et-compile --target with the name of a processor compiles programs without kernels",
        )
    return [(one, None if keys is None else frozenset(keys)) for one, keys in chosen.items()]


def _types(key: KernelKey) -> Iterator[str]:
    return (kind.torch_name for kind, _ in key)
