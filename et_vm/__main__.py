"""`python -m et_vm`: the command `et-vm`, which stands above this package and is found by name."""

from __future__ import annotations

from runpy import run_module

run_module("et_tools.et_vm", run_name="__main__")
