"""Configurations of lowering from the options of et-compile."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from et_tools.compile_options import default_bounds, extra_backends, extra_operators
from et_tools.exit_codes import UsageError

if TYPE_CHECKING:
    from et_ir.driver.configs import EdgeCompileConfig, ExecutorchBackendConfig

__all__ = ["edge_config", "executorch_config"]


def edge_config(args: argparse.Namespace, kept: Sequence[str]) -> EdgeCompileConfig:
    """The configuration up to the edge level. `kept` are operators that backends want whole. Raises `UsageError`."""
    from et_ir.driver.configs import EdgeCompileConfig

    return EdgeCompileConfig(
        preserve_ops=(*args.preserve, *kept),
        unroll=args.unroll,
        dequantize_weights=args.dequantize_weights,
        quantized_io=args.quantized_io,
        default_bounds=default_bounds(args),
        level=args.level,
    )


def executorch_config(args: argparse.Namespace) -> ExecutorchBackendConfig:
    """The configuration from the level of backends to the file. Raises `UsageError`."""
    from et_ir.driver.configs import ExecutorchBackendConfig
    from et_ir.planning.planners import PlannerError, find_planner

    try:
        find_planner(args.memory_planning)
    except PlannerError as error:
        name: str = args.memory_planning
        if name.endswith(".py"):
            raise UsageError(f"--planner {name}: name the function, {name}:FUNCTION") from error
        option = "--planner" if ":" in name else "--memory-planning"
        raise UsageError(f"{option}: {error}") from error
    return ExecutorchBackendConfig(
        target=args.target,
        extra_operators=extra_operators(args),
        extra_backends=extra_backends(args, args.target),
        memory_planning=args.memory_planning,
        alloc_graph_input=not args.no_plan_inputs,
        alloc_graph_output=not args.no_plan_outputs,
        check_plan=args.check_plan,
        chains=args.chains,
        memory=args.memory,
        pins=_memory_pins(args),
        caller_memory=_caller_memory(args),
        unbounded=args.unbounded,
        external_constants=_external_constants(args),
        model_schema=args.model_schema,
        level=args.level,
    )


def _external_constants(args: argparse.Namespace) -> dict[str, str]:
    """The data file of constants, by patterns of their names. Raises `UsageError`."""
    files: dict[str, str] = {}
    for wanted in args.external_constants:
        names, equals, file = wanted.rpartition("=")
        if not file or "/" in file or '"' in wanted or (equals and not names):
            raise UsageError(
                f"--external-constants {wanted}: expected FILE or NAMES=FILE, where FILE is a name without folders"
            )
        files.setdefault(names or "*", file)  # what is in one file stays there
    return files


def _caller_memory(args: argparse.Namespace) -> list[str]:
    """Caller-owned inputs and outputs. Raises `UsageError` for what is not like `forward.inputs.0`."""
    from et_ir.passes.memory.plan_memory.selectors import SELECTOR

    for value in args.caller_memory:
        match = SELECTOR.fullmatch(value)
        if match is None or match["kind"] is None or '"' in value:
            raise UsageError(
                f"--caller-memory {value}: expected for example METHOD.inputs or METHOD.outputs.0"
            )
    return args.caller_memory


def _memory_pins(args: argparse.Namespace) -> dict[str, str]:
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
                f"--pin {given}: expected VALUE=BANK, for example forward.inputs.0=sram or forward.modules.encoder=sram"
            ) from None
        if bank not in banks:
            known = (
                f"the banks are {', '.join(banks)}"
                if banks
                else f"no banks are defined: give --memory, as in --memory {bank or 'sram'}:id=1,size=64K"
            )
            raise UsageError(f"--pin {given}: no bank named {bank!r}; {known}")
        pins.pop(value, None)  # the last counts
        pins[value] = bank
    return pins
