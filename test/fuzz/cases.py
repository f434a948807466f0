"""Cases by seed: a damaged input of a target, and what is a violation whatever the target."""

from __future__ import annotations

from contextlib import chdir, suppress
from functools import cache
from itertools import accumulate
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
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


def run_case(case: Case) -> str:
    """The outcome of a case, in a word. Raises Violation."""
    _warm_up(case.kind, case.base)
    return run_target(TARGETS[case.kind], case)


@cache
def _warm_up(kind: str, base: str) -> None:
    """Import what reading the good input needs, which takes time and memory once."""
    target = TARGETS[kind]
    with TemporaryDirectory() as folder, chdir(folder), suppress(*target.errors):
        target.read(Case(0, kind, base, target.inputs()[base]), Path(folder))


def run_target(target: Target, case: Case) -> str:
    """The outcome of reading a case's input within limits. Raises Violation."""
    with TemporaryDirectory() as folder:
        try:
            return limited(Path(folder), lambda: target.read(case, Path(folder)), starts=target.starts)
        except target.errors as error:
            if isinstance(error, ExecutorchError) and error.code is Error.Internal and error.__cause__:
                raise Violation(f"untyped: {error}") from error
            return type(error).__name__
        except (Exception, SystemExit) as error:
            if isinstance(error, Violation):
                raise
            raise Violation(f"{type(error).__name__}: {error}") from error
