"""`et-vm info`: what is in a file, as text or as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from et_tools.exit_codes import UsageError
from et_tools.info import container, delegates, listing, methods, plan, sizes, weights
from et_tools.info.delegate_weights import delegate_weights
from et_tools.output import check_output
from et_tools.streams import fit, line_width
from et_tools.vm_files import open_program
from et_tools.vm_kernels import chosen_kernels

if TYPE_CHECKING:
    from et_vm.kernels.registry import KernelRegistry
    from et_vm.program import Program

Section = tuple[Callable[["Program"], Any], Callable[[Any], Iterator[str]]]


def _coverage(program: Program) -> dict[str, Any]:
    # Imported here: the tables of runtimes are the compiler's.
    from et_tools.info.kernel_coverage import facts

    return facts(program)


def _coverage_lines(found: dict[str, Any]) -> Iterator[str]:
    from et_tools.info.kernel_coverage import lines

    return lines(found)


SECTIONS: dict[str, Section] = {
    "size": (sizes.facts, sizes.lines),
    "ops": (_coverage, _coverage_lines),
    "plan": (plan.facts, plan.lines),
    "values": (listing.value_facts, listing.value_lines),
    "instructions": (listing.instruction_facts, listing.instruction_lines),
    "delegates": (delegates.facts, delegates.lines),
}
"""The sections shown instead of the summary, by option: facts of a program, and lines of the facts."""


def print_info(args: argparse.Namespace) -> None:
    """Print the contents of the file. Raises what loading it raises."""
    if args.svg is not None:
        if not args.plan:
            raise UsageError("--svg needs --plan")
        check_output(args.svg, [args.file])
        if args.svg == "-":
            raise UsageError("--svg needs a file name: the text goes to standard output")
    banks = _banks(args)
    program = open_program(args.file)
    chosen = [name for name in SECTIONS if getattr(args, name)]
    head = container.facts(program)
    facts: dict[str, Any] = {"file": args.file, "size": program.file.nbytes, **head}
    if chosen:
        facts |= {name: SECTIONS[name][0](program) for name in chosen}
    else:
        facts |= _summary(program, args)
        if args.json:
            # The text counts them; hashing and decoding blobs is for those who ask.
            facts["delegates"] = delegates.facts(program)
    for arena in facts.get("plan", ()):
        if arena["arena"] in banks:
            arena["bank"] = banks[arena["arena"]]
    if args.svg is not None:
        _draw(facts["plan"], args.svg)
    if args.json:
        print(json.dumps(facts, indent=2))
        return
    text = list(container.lines(head, args.file, program.file.nbytes))
    for name in chosen:
        text += SECTIONS[name][1](facts[name])
    if not chosen:
        text += methods.lines(facts["methods"], args.kernels)
        text += weights.lines(facts["weights"])
        for backend, reason in facts["unread_weights"].items():
            text.append(f"weights of {backend}: not known: {reason}")
    width = line_width(sys.stdout, wide=args.wide)
    print("\n".join(fit(line, width) for line in text))


def _draw(arenas: list[dict[str, Any]], file: str) -> None:
    from et_schema.files import atomic_writer
    from et_tools.info.plan_svg import svg

    with atomic_writer(Path(file)) as stream:
        stream.write(svg(arenas).encode())


def _banks(args: argparse.Namespace) -> dict[int, dict[str, Any]]:
    """The name and size in bytes of each memory bank of the command line, by its arena. Raises `UsageError`."""
    if not args.memory:
        return {}
    if not args.plan:
        raise UsageError("--memory needs --plan")
    from et_ir.planning.banks import BankError, parse_banks

    try:
        banks = parse_banks(args.memory)
    except BankError as error:
        raise UsageError(f"--memory: {error}") from None
    return {bank.memory_id: {"name": bank.name, "size": bank.capacity} for bank in banks}


class _Known:
    """The operators that there are kernels for, prims among them."""

    def __init__(self, registry: KernelRegistry) -> None:
        self._registry = registry

    def __contains__(self, name: object) -> bool:
        from et_vm.kernels.prims import PRIMS

        return name in PRIMS or name in self._registry


def _summary(program: Program, args: argparse.Namespace) -> dict[str, Any]:
    delegated = delegate_weights(program, {})
    return {
        "methods": methods.facts(program, _Known(chosen_kernels(args, args.kernels))),
        "weights": [*weights.facts(program), *(weight.facts for weight in delegated.weights)],
        "unread_weights": delegated.unread,
    }
