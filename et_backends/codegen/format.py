"""Interface of generated machine code: symbols of functions, and the context of a call."""

from typing import Final

__all__ = ["CALL", "ENTRY", "NO_REPORT", "PREPARE", "REPORT_AT", "SERVE"]

ENTRY: Final = "native_entry"
"""The symbol of the function that runs the program."""
PREPARE: Final = "native_prepare"
"""The symbol of the function that computes derived constants, where there are any."""
CALL: Final = "native_call"
"""The symbol of the function that makes a call with the threads of a pool."""
SERVE: Final = "native_serve"
"""The symbol of the function in which a thread of a pool waits for calls."""
REPORT_AT: Final = 192
"""Byte offset in the context of a call of the least number reported, an i32."""
NO_REPORT: Final = 0xFFFFFFFF
"""Value of the report word before a call: nothing is reported."""
