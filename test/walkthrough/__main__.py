"""Follow the documentation as a new user does: `python -m walkthrough` with `test` on the path.

    python -m walkthrough                          all pages
    python -m walkthrough docs/tutorials/dialect.md
    python -m walkthrough --packages FOLDER        third-party packages from FOLDER instead of the package index
    python -m walkthrough --rewrite                write the outputs that there are now into the pages

The wheel is built and installed into an environment of its own, as the README says, in the versions of constraints.txt.
Each page is then followed in an empty folder: nothing of the checkout is on the path. The exit code is 1 when a step
failed, which is named by page and line. `--rewrite` uses the environment that runs it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support.repetition import command

from walkthrough.pages import (
    PAGES,
    ROOT,
    Failure,
    follow,
    name_of,
    rewrite,
    run,
    script,
    sessions,
    with_commands_of,
)

PACKAGES = ("et_backends", "et_ir", "et_ops", "et_schema", "et_tools", "et_vm")
EXTRAS = "compiler,lit,native"
COMMANDS = ("lit", "filecheck")
"""Packages of those extras that pages run as commands, which stand beside the interpreter they were installed by."""
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "*.pyi", "build", "dist", "test")
"""What lies around in a checkout and must not get into the wheel."""


def say(text: str, start: float) -> None:
    """Progress on standard error."""
    print(f"walkthrough: {text}: {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)


def build_wheel(folder: Path) -> Path:
    """The wheel of a copy of the checkout, made by way of the source distribution."""
    shutil.copytree(ROOT, folder / "checkout", ignore=LEFT_OUT)
    line = [sys.executable, "-m", "build", "--outdir", str(folder), str(folder / "checkout")]
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout}{done.stderr}walkthrough: the wheel was not built")
    [wheel] = folder.glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path, packages: Path | None) -> dict[str, str]:
    """A new environment with the wheel; returns the environment variables of a shell that has entered it.

    `packages` is a folder that has what the wheel depends on. If it also has the project, the wheel comes first.
    """
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--constraint", str(ROOT / "constraints.txt")]
    what = [f"{wheel}[{EXTRAS}]"] if packages is None else ["--no-deps", str(wheel), *COMMANDS]
    done = subprocess.run([*pip, *what], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout}{done.stderr}walkthrough: the wheel was not installed")
    if packages is not None:
        [site] = folder.glob("lib/python*/site-packages")
        (site / "packages.pth").write_text(f"{packages.resolve()}\n", encoding="utf-8")
    return with_commands_of(folder / "bin")


def check_origin(environment: Mapping[str, str], installed: Path, folder: Path) -> None:
    """Raise AssertionError if a package of the project is not the installed one, or the path has the checkout."""
    files = ", ".join(f"{name}.__file__" for name in PACKAGES)
    code = f"import {', '.join(PACKAGES)}, sys; print({files}, *sys.path, sep='|', end='')"
    found = run(f'python -c "{code}"', folder, environment).split("|")
    outside = [file for file in found[: len(PACKAGES)] if not Path(file).is_relative_to(installed)]
    assert not outside, f"imported from elsewhere: {outside}"
    assert str(ROOT) not in found, f"the checkout is on the path: {found}"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m walkthrough", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE", help="default: all that have steps")
    parser.add_argument(
        "--packages", type=Path, metavar="FOLDER", help="folder with the third-party packages"
    )
    parser.add_argument(
        "--rewrite", action="store_true", help="write the outputs that there are now into the pages"
    )
    args = parser.parse_args()
    pages = [page for page in PAGES if sessions(page) or script(page)]
    if args.pages:
        named = {page.resolve() for page in args.pages}
        for page in sorted(named.difference(pages)):
            print(f"walkthrough: {name_of(page)} has no steps", file=sys.stderr)
        pages = [page for page in pages if page in named]
        if not pages:
            return 0
    packages = [] if args.packages is None else ["--packages", str(args.packages)]
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="walkthrough-") as scratch:
        place = Path(scratch).resolve()
        if args.rewrite:
            environment = with_commands_of(Path(sys.executable).parent)
        else:
            wheel = build_wheel(place / "wheel")
            say(f"built {wheel.name}", start)
            environment = install(wheel, place / "environment", args.packages)
            check_origin(environment, place / "environment", place)
            say("installed", start)

        def go(page: Path) -> Failure | None:
            since = time.perf_counter()
            folder = place / f"{page.parent.name}-{page.stem}"
            folder.mkdir()
            if args.rewrite:
                rewrite(page, folder, environment)
                say(name_of(page), since)
                return None
            try:
                count = follow(page, folder, environment)
            except Failure as failure:
                again = command("walkthrough", [name_of(page), *packages])
                print(failure, again, sep="\n", file=sys.stderr, flush=True)
                return failure
            say(f"{name_of(page)}, commands run: {count}", since)
            return None

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            failures = [failure for failure in pool.map(go, pages) if failure]
    say(f"{len(failures)} of {len(pages)} pages cannot be followed" if failures else "all pages", start)
    if failures:
        again = [name_of(failure.page) for failure in failures]
        print(command("walkthrough", [*again, *packages]), file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
