"""What the options of et-compile say of memory: its banks, and where single values are."""

from __future__ import annotations

import argparse

from et_tools.exit_codes import UsageError

__all__ = ["caller_memory", "memory_pins"]


def caller_memory(args: argparse.Namespace) -> list[str]:
    """What the caller gives the memory of. Raises `UsageError` for what is not like `forward.inputs.0`."""
    from et_ir.passes.memory.plan_memory.selectors import SELECTOR

    for value in args.caller_memory:
        match = SELECTOR.fullmatch(value)
        if match is None or match["kind"] is None or '"' in value:
            raise UsageError(
                f"--caller-memory {value}: expected METHOD.inputs, METHOD.outputs.0 and the like"
            )
    return args.caller_memory


def memory_pins(args: argparse.Namespace) -> dict[str, str]:
    """The banks by what has to be in them. Raises `UsageError` for banks and values that are none."""
    from et_ir.passes.memory.plan_memory.selectors import SelectorError, check_selector
    from et_ir.planning.banks import BankError, parse_banks

    try:
        banks = [bank.name for bank in parse_banks(args.memory)] if args.memory else []
    except BankError as error:
        raise UsageError(f"--memory: {error}") from None
    pins: dict[str, str] = {}
    for given in args.pin:
        value, _, bank = given.rpartition("=")
        try:
            check_selector(value)
        except SelectorError:
            raise UsageError(
                f"--pin {given}: expected VALUE=BANK, as in forward.inputs.0=sram or forward.modules.encoder=sram"
            ) from None
        if bank not in banks:
            known = f"the banks are {', '.join(banks)}" if banks else "there are none without --memory"
            raise UsageError(f"--pin {given}: {bank!r} is no bank, {known}")
        pins.pop(value, None)  # the last counts
        pins[value] = bank
    return pins
