"""Operators of a file, and their kernels by runtime (`--ops`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from et_schema.wording import count

if TYPE_CHECKING:
    from et_vm.program import Program


def facts(program: Program) -> dict[str, Any]:
    """`targets`: the runtimes known; `operators`: name, calls in all methods, and the targets that have it;
    `backends`: ids and how many delegates each has.
    """
    from et_ir.targets.lookup import CURRENT_TARGETS, find_target

    manifests = {target: find_target(target).kernels for target in CURRENT_TARGETS}
    calls: Counter[str] = Counter()
    backends: Counter[str] = Counter()
    for index, plan in enumerate(program.pte.program.execution_plan):
        backends.update(delegate.id for delegate in plan.delegates)
        for instruction in program.instructions(index):
            if instruction.opcode.mnemonic == "call":
                calls[instruction.name] += 1
    return {
        "targets": list(CURRENT_TARGETS),
        "operators": [
            {
                "name": name,
                "calls": number,
                "targets": [target for target, known in manifests.items() if name in known],
            }
            for name, number in sorted(calls.items(), key=lambda item: (-item[1], item[0]))
        ],
        "backends": dict(sorted(backends.items())),
    }


def lines(needed: dict[str, Any]) -> Iterator[str]:
    """The operators, each with the targets that lack it."""
    targets, operators = needed["targets"], needed["operators"]
    yield ""
    yield f"{count(len(operators), 'operator')}; runtimes known: {', '.join(targets)}"
    for operator in operators:
        lacking = [target for target in targets if target not in operator["targets"]]
        yield f"  {operator['calls']:>7,}  {operator['name']}"
        if lacking:
            where = "none of them" if len(lacking) == len(targets) else f"not {', '.join(lacking)}"
            yield f"           {where}"
    for backend, number in needed["backends"].items():
        yield f"  backend {backend}: {count(number, 'delegate')}"
