"""Constants of nested programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from et_schema.delegate_constants import DelegateConstant

__all__ = ["nested_constants"]


def nested_constants(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[DelegateConstant]:
    from et_tools.info.weights import constants
    from et_vm.load.loader import BytesDataLoader
    from et_vm.program import Program
    from et_vm.verify.tensors import tensor_data

    program = Program(BytesDataLoader(blob))
    for table, weight in constants(program):
        name: str = weight.get("name", "")
        key = name if weight["external"] else ""
        data = named.get(key) if key else tensor_data(table, weight["nbytes"], program.pte)
        yield DelegateConstant(
            weight["dtype"], weight["shape"], weight["nbytes"], key, data, "" if key else name
        )
