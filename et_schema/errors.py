"""Error codes of ExecuTorch's runtime and the exceptions that carry them.

The codes are part of the runtime's interface: a message here names the same code that the C++ runtime would
return for the same fault, so that one can be searched for in the documentation of the other.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import IntEnum
from typing import Final, Protocol

from et_schema.diagnostics import Diagnostic, Frame, Location
from et_schema.wording import LONGEST_FIX, abbreviated, in_words

_FRAMES: Final = 50
"""Calls of a stack that an error tells: the innermost. Stacks in files may have any number."""


class Error(IntEnum):
    """Result codes, grouped by the high nibble: system, logical, resources, delegates."""

    Ok = 0x00
    Internal = 0x01
    InvalidState = 0x02
    EndOfMethod = 0x03
    AlreadyLoaded = 0x04

    NotSupported = 0x10
    NotImplemented = 0x11
    InvalidArgument = 0x12
    InvalidType = 0x13
    OperatorMissing = 0x14
    RegistrationExceedingMaxKernels = 0x15
    RegistrationAlreadyRegistered = 0x16

    NotFound = 0x20
    MemoryAllocationFailed = 0x21
    AccessFailed = 0x22
    InvalidProgram = 0x23
    InvalidExternalData = 0x24
    OutOfResources = 0x25

    DelegateInvalidCompatibility = 0x30
    DelegateMemoryAllocationFailed = 0x31
    DelegateInvalidHandle = 0x32


class SourceFrame(Protocol):
    """One level of a Python stack; `et_schema.program.Frame` is one."""

    filename: str
    lineno: int
    name: str


class ExecutorchError(Exception):
    """A fault with its code, its place, and what to do about it.

    `code` is the runtime's error code, `where` a path of tables (`execution_plan[0].values[12].val.sizes`) or an
    operator's name, `offset` a byte of the file. `str()` reads ``InvalidProgram (0x23): message at where, byte 0x1c0;
    hint``.
    """

    frames: tuple[SourceFrame, ...] = ()
    """The Python source that it comes from, outermost first, when the file records it."""

    def __init__(
        self,
        code: Error,
        message: str,
        *,
        where: str | None = None,
        offset: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.where = where
        self.offset = offset
        self.hint = hint

    @property
    def diagnostic(self) -> Diagnostic:
        """The fault as compiler and commands report it."""
        frames = tuple(
            Frame(frame.filename, frame.lineno, frame.name, getattr(frame, "context", ""))
            for frame in self.frames
        )
        place = Location(frames, path=self.where or "", offset=self.offset)
        return Diagnostic(self.message, fix=self.hint or "", at=place, code=self.code)

    def __str__(self) -> str:
        told = self.diagnostic
        return f"{told.text}; {abbreviated(told.fix, LONGEST_FIX)}" if told.fix else told.text


def access_failed(path: str | os.PathLike[str], error: OSError | ValueError) -> ExecutorchError:
    """The exception for a file that cannot be read: ExecutorchError(AccessFailed), whose `where` is the path."""
    reason = error.strerror if isinstance(error, OSError) else None
    return ExecutorchError(
        Error.AccessFailed, f"cannot read the file: {reason or error}", where=os.fspath(path)
    )


class InvalidFile(ExecutorchError):
    """A file that cannot be loaded: malformed, truncated or inconsistent."""

    def __init__(
        self,
        message: str,
        *,
        code: Error = Error.InvalidProgram,
        where: str | None = None,
        offset: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(code, message, where=where, offset=offset, hint=hint)
        self.args = (message,)

    def nest(self, parent: str) -> None:
        """Prefix `where` with the path of the enclosing table or vector item."""
        self.where = f"{parent}.{self.where}" if self.where else parent


class MissingOperator(ExecutorchError):
    """A program calls operators that no registered kernel implements; `operators` lists all of them."""

    def __init__(
        self, operators: Sequence[str], *, where: str | None = None, hint: str | None = None
    ) -> None:
        names = tuple(operators)
        noun = "kernel for" if len(names) == 1 else f"kernels for {len(names)} operators:"
        super().__init__(Error.OperatorMissing, f"no {noun} {', '.join(names)}", where=where, hint=hint)
        self.args = (names,)
        self.operators = names


class MissingBackend(ExecutorchError):
    """A program delegates to a backend that is not registered."""

    def __init__(self, backend: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(Error.NotFound, f"no backend named {backend!r}", where=where, hint=hint)
        self.args = (backend,)
        self.backend = backend


class InputError(ExecutorchError):
    """An input that does not fit the method: wrong count, type, dtype, rank or size."""

    def __init__(
        self,
        message: str,
        *,
        code: Error = Error.InvalidArgument,
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(code, message, where=where, hint=hint)
        self.args = (message,)


class Trap(ExecutorchError):
    """A fault while a method executes.

    `instruction` is the index in the chain, `operator` the name called there, `frames` the Python
    source that the instruction was exported from (outermost first), when the file records it.
    """

    def __init__(
        self,
        message: str,
        *,
        code: Error = Error.InvalidArgument,
        instruction: int | None = None,
        operator: str | None = None,
        frames: Sequence[SourceFrame] = (),
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(code, message, where=where, hint=hint)
        self.args = (message,)
        self.instruction = instruction
        self.operator = operator
        self.frames = tuple(frames)

    def __str__(self) -> str:
        lines = [super().__str__()]
        if self.instruction is not None:
            operator = f": {self.operator}" if self.operator else ""
            lines.append(f"  in instruction {self.instruction}{operator}")
        elif self.operator:
            lines.append(f"  in {self.operator}")
        outer = len(self.frames) - _FRAMES
        if outer > 0:
            lines.append(f"  from {in_words(outer, 'outer call')}")
        lines += (
            f"  from {frame.filename}:{frame.lineno} in {frame.name}"
            for frame in self.frames[max(outer, 0) :]
        )
        return "\n".join(map(abbreviated, lines))


class OutOfMemory(ExecutorchError):
    """An arena or allocator is too small. Sizes are in bytes."""

    def __init__(
        self,
        message: str,
        *,
        needed: int | None = None,
        available: int | None = None,
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(Error.MemoryAllocationFailed, message, where=where, hint=hint)
        self.args = (message,)
        self.needed = needed
        self.available = available


class Problems:
    """Takes the problems of a file: keeps them in `found` in the order in which they are found, or, unless it
    `collects`, raises the first, which is how files are loaded.

    A check reports a problem with `add` and goes on with what does not depend on the faulty part, or returns
    when everything after it would only repeat the fault in other words.
    """

    __slots__ = ("collects", "found")

    def __init__(self, *, collects: bool = True) -> None:
        self.collects = collects
        self.found: list[ExecutorchError] = []

    def add(self, problem: ExecutorchError) -> None:
        """Report `problem`; does not return unless problems are collected."""
        if not self.collects:
            raise problem
        self.found.append(problem)


FIRST = Problems(collects=False)
"""Raises the first problem."""
