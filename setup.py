"""What pyproject.toml cannot say: the folder `tools` is installed as `et_tools`, and the description is the README with
the words, but not the targets, of its links into the repository.
"""

import re
from pathlib import Path

from setuptools import find_packages, setup

README = Path(__file__).with_name("README.md").read_text(encoding="utf-8")

setup(
    long_description=re.sub(r"\[([^\]]+)\]\((?!https:)[^)]*\)", r"\1", README),
    long_description_content_type="text/markdown",
    packages=[
        *find_packages(include=["et_ops*", "et_schema*", "et_ir*", "et_vm*", "et_backends*", "et_sweep*"]),
        "et_tools",
        *(f"et_tools.{package}" for package in find_packages("tools")),
    ],
    package_dir={"et_tools": "tools"},
)
