"""The `.bpte` container: a bundled program for its methods, one flatbuffer."""

from __future__ import annotations

from dataclasses import dataclass

from et_schema.bundled_program import FILE_IDENTIFIER, BundledMethodTestSuite, BundledProgram
from et_schema.errors import Error, InvalidFile
from et_schema.program import FILE_IDENTIFIER as PROGRAM_IDENTIFIER
from et_schema.reader import Reader, Source
from et_schema.segments import OutputStream
from et_schema.wording import worded

VERSION = 2
"""Schema generation written by stock ExecuTorch 1.4."""

_MINIMUM = 16


@dataclass(slots=True)
class BpteFile:
    """A decoded file; `program` is a view of the `.pte` inside of the buffer that was read."""

    program: memoryview
    suites: list[BundledMethodTestSuite]
    version: int


def is_bundled(file: Source) -> bool:
    """Whether a file says that it is a bundled program."""
    return bytes(memoryview(file)[4:8]) == FILE_IDENTIFIER


def read_bpte(buffer: Source) -> BpteFile:
    """Decode a `.bpte` file without copying its data. What the program is, is for its own reader to say.

    Raises `InvalidFile` with the table path and the byte.
    """
    file = memoryview(buffer).cast("B").toreadonly()
    if len(file) < _MINIMUM:
        raise InvalidFile(
            f"a file of {len(file)} bytes is too short to be a bundled program",
            code=Error.InvalidArgument,
        )
    if bytes(file[4:8]) == PROGRAM_IDENTIFIER:
        raise InvalidFile("the file is a program without test cases", offset=4, hint=_bundling())
    bundled = Reader(file).root(BundledProgram, FILE_IDENTIFIER)
    if not bundled.program:
        raise InvalidFile("the bundle has no program", where="program")
    return BpteFile(memoryview(bundled.program), bundled.method_test_suites, bundled.version)


def _bundling() -> str:
    return "add a test case with " + worded(python="et_vm.devtools.bundled.bundle", command="et-vm bundle")


def write_bpte(
    program: bytes | memoryview, suites: list[BundledMethodTestSuite], stream: OutputStream
) -> int:
    """Write a `.bpte` file and return its size in bytes. `program` is a `.pte` file.

    Raises `ExecutorchError(NotSupported)` when it would be larger than a flatbuffer may be, 2 GiB.
    """
    from et_schema.writer import encode

    bundled = BundledProgram(VERSION, suites, program)
    encoded = encode(bundled, FILE_IDENTIFIER, expected_size=len(program) + 4096)
    stream.write(encoded)
    return len(encoded)
