"""The operators that a file needs, and which runtimes have a kernel for them (``--ops``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from et_tools.info.tensors import cut
from et_tools.vm_files import WIDTH, count, fit

if TYPE_CHECKING:
    from et_vm.program import Program


def facts(program: Program) -> dict[str, Any]:
    """``targets``: the runtimes known; ``operators``: name, calls in all methods, and the targets that have it;
    ``backends``: ids and how many delegates each has.
    """
    from et_ir.targets.manifest import TARGETS, load_manifest

    manifests = {target: load_manifest(target) for target in TARGETS}
    calls: Counter[str] = Counter()
    backends: Counter[str] = Counter()
    for index, plan in enumerate(program.pte.program.execution_plan):
        backends.update(delegate.id for delegate in plan.delegates)
        for instruction in program.instructions(index):
            if instruction.opcode.mnemonic == "call":
                calls[instruction.name] += 1
    return {
        "targets": list(TARGETS),
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
    """A table with a column for each target: ``+`` where it has a kernel, ``-`` where not."""
    targets, operators = needed["targets"], needed["operators"]
    heads = "  ".join(targets)
    width = WIDTH - len(heads) - 13
    yield ""
    yield f"{count(len(operators), 'operator')}; + the runtime has a kernel, - it has none"
    yield f"  {'calls':>7}  {'':{width}}  {heads}"
    for operator in operators:
        marks = "  ".join(
            f"{'+' if target in operator['targets'] else '-':^{len(target)}}" for target in targets
        )
        yield f"  {operator['calls']:>7,}  {fit(operator['name'], width):{width}}  {marks}".rstrip()
    for backend, number in needed["backends"].items():
        yield cut(f"  backend {backend}: {count(number, 'delegate')}")
