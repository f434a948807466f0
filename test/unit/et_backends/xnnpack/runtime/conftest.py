"""Runs the tests of delegates with each library of kernels."""

import pytest
from support import xnnpack_graphs

from et_backends.xnnpack.runtime import site
from et_vm.kernels.libraries import load_library


@pytest.fixture(params=["portable", "aten", "aten, always"], autouse=True)
def kernels(request, monkeypatch):
    """Compiled kernels are used where they take less time, and here, too, wherever there are any."""
    name, _, always = request.param.partition(",")
    monkeypatch.setattr(xnnpack_graphs, "KERNELS", load_library(name))
    if always:
        monkeypatch.setattr(site, "LARGE", 0)
