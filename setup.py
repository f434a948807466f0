"""Packages: those found, and the folder `tools`, which is installed as `et_tools`.

Everything else is in pyproject.toml; its `packages.find` cannot rename a folder.
"""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["et_ops*", "et_schema*", "et_ir*", "et_vm*"]),
        "et_tools",
        *(f"et_tools.{package}" for package in find_packages("tools")),
    ],
    package_dir={"et_tools": "tools"},
)
