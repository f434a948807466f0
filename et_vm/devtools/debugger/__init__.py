"""Debugger of the register machine: steps in both directions, breakpoints, watchpoints, changes by hand.

`et-vm debug` is its command line. In a notebook:

    from et_vm import load_program
    from et_vm.devtools.debugger import Debugger, NonFinite

    debugger = Debugger(load_program("model.pte").load_method("forward"), [x])
    debugger.add(NonFinite())
    print(debugger.resume())           # stopped behind the instruction that made the first NaN
    debugger.back()
    debugger.value(12).array
"""

from et_vm.devtools.debugger.breakpoints import (
    AtInstruction,
    AtLine,
    AtOperator,
    InModule,
    NonFinite,
    WatchBytes,
    WatchRegister,
)
from et_vm.devtools.debugger.debugger import Access, Breakpoint, Debugger, Stop, StopReason

__all__ = [
    "Access",
    "AtInstruction",
    "AtLine",
    "AtOperator",
    "Breakpoint",
    "Debugger",
    "InModule",
    "NonFinite",
    "Stop",
    "StopReason",
    "WatchBytes",
    "WatchRegister",
]
