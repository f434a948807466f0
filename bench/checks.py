"""Minutes that the checks of a change take: `make check`, `make test` and `.ci/run`.

    python -m bench.checks              all, in a fresh clone of HEAD: 50 minutes, and a download of what the tests need
    python -m bench.checks check test   some of them

`check` is `make check` after a change of a file that most others import, `pages` is `.ci/run` after a change of a page
alone, `test` is `make test`, and `ci` is `.ci/run` where no commit has passed before. The clone has an environment of
its own and nothing kept by earlier runs; it is installed before, and that is not part of the figures. All run on two
cores. Goals: 1.5, 2, 8 and 30 minutes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from bench.figures import ROOT
from bench.measure import environment, print_table, verdict

CORES: Final = 2
COMMANDS: Final = {
    "check": ("make", "check"),
    "pages": (".ci/run",),
    "test": ("make", "test"),
    "ci": (".ci/run",),
}
CHANGED: Final = {
    "check": ("et_ir/dialects/schema/tensors.py", "\n\nCHANGED = True\n"),
    "pages": ("docs/vm.md", "\nA sentence.\n"),
}
"""A file that is changed for a command, and what is appended to it."""
GOALS: Final = {"check": 1.5, "pages": 2.0, "test": 8.0, "ci": 30.0}


def clone(folder: Path) -> dict[str, str]:
    """A clone of HEAD with an environment; returns the variables that its commands run with."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    # Without the caches of this user: a first run must keep to its time, too.
    variables = {**environment(), "XDG_CACHE_HOME": str(folder / "build" / "cache")}
    variables |= {"PYTEST_XDIST_AUTO_NUM_WORKERS": str(CORES)}
    subprocess.run(
        ["make", ".venv/.test", "tosa-tools"], check=True, cwd=folder, env=variables, stdout=sys.stderr
    )
    return variables


def minutes(name: str, folder: Path, variables: dict[str, str]) -> float:
    """The minutes that a command takes in the clone. Raises CalledProcessError when it fails."""
    if name in CHANGED:
        path, text = CHANGED[name]
        with (folder / path).open("a", encoding="utf-8") as file:
            file.write(text)
        variables = {**variables, "BASE": "HEAD"}
    start = time.perf_counter()
    subprocess.run(COMMANDS[name], check=True, cwd=folder, env=variables, stdout=sys.stderr)
    taken = (time.perf_counter() - start) / 60
    subprocess.run(["git", "checkout", "--quiet", "."], check=True, cwd=folder)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.checks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", nargs="*", help=f"of {', '.join(COMMANDS)}; all unless given")
    options = parser.parse_args()
    for name in options.command:
        if name not in COMMANDS:
            parser.error(f"there is no command {name}; there are {', '.join(COMMANDS)}")
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory(prefix="checks-") as place:
        folder = Path(place) / "clone"
        variables = clone(folder)
        for name in options.command or COMMANDS:
            taken = minutes(name, folder, variables)
            rows.append([" ".join(COMMANDS[name]), f"{taken:.1f}", verdict(taken, GOALS[name])])
    print_table(["command", "minutes", "goal"], rows)


if __name__ == "__main__":
    main()
