"""Cases by seed: a damaged input of a target, and what is a violation whatever the target."""

from __future__ import annotations

from contextlib import chdir, suppress
from itertools import accumulate
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Final

from et_schema.errors import Error, ExecutorchError
from fuzz import commands, files, models, program_files
from fuzz.limits import limited
from fuzz.targets import Case, Target, Violation

__all__ = ["TARGETS", "make_case", "run_case"]

TARGETS: Final[dict[str, Target]] = program_files.TARGETS | files.TARGETS | models.TARGETS | commands.TARGETS
"""By name, which is the kind of a case."""

_NAMES: Final = list(TARGETS)
_SHARES: Final = list(accumulate(target.share for target in TARGETS.values()))


def make_case(seed: int, kinds: tuple[str, ...] = ()) -> Case:
    """The case of a seed: always the same. It is of one of `kinds`, where some are given."""
    random = Random(seed)
    (kind,) = random.choices(kinds) if kinds else random.choices(_NAMES, cum_weights=_SHARES)
    target = TARGETS[kind]
    inputs = target.inputs()
    base = random.choice(list(inputs))
    return Case(seed, kind, base, target.damage(base, inputs[base], random))


def run_case(case: Case, folder: Path) -> str:
    """The outcome of a case, in a word, which is run in an empty folder. Raises Violation."""
    _warm_up(case.kind, case.base, folder)
    return run_target(TARGETS[case.kind], case, folder)


_warm = set[tuple[str, str]]()


def _warm_up(kind: str, base: str, folder: Path) -> None:
    """Import what reading the good input needs, which takes time and memory once."""
    if (kind, base) in _warm:
        return
    _warm.add((kind, base))
    target = TARGETS[kind]
    try:
        with chdir(folder), suppress(*target.errors):
            target.read(Case(0, kind, base, target.inputs()[base]), folder)
    finally:
        _empty(folder)


def run_target(target: Target, case: Case, folder: Path) -> str:
    """The outcome of reading a case's input within limits. Raises Violation."""
    try:
        return limited(folder, lambda: target.read(case, folder), starts=target.starts)
    except target.errors as error:
        if isinstance(error, ExecutorchError) and error.code is Error.Internal and error.__cause__:
            raise Violation(f"untyped: {error}") from error
        return type(error).__name__
    except Violation:
        raise
    except (Exception, SystemExit) as error:
        raise Violation(f"{type(error).__name__}: {error}") from error
    finally:
        _empty(folder)


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            rmtree(path)
        else:
            path.unlink()
