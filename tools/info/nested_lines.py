"""Text listing of programs within programs for `et-vm info --delegates`."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["nested_lines"]


def nested_lines(blob: memoryview, specs: dict[str, bytes], named: Mapping[str, memoryview]) -> list[str]:
    """Decode a blob: the values of the program, then its instructions.

    Raises InvalidFile for a blob that makes no sense.
    """
    from et_tools.info import listing
    from et_vm.load.loader import BytesDataLoader
    from et_vm.program import Program

    del specs
    program = Program(BytesDataLoader(blob))
    values = listing.value_lines(listing.value_facts(program))
    instructions = listing.instruction_lines(listing.instruction_facts(program))
    return [line for line in (*values, *instructions) if line]
