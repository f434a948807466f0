"""Stopping an execution from another thread, between two instructions.

A loop that can be stopped looks before each instruction whether it is to. Others do not: a method gets such loops when
it is first executed so that it can be stopped.

Raising an exception in the thread of the execution, as Ctrl-C does in the main thread, would cost nothing and end
kernels in Python, too. But it can come behind the acquisition of a lock, which is then held for ever, and stops others.
"""

from __future__ import annotations

__all__ = ["NEVER", "Stop", "Stopped", "Stops"]


class Stopped(BaseException):
    """Raised in an execution that is stopped. No Exception, so that what makes traps of errors lets it pass."""


class Stop:
    """Whether an execution is to stop."""

    __slots__ = ("is_requested",)

    def __init__(self) -> None:
        self.is_requested = False

    def request(self) -> None:
        """Stop the execution before its next instruction, the first if it has not begun; does not wait for that."""
        self.is_requested = True


NEVER = Stop()
"""A stop that nobody requests: the current one of a method that is not executed by a request."""


class Stops:
    """What stops the execution of a method at the moment."""

    __slots__ = ("current",)

    def __init__(self) -> None:
        self.current = NEVER

    def check(self) -> None:
        """Raise Stopped if the execution is to stop."""
        if self.current.is_requested:
            raise Stopped
