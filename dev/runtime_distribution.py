"""Sources of the distribution `et-vm`: what runs programs, without the compiler.

It has `et_vm`, the command `et-vm`, and what these import, but for backends' compilers, for modules that cannot be
imported without a compiler, xDSL or torch, and for what only makes C sources. Where a module that stays imports one
that does not, it does so in a function, and the command says what to install:
`test/unit/dev/test_runtime_distribution.py` checks both.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from dev.import_graph import INSTALLED_AS, dependencies, file_of, imports, initializer, modules
from et_schema.distribution import RUNTIME_EXTRAS

__all__ = ["importing", "runtime_modules", "write_sources"]

LIBRARY: Final = "et_vm"
COMMAND: Final = "tools.et_vm"
SUBSTITUTE: Final = "tools.compiler_missing"
"""The commands that the distribution lacks."""
BACKENDS: Final = "et_backends"
AT_RUN_TIME: Final = ("constants", "format", "lines", "runtime", "validation")
"""The parts of a backend's package that run programs; its record has all."""
PACKAGES: Final = ("et_ops", "et_schema", LIBRARY, BACKENDS, "tools")
COMPILER: Final = ("et_ir", "torch", "xdsl")
"""Packages that nothing of the distribution is to need."""
BUILD: Final = "tools.vm_build"
"""The verb that makes a runtime for microcontrollers, where programs are compiled for them."""
BUILT_FROM: Final = "et_vm.micro"
"""The package of that verb, of which others need a part."""
READ_AS_THEY_ARE: Final = (".py", ".typed")
"""The suffixes of files that Python and its tools read; the others are compressed, for `et_ops.data_files`."""
_OWN_NAME: Final = "NAME: str = PROJECT\n", "NAME: str = RUNTIME\n"
"""The line of `et_schema/distribution.py` that differs."""


def runtime_modules(root: Path) -> dict[str, Path]:
    """The files of the modules that the distribution has, by their names."""
    files = modules(root, PACKAGES)
    compilers = {name for name in files if _is_compiler(name)}
    left_out = {BUILD, *compilers, *importing(files, {*COMPILER, *compilers})}
    graph = dependencies(root, PACKAGES, tests="")
    library = (name for name in files if _is_in(name, LIBRARY) and not _is_in(name, BUILT_FROM))
    rest = [COMMAND, SUBSTITUTE, *library]
    found: set[str] = set()
    while rest:
        name = rest.pop()
        if name not in found and name not in left_out:
            found.add(name)
            edges = graph[name] + graph.get(initializer(name), [])
            rest += [edge.module.removesuffix(".__init__") for edge in edges]
    return {name: files[name] for name in sorted(found)}


def _is_in(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _is_compiler(name: str) -> bool:
    """Whether a module is a part of a backend that only compiles programs."""
    package, *parts = name.split(".")
    return package == BACKENDS and len(parts) > 1 and parts[1] not in AT_RUN_TIME


def _loaded(name: str, files: Mapping[str, Path]) -> set[str]:
    """What a module imports when it is loaded."""
    return {each.module for each in imports(name, files) if not (each.is_deferred or each.is_for_types)}


def importing(files: Mapping[str, Path], packages: Iterable[str]) -> set[str]:
    """The modules that import one of some packages when they are loaded, themselves or by way of others."""
    outside = set(packages)
    loads: dict[str, set[str]] = {}
    for name in files:
        named = _loaded(name, files)
        loads[name] = {module.partition(".")[0] for module in named}
        for module in {*named, name}:
            target = file_of(module, files)
            if target is not None:  # the packages that it is in are loaded before it
                loads[name].update(accumulate(target.split("."), "{}.{}".format))
    found: set[str] = set()
    while True:
        more = {name for name in loads.keys() - found if loads[name] & (outside | found)}
        if not more:
            return found
        found |= more


def write_sources(root: Path, folder: Path) -> None:
    """Write what setuptools builds the distribution of: its modules and tables, and a pyproject.toml."""
    project, own = (_read(root / place / "pyproject.toml") for place in (".", "runtime"))
    patterns = project["tool"]["setuptools"]["package-data"]["*"]
    installed = {package: name for name, package in INSTALLED_AS.items()}
    shipped = runtime_modules(root)
    for file in (*shipped.values(), *_data_files(set(shipped.values()), patterns)):
        package, *rest = file.relative_to(root).parts
        copy = folder.joinpath(installed.get(package, package), *rest)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix in READ_AS_THEY_ARE:
            shutil.copyfile(file, copy)
        else:
            copy.with_name(f"{copy.name}.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
    distribution = folder / "et_schema" / "distribution.py"
    text = distribution.read_text(encoding="utf-8")
    assert text.count(_OWN_NAME[0]) == 1
    distribution.write_text(text.replace(*_OWN_NAME), encoding="utf-8")
    shutil.copyfile(root / "LICENSE", folder / "LICENSE")
    shutil.copyfile(root / "runtime" / "README.md", folder / "README.md")
    built = {
        "build-system": {
            "requires": own["build-system"]["requires"],
            "build-backend": "setuptools.build_meta",
        },
        **_metadata(project["project"], own["project"], shipped),
        "tool.setuptools.packages.find": {"include": [f"{package}*" for package in _tops(folder)]},
        "tool.setuptools.package-data": {"*": [*patterns, "*.gz"]},
    }
    lines = [line for name, table in built.items() for line in (f"[{name}]", *_toml(table), "")]
    (folder / "pyproject.toml").write_text("\n".join(lines), encoding="utf-8")


def _data_files(modules: set[Path], patterns: Iterable[str]) -> Iterator[Path]:
    """The data files beside modules, but for those of another module of the same name."""
    for folder in sorted({module.parent for module in modules}):
        for file in sorted(folder.iterdir()):
            module = file.with_suffix(".py")
            is_used = module in modules or not module.exists()
            if is_used and any(fnmatch(file.name, pattern) for pattern in patterns):
                yield file


def _metadata(
    project: Mapping[str, Any], own: Mapping[str, Any], shipped: Mapping[str, Path]
) -> dict[str, Mapping[str, Any]]:
    """The tables of `[project]`: its own fields, and the dynamic ones of the whole project.

    What modules import when they are loaded is required, though the project has it in an extra.
    """
    fields = {name: value for name, value in own.items() if name != "dynamic"}
    fields |= {name: project[name] for name in own["dynamic"]}
    extras, scripts = fields.pop("optional-dependencies"), fields.pop("scripts")
    loaded = {module.partition(".")[0] for name in shipped for module in _loaded(name, shipped)}
    fields["dependencies"] = [
        *fields["dependencies"],
        *(text for text in extras["compiler"] if re.split(r"\W", text, maxsplit=1)[0] in loaded),
    ]
    substitute = SUBSTITUTE.replace("tools.", "et_tools.")
    points = project.get("entry-points", {})
    return {
        "project": fields,
        "project.optional-dependencies": {extra: extras[extra] for extra in RUNTIME_EXTRAS},
        "project.scripts": {
            command: place
            if place.partition(":")[0].replace("et_tools.", "tools.") in shipped
            else f"{substitute}:main"
            for command, place in scripts.items()
        },
        **{
            f"project.entry-points.{json.dumps(group)}": there
            for group, named in points.items()
            if (there := {name: place for name, place in named.items() if place.partition(":")[0] in shipped})
        },
    }


def _tops(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


def _toml(table: Mapping[str, Any]) -> Iterator[str]:
    """Lines of keys with strings and lists of strings, which are the same in JSON."""
    yield from (f"{json.dumps(key)} = {json.dumps(value)}" for key, value in table.items())


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))
