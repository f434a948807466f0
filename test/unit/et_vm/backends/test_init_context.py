"""Requirements and constants of the context that backends are initialized with."""

from __future__ import annotations

import pytest

from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_vm.backend import BackendInitContext, NativeOptions
from et_vm.platform import Platform


def context(*, allowed: bool = False) -> BackendInitContext:
    data = {"weights": memoryview(bytes(8))}
    return BackendInitContext(Platform(), None, "forward", data, native=NativeOptions(allowed=allowed))


def test_machine_code_has_to_be_allowed() -> None:
    context(allowed=True).require_native("shaders")
    with pytest.raises(ExecutorchError, match=r"the file holds shaders; .* allow_native=True") as caught:
        context().require_native("shaders")
    assert caught.value.code is Error.NotSupported


@pytest.mark.parametrize("nbytes", [0, 7, 8])
def test_constants(nbytes: int) -> None:
    assert context().constant("weights", nbytes, "constants[0]").nbytes == 8


@pytest.mark.parametrize(("key", "nbytes"), [("weights", 9), ("others", 0)])
def test_constants_that_are_not_there(key: str, nbytes: int) -> None:
    with pytest.raises(InvalidFile, match=f"no data named '{key}' of {nbytes} bytes") as caught:
        context().constant(key, nbytes, "constants[3]")
    assert (caught.value.code, caught.value.where) == (Error.DelegateInvalidCompatibility, "constants[3]")
