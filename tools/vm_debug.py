"""`et-vm debug`: execute a method under the debugger."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from et_schema.errors import InputError
from et_schema.wording import count
from et_tools.exit_codes import ExitCode, UsageError
from et_tools.vm_backends import chosen_backends, chosen_native
from et_tools.vm_files import chosen_platform, open_data, open_program
from et_tools.vm_inputs import method_inputs, method_name
from et_tools.vm_kernels import chosen_kernels
from et_vm.run.interpreter import MAX_INSTRUCTIONS

if TYPE_CHECKING:
    from et_vm.devtools.debugger import Debugger

__all__ = ["debug_file"]


def debug_file(args: argparse.Namespace) -> int:
    """Start the debugger, carry out the commands of the command line, then those of standard input.

    Raises UsageError for inputs and command files that cannot be had, and what loading raises.
    """
    from et_tools.debug.session import Session

    commands = _commands(args)
    if args.file == "-" and not commands:
        raise UsageError("standard input is the program: give commands with --command or --script")
    session = Session(_debugger(args))
    interactive = not commands
    if interactive and sys.stdin.isatty():
        _enable_editing()
        print(f"{args.file}: {count(len(session.texts), 'instruction')}; help lists the commands")
    session.start()
    if interactive and not sys.stdin.isatty():
        commands, interactive = sys.stdin.read().splitlines(), False
    session.run(commands, interactive=interactive)
    return ExitCode.CHECK_FAILED if session.failures and not interactive else ExitCode.OK


def _commands(args: argparse.Namespace) -> list[str]:
    commands: list[str] = []
    for path in args.script or ():
        try:
            commands += Path(path).read_text("utf-8").splitlines()
        except UnicodeDecodeError:
            raise UsageError(f"--script {path}: not a text file") from None
    return commands + (args.command or [])


def _debugger(args: argparse.Namespace) -> Debugger:
    from et_vm.devtools.debug_map import places_of_method
    from et_vm.devtools.debugger import Debugger

    program = open_program(args.file, chosen_platform(args))
    name = method_name(program, args.method)
    inputs = method_inputs(program.method_meta(name), args.input or ["random:0"])
    places = None if args.debug_map is None else places_of_method(args.debug_map, name)
    method = program.load_method(
        name,
        kernels=chosen_kernels(args, args.kernels),
        backends=chosen_backends(args),
        native=chosen_native(args),
        poison=args.poison,
        external=open_data(args),
        instruction_limit=MAX_INSTRUCTIONS,
    )
    values = [
        given.value.copy() if at in method.written_inputs else given.value for at, given in enumerate(inputs)
    ]
    try:
        return Debugger(method, values, places=places)
    except InputError as error:
        label, _, index = (error.where or "").partition(" ")
        if label == "input" and index.isdecimal():
            error.where = f"{error.where} ({inputs[int(index)].source})"
        raise


def _enable_editing() -> None:
    """Line editing and history, where Python has them."""
    from importlib.util import find_spec

    if find_spec("readline") is not None:
        import readline

        readline.set_completer_delims(" \t\n")
