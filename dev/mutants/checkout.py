"""The copy that is tested: sources of one revision with switches, tests of another."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dev.mutants import switch
from dev.mutants.instrumentation import MODULE

__all__ = ["EXTRA", "Checkout"]

EXTRA: Final = ".mutants"
"""A folder of the copy on Python's path: links for packages that are installed under another name."""
_OF_TESTS: Final = ("test", "dev", "pyproject.toml", "Makefile")
_TOOL: Final = Path("dev/mutants")


class Checkout:
    """A copy of a checkout without what git ignores.

    Args:
        folder: where it goes; what is there and not in the checkouts is deleted, but for caches of tests.
        sources: the checkout that is copied.
        tests: the checkout from which its tests are, and the settings of pytest.
        installed: names under which folders of the checkout are installed, where they are others.
    """

    def __init__(self, folder: Path, sources: Path, tests: Path, installed: Mapping[str, str]) -> None:
        self.folder = folder
        self._sources = sources
        self._tests = tests
        self._installed = installed

    def write(self, changed: Mapping[str, str], packages: list[str]) -> str:
        """Write the copy with these texts in the place of those of the checkout; returns a digest of all.

        Args:
            changed: texts by path.
            packages: the folders that get a switch.
        """
        wanted: dict[Path, Path] = {}
        for name in _files(self._sources):
            if not _is_of_tests(name):
                wanted[name] = self._sources / name
        for name in _files(self._tests):
            if _is_of_tests(name):
                wanted[name] = self._tests / name
        # The pytest plugin is this one, also where the revision has none.
        for file in sorted(Path(switch.__file__).parent.glob("*.py")):
            wanted[_TOOL / file.name] = file
        wanted.setdefault(_TOOL.parent / "__init__.py", Path(switch.__file__).parents[1] / "__init__.py")
        for package in packages:
            wanted[Path(package) / f"{MODULE}.py"] = Path(switch.__file__)
        digest = hashlib.sha256()
        for name, source in sorted(wanted.items()):
            target = self.folder / name
            content = source.read_bytes()
            if str(name) in changed:
                content = changed[str(name)].encode()
            elif name.name == "lit.cfg.py":
                content += _LIT.encode()
            digest.update(json.dumps([str(name), len(content)]).encode() + content)
            if not target.exists() or target.read_bytes() != content:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                shutil.copymode(source, target)
        self._delete_others(wanted)
        if (self._sources / ".git").exists():
            # Tests ask git for the files.
            for words in (["init", "-q"], ["add", "--all", "."]):
                subprocess.run(["git", *words], cwd=self.folder, check=True, capture_output=True)
        extra = self.folder / EXTRA
        extra.mkdir(exist_ok=True)
        for name, alias in self._installed.items():
            link = extra / alias
            if (self.folder / name).is_dir() and not link.is_symlink():
                link.symlink_to(Path("..") / name)
        return digest.hexdigest()

    def _delete_others(self, wanted: Mapping[Path, Path]) -> None:
        for path in self.folder.rglob("*"):
            name = path.relative_to(self.folder)
            if name not in wanted and not path.is_dir() and not name.parts[0].startswith("."):
                if path.suffix == ".pyc":
                    continue
                path.unlink()


_LIT: Final = """
# Added by dev.mutants.
from dev.mutants import lit_reach

lit_reach.configure(config)
"""


def _is_of_tests(name: Path) -> bool:
    return name.parts[0] in _OF_TESTS


def _files(root: Path) -> list[Path]:
    """What git knows or would know, sorted; without git all files."""
    if not (root / ".git").exists():
        return sorted(path.relative_to(root) for path in root.rglob("*") if path.is_file())
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        check=True,
    )
    names = sorted({Path(name.decode()) for name in done.stdout.split(b"\0") if name})
    return [name for name in names if (root / name).is_file()]
