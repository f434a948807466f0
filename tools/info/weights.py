"""Constants of a file by size, and groups of equal contents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from et_schema.wording import count
from et_tools.info.tensors import describe, tensor_facts, tensor_name

if TYPE_CHECKING:
    from et_schema.program import Tensor
    from et_vm.program import Program

SHOWN = 10


def facts(program: Program) -> list[dict[str, Any]]:
    """The constants of all methods, largest first.

    One that several values share is listed once, with the number of these in `uses` and their further names in
    `also`. `same_as` is the place in the list of the first with the same bytes, stored once more.
    """
    return [weight for _, weight in constants(program)]


def constants(program: Program) -> list[tuple[Tensor, dict[str, Any]]]:
    """The constants in the order of `facts`, each with a value that has it."""
    from et_vm.meta import TensorInfo
    from et_vm.verify.tensors import tensor_data

    found: dict[Any, tuple[Tensor, dict[str, Any]]] = {}
    for table, name, external in _constants(program):
        key = name if external else table.data_buffer_idx
        if key not in found:
            weight = tensor_facts(TensorInfo(table, name)) | {"external": external, "uses": 0}
            del weight["planned"]
            found[key] = (table, weight)
        weight = found[key][1]
        weight["uses"] += 1
        if name and name != weight.get("name"):
            also = weight.setdefault("also", [])
            if name not in also:
                also.append(name)
    weights = sorted(found.values(), key=lambda pair: -pair[1]["nbytes"])

    by_size: defaultdict[int, list[int]] = defaultdict(list)
    for at, (_, weight) in enumerate(weights):
        if weight["nbytes"] and not weight["external"]:
            by_size[weight["nbytes"]].append(at)
    for nbytes, candidates in by_size.items():
        first: dict[bytes, int] = {}
        for at in candidates if len(candidates) > 1 else ():
            digest = _digest(tensor_data(weights[at][0], nbytes, program.pte))
            if (earlier := first.setdefault(digest, at)) != at:
                weights[at][1]["same_as"] = earlier
    return weights


def _constants(program: Program) -> Iterator[tuple[Tensor, str, bool]]:
    """All values that are constants, with their name and whether they are outside of the file."""
    from et_schema.program import Tensor
    from et_vm.load.instructions import is_constant

    for plan in program.pte.program.execution_plan:
        for value in plan.values:
            table = value.val
            if isinstance(table, Tensor) and is_constant(table):
                extra = table.extra_tensor_info
                yield table, tensor_name(table), extra is not None and extra.location != 0


def _digest(data: memoryview) -> bytes:
    from hashlib import sha256

    return sha256(data).digest()


def lines(weights: list[dict[str, Any]], shown: int | None = SHOWN) -> Iterator[str]:
    """The largest `shown` (all if None), the sum of the rest, and what is stored more than once."""
    total = sum(weight["nbytes"] for weight in weights)
    yield ""
    yield f"{count(len(weights), 'weight')}: {total:,} bytes"
    for weight in weights[:shown]:
        also = "".join(f" = {name}" for name in weight.get("also", ()))
        outside = " in a data file" if weight["external"] else ""
        yield f"  {weight['nbytes']:>15,}  {describe(weight)}{also}{outside}"
    rest = weights[shown:] if shown is not None else []
    if rest:
        nbytes = sum(weight["nbytes"] for weight in rest)
        yield f"  {nbytes:>15,}  in {len(rest):,} more (--size lists them)"
    again = [weight for weight in weights if "same_as" in weight]
    if again:
        yield f"  {sum(weight['nbytes'] for weight in again):>15,}  of them stored again with the same contents:"
        for weight in again:
            first = weights[weight["same_as"]]
            yield f"  {weight['nbytes']:>15,}  {_called(weight)} is {_called(first)}"


def _called(weight: dict[str, Any]) -> str:
    return weight.get("name") or f"{weight['dtype']} {weight['shape']}"
