"""Backends of one's own file."""

import sys
from types import ModuleType

import pytest

from et_schema.errors import Error, ExecutorchError
from et_vm.backend import Backend
from et_vm.backends.loading import backends_of


def module_with(*classes) -> ModuleType:
    module = ModuleType("mine")
    for cls in classes:
        cls.__module__ = "mine"
        setattr(module, cls.__name__, cls)
    module.Backend = Backend
    module.sys = sys
    return module


class One(Backend):
    backend_id = "One"

    def init(self, context, processed, compile_specs):
        return None

    def execute(self, context, handle, args):
        return None


def make(name, **members):
    return type(name, (One,), members)


def test_those_with_an_id():
    one, nameless = make("A"), make("B", backend_id="")
    found = backends_of(module_with(one, nameless))
    assert list(found) == ["One"]
    assert isinstance(found["One"], one)


def test_two_of_one_id():
    with pytest.raises(ExecutorchError, match="two backends have the id 'One'") as caught:
        backends_of(module_with(make("A"), make("B")))
    assert caught.value.code is Error.RegistrationAlreadyRegistered
    assert caught.value.where == "mine.B"


def test_one_that_cannot_be_made():
    def fails(self):
        raise OSError("no device")

    with pytest.raises(ExecutorchError, match="the backend 'One' cannot be created: OSError: no device"):
        backends_of(module_with(make("A", __init__=fails)))
