"""Time until a browser has drawn the report of a program of 5,000 instructions.

    python -m bench.report_page [--count N] [--rounds N]

The times are the browser's own, in milliseconds since the navigation: until the scripts have ended, and until their
drawing was on the screen. Each round opens the page anew. The pages are without modules, and with modules of 50
instructions; rows are the sections that lay out all instructions. The goal is 2 s. Below are the bytes of each page,
the time to write it, which includes the layout of the graph, and the time of a frame while the graph is moved.
"""

from __future__ import annotations

import argparse
import io
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from bench.measure import print_table, progress, verdict

GOAL: Final = 2.0
SECTIONS: Final = ("graph", "instructions", "memory", "levels", "profile")


FRAMES: Final = """(async () => {
  fitGraph();
  const frame = () => new Promise(requestAnimationFrame);
  await frame();
  const start = performance.now();
  for (let count = 0; count < 20; count++) { view.x += 1; drawGraph(); await frame(); }
  return (performance.now() - start) / 20;
})()"""
"""Milliseconds of a frame with all nodes in view, 16.7 at least."""


def additions(count: int) -> str:
    """A program of the level `executorch`: additions in rows of 50 that are independent of each other, all in place."""
    lines = ["builtin.module {", f"  executorch.plan @forward {{arenas = array<i64: {64 * 51}>}} {{"]
    lines.append("    %x = executorch.input {memory_id = 1, offset = 0} : tensor<16xf32>")
    place = "executorch.alloc {{memory_id = 1, offset = {}}} : tensor<16xf32>"
    lines += [f"    %r{at} = {place.format(64 * (at + 1))}" for at in range(50)]
    for at in range(count):
        first = "%x" if at < 50 else f"%r{at % 50}"
        lines.append(f'    executorch.kernel_call "aten::add.out"({first}, %x, 1) outs(%r{at % 50})')
    return "\n".join([*lines, "    executorch.return %r49", "  }", "}", ""])


def layers(count: int) -> dict[str, list[dict[str, Any]]]:
    """A debug map of that program, with a module for each row."""
    rows = [{"instruction": at, "module": f"layer.{at // 50}", "source": []} for at in range(count)]
    return {"forward": rows}


def pages(count: int, folder: Path) -> dict[str, tuple[Path, float]]:
    """The pages without and with modules, and the seconds that writing each took."""
    from et_tools.et_translate import main as translate
    from et_tools.et_vm import main as run

    text, program, debug_map = folder / "net.mlir", folder / "net.pte", folder / "map.json"
    levels, times = folder / "levels", folder / "times.json"
    levels.mkdir()
    text.write_text(additions(count))
    (levels / "executorch.mlir").write_text(additions(count))
    debug_map.write_text(json.dumps(layers(count)))
    assert translate(["--mlir-to-pte", str(text), "-o", str(program)]) == 0
    output, sys.stdout = sys.stdout, io.StringIO()
    try:
        assert run(["profile", str(program), "--repeat", "2", "--json"]) == 0
        times.write_text(sys.stdout.getvalue())
    finally:
        sys.stdout = output
    found: dict[str, tuple[Path, float]] = {}
    for name, options in {"without modules": [], "with modules": ["--debug-map", str(debug_map)]}.items():
        page = folder / f"{name}.html"
        more = ["--levels", str(levels), "--profile", str(times), "-o", str(page)]
        start = time.perf_counter()
        assert run(["report", str(program), *options, *more]) == 0
        found[name] = page, time.perf_counter() - start
    return found


def main() -> int:
    from dev.browser import Browser, find_browser

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=5000, help="instructions (default: 5000)")
    parser.add_argument("--rounds", type=int, default=5, help="times that each page is opened (default: 5)")
    options = parser.parse_args()
    command = find_browser()
    if command is None:
        print("bench.report_page: no chromium (Debian: chromium)", file=sys.stderr)
        return 2
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        made = pages(options.count, Path(folder))
        times: dict[tuple[str, str], list[list[float]]] = {}
        with Browser(command) as browser:
            for section in progress([one for _ in range(options.rounds) for one in SECTIONS], "pages"):
                for name, (page, _) in made.items():
                    browser.open(page, f"section={section}")
                    script = "(({ready, painted}) => [ready, painted].map(Number))(document.documentElement.dataset)"
                    times.setdefault((section, name), []).append(browser.run(script))
            frames: dict[str, list[float]] = {}
            for name, (page, _) in made.items():
                for link in ("section=graph", f"section=graph&node=0.forward.{options.count // 2}"):
                    browser.open(page, link)
                    frames.setdefault(name, []).append(browser.run(FRAMES))
            assert not browser.complaints, browser.complaints
        for section in SECTIONS:
            cells = [section]
            for name in made:
                ready, painted = (
                    statistics.median(column) / 1e3 for column in zip(*times[section, name], strict=True)
                )
                cells += [f"{ready * 1e3:.0f} ms", f"{painted * 1e3:.0f} ms", verdict(painted, GOAL)]
            rows.append(cells)
        heads = [head for name in made for head in (f"ready, {name}", "drawn", "goal, s")]
        print_table(["section", *heads], rows)
        print()
        print_table(
            ["page", "bytes", "time to write", "frame", "frame, a node chosen"],
            [
                [
                    name,
                    f"{page.stat().st_size:,}",
                    f"{seconds:.2f} s",
                    *(f"{one:.1f} ms" for one in frames[name]),
                ]
                for name, (page, seconds) in made.items()
            ],
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
