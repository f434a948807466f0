"""Report pages in a browser: labels in their boxes, shapes, names and counts."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.report_browser import open_browser

from dev.browser import Browser
from et_tools.et_vm import main

SUBJECT = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.mixing = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))

    def forward(self, x):
        return x + self.mixing(self.norm(x))

class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.embedding_of_the_words = nn.Embedding(12, 8)
        self.layers = nn.Sequential(*(Block() for _ in range(depth)))

    def forward(self, words):
        return self.layers(self.embedding_of_the_words(words))

def net():
    torch.manual_seed(0)
    return Net(9).eval(), (torch.zeros(1, 4, dtype=torch.int64),)

def small():
    torch.manual_seed(0)
    return Net(2).eval(), (torch.zeros(1, 4, dtype=torch.int64),)
"""
OPTIONS = {
    "kernels": ("drawn.py:net", "--measure", "2"),
    "xnnpack": ("drawn.py:small", "--compile", "--backend xnnpack"),
    "native": ("drawn.py:small", "--compile", "--backend native"),
    "differences": ("small.pte", "xnnpack.pte"),
}
SIZES = ((1280, 800), (2560, 1440))


class Written(NamedTuple):
    """A page, and what it is made of."""

    page: Path
    facts: dict[str, Any]

    @property
    def program(self) -> dict[str, Any]:
        return self.facts["programs"][0]


class Reports:
    """Reports of the programs, each written when it is first asked for."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._known: dict[str, Written] = {}
        (folder / "drawn.py").write_text(SUBJECT)

    def __getitem__(self, name: str) -> Written:
        if name not in self._known:
            page = self._folder / f"{name}.html"
            run_quietly("report", *OPTIONS[name], "-o", str(page))
            data = page.read_text().partition('id="data">')[2].partition("</script>")[0]
            self._known[name] = Written(page, json.loads(data))
        return self._known[name]


def run_quietly(*line: str) -> str:
    said = io.StringIO()
    with redirect_stderr(said):
        assert main(list(line)) == 0, said.getvalue()
    return said.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def made(folder: Path) -> Reports:
    return Reports(folder)


@pytest.fixture
def reports(made: Reports, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reports]:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    yield made
    sys.modules.pop("drawn", None)


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def browser(opened: Browser) -> Browser:
    opened.resize(*SIZES[0])
    opened.prefer("light")
    return opened


def labels_of(browser: Browser, expression: str = "view.labels") -> list[dict[str, Any]]:
    return browser.run(expression)


def check_containment(labels: list[dict[str, Any]]) -> None:
    for one in labels:
        x, y, width, height = one["box"]
        assert x <= one["x"], one
        assert one["x"] + one["width"] <= x + width, one
        assert y - 0.5 <= one["y"], one
        assert one["y"] + one["height"] <= y + height + 0.5, one


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_labels_are_inside_their_boxes(
    reports: Reports, browser: Browser, width: int, height: int, scheme: str
) -> None:
    browser.resize(width, height)
    browser.prefer(scheme)
    browser.open(reports["kernels"].page, "section=graph")
    seen: set[str] = set()
    for factor in (1, 0.5, 3, 2.5, 2):
        browser.run(f"zoomGraph({factor}, 500, 400)")
        browser.settle()
        labels = labels_of(browser)
        check_containment(labels)
        seen |= {one["whole"] for one in labels}
    assert "native_layer_norm" in seen
    browser.open(reports["kernels"].page, "section=memory")
    named = labels_of(browser, "document.querySelector('canvas').labels")
    check_containment(named)
    assert named


def test_titles_of_modules_are_above_what_is_in_them(reports: Reports, browser: Browser) -> None:
    browser.resize(*SIZES[1])
    browser.open(reports["kernels"].page, "section=graph")
    script = """(() => {
      const { nodes, modules } = method().graph, shut = closedModules(modules);
      const within = (at) => [...nodes, ...modules].filter((box) => box[4] === at);
      return modules.flatMap((module, at) => (shut[at] >= 0 ? [] :
        [[module[6], Math.min(...within(at).map((box) => box[1] - module[1])), module[6] * view.scale]]));
    })()"""
    found = browser.run(script)
    assert found
    for strip, first, shown in found:
        assert strip <= first
        assert shown >= 14


def test_closed_modules_have_their_class_and_operators(reports: Reports, browser: Browser) -> None:
    written = reports["kernels"]
    classes = written.program["methods"][0]["classes"]
    assert classes["layers"] == "Sequential"
    assert classes["layers.3"] == "Block"
    assert classes["layers.3.mixing.1"] == "ReLU"
    browser.open(written.page, "section=graph")
    labels = [one["whole"] for one in labels_of(browser)]
    for at in range(9):
        assert f"layers.{at}: Block" in labels
    assert sum("mm ×2" in label for label in labels) == 9
    assert not [label for label in labels if label.isdecimal()]
    assert any(label.startswith("input words") for label in labels)
    tip = browser.run("moduleTip(method().graph.modules.findIndex((one) => one[5] === 'layers.3'))")
    assert tip.startswith("layers.3: Block\n")
    assert "relu" in tip


def test_clicks_open_what_is_closed(reports: Reports, browser: Browser) -> None:
    browser.open(reports["kernels"].page, "section=graph")
    at = browser.run("method().graph.modules.findIndex((one) => one[5] === 'layers.3.mixing')")
    shut = f"closedModules(method().graph.modules)[{at}]"
    assert browser.run(shut) == at
    browser.run(f"toggleModule({at})")
    browser.settle()
    assert browser.run(shut) == -1
    assert "layers.3.mixing: Sequential" in [one["whole"] for one in labels_of(browser)]
    browser.run(f"toggleModule({at})")
    browser.settle()
    assert browser.run(shut) == at


def test_shapes_of_edges(reports: Reports, browser: Browser) -> None:
    browser.open(reports["kernels"].page, "section=graph&node=0.forward.3")
    browser.press("Escape")
    script = """(() => {
      const place = byId("graph").getBoundingClientRect();
      const [at, [[ax, ay, bx, by, cx, cy, dx, dy]]] = view.curves.find(([at, parts]) => parts.length === 1 &&
        method().edges[at][1] === 3 && method().edges[at][0] < method().instructions.length);
      const middle = (a, b, c, d) => (a + 3 * b + 3 * c + d) / 8;
      return [at, place.left + middle(ax, bx, cx, dx), place.top + middle(ay, by, cy, dy)];
    })()"""
    at, x, y = browser.run(script)
    browser.hover(x, y)
    one = reports["kernels"].program["methods"][0]
    source, target, register = one["edges"][at]
    tip = browser.run("document.querySelector('#tip').textContent")
    first, second = (f"{node}: {one['instructions'][node]['op']}" for node in (source, target))
    assert tip == f"{first} → {second}\n    %{register}  {one['values'][register]['text']}"
    assert "float32 [" in tip
    browser.hover(5, 5)
    assert browser.run("view.lit") == -1


def rows_of(browser: Browser, selector: str) -> list[list[str]]:
    texts = "(row) => [...row.children].map((cell) => cell.textContent)"
    return browser.run(f"[...document.querySelectorAll({json.dumps(selector)})].map({texts})")


def test_columns_of_instructions(reports: Reports, browser: Browser) -> None:
    written = reports["kernels"]
    browser.open(written.page, "section=instructions")
    head, *rows = rows_of(browser, ".row")
    assert head == ["#", "Instruction", "Results", "Module", "Source", "Time"]
    method = written.program["methods"][0]
    assert len(rows) == method["count"]
    for row, one in zip(rows, method["instructions"], strict=True):
        assert row[2] == ", ".join(method["values"][register]["text"] for register in one["writes"])
        assert row[2].startswith("float32 [")
        assert row[3] == one["module"]
        assert row[4].startswith("drawn.py:")
        assert re.fullmatch(r"[\d.]+ (µs|ms)", row[5])
    browser.open(reports["xnnpack"].page, "section=instructions")
    assert rows_of(browser, ".row.head") == [["#", "Instruction", "Results", "Module", "Source"]]


def test_counts_are_those_of_the_compiler(reports: Reports, browser: Browser) -> None:
    from et_tools.et_compile import main as compile_main

    said = io.StringIO()
    with redirect_stderr(said):
        assert compile_main(["drawn.py:small", "--backend", "xnnpack", "-o", "counted.pte"]) == 0
    counts = dict(re.findall(r"^([\w-]+) +[\d.]+ ms +(\d+) ops?$", said.getvalue(), re.MULTILINE))
    written = reports["xnnpack"]
    assert {level["name"]: str(level["count"]) for level in written.program["levels"]} == counts
    assert len(counts) == 5
    browser.open(written.page, "section=overview")
    text = browser.run("document.querySelector('main').innerText")
    assert "Ops by level" in text
    for name, count in counts.items():
        assert f"{name}\t{count}" in text
    browser.open(written.page, "section=levels")
    heads = dict(
        re.fullmatch(r"([\w-]+) (\d+) ops?", head).groups()  # pyright: ignore[reportOptionalMemberAccess]
        for head in browser.run(
            "[...document.querySelectorAll('.level h3')].map((one) => one.textContent.trim())"
        )
    )
    assert heads == {name: counts[name] for name in ("aten", "backend", "executorch")}


def test_names_of_inputs(reports: Reports, browser: Browser) -> None:
    browser.open(reports["xnnpack"].page, "section=overview")
    assert ["input 0", "words", "int64 [1, 4]"] in rows_of(browser, "tbody tr")


def test_levels_open_on_code(reports: Reports, browser: Browser) -> None:
    for width, height in SIZES:
        browser.resize(width, height)
        browser.open(reports["xnnpack"].page, "section=levels")
        script = """(() => {
          const top = (element) => element.getBoundingClientRect().top;
          return [...document.querySelectorAll('.text')].map((text) => [...text.querySelectorAll('.line')]
            .find((line) => top(line) >= top(text) - 1).textContent.trim());
        })()"""
        first = browser.run(script)
        assert [line.split(" @")[0] for line in first] == ["func.func", "func.func", "executorch.plan"]


def test_weights_of_delegates(reports: Reports, browser: Browser) -> None:
    weights = {
        **{
            f"layers.{at}.mixing.{layer}.{part}": ("float32", shape)
            for at in range(2)
            for layer, part, shape in (
                (0, "weight", [16, 8]),
                (0, "bias", [16]),
                (2, "weight", [8, 16]),
                (2, "bias", [8]),
            )
        },
    }
    written = reports["xnnpack"]
    found = {one["name"]: one for one in written.program["weights"] if one.get("delegate") and "name" in one}
    for name, (dtype, shape) in weights.items():
        one = found[name]
        assert (one["dtype"], one["shape"], one["delegate"]) == (dtype, shape, "XnnpackBackend")
        assert sum(one["histogram"]["bins"]) == one["histogram"]["of"] == one["nbytes"] // 4
    browser.open(written.page, "section=weights")
    shown = {row[1] for row in rows_of(browser, "tbody tr") if len(row) == 6}
    assert weights.keys() <= shown
    native = reports["native"].program
    decoded = "\n".join(native["delegates"][0]["contents"])
    known = re.search(r"(\d+) constants: ([\d,]+) bytes of named data", decoded)
    assert known is not None
    listed = [one for one in native["weights"] if one.get("delegate") == "NativeBackend"]
    assert len(listed) == int(known[1])
    assert sum(one["nbytes"] for one in listed) == int(known[2].replace(",", ""))
    names = {one["name"] for one in listed if "name" in one}
    assert {f"layers.{at}.mixing.{layer}.packed" for at in range(2) for layer in (0, 2)} <= names


def test_weights_that_a_delegate_takes_are_not_gone(reports: Reports, browser: Browser) -> None:
    from et_tools.et_compile import main as compile_main

    with redirect_stderr(io.StringIO()):
        assert compile_main(["drawn.py:small", "-o", "small.pte"]) == 0
        assert compile_main(["drawn.py:small", "--backend", "xnnpack", "-o", "xnnpack.pte"]) == 0
    browser.open(reports["differences"].page, "section=differences")
    [(_, before, after, _)] = [row for row in rows_of(browser, "tbody tr") if row[0] == "weights"]
    numbers = [int(text.replace(",", "")) for text in (before, after)]
    assert numbers[1] > 0.9 * numbers[0] > 0


def test_names_break_at_dots(reports: Reports, browser: Browser) -> None:
    browser.resize(800, 800)
    browser.open(reports["kernels"].page, "section=weights")
    script = """[...document.querySelectorAll('td .name, td.wide > span')].flatMap((cell) => {
      const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), parts = [];
      while (walk.nextNode()) {
        const range = document.createRange();
        range.selectNodeContents(walk.currentNode);
        const rows = new Set([...range.getClientRects()].map((one) => Math.round(one.top)));
        parts.push([walk.currentNode.textContent, rows.size]);
      }
      return parts;
    })"""
    parts = browser.run(script)
    assert ["embedding_of_the_words.", 1] in parts
    assert [part for part, rows in parts if rows > 1 and " " not in part] == []
    # Numbers are no names.
    assert browser.run("dotted('-0.25 … 1.5').querySelectorAll('wbr').length") == 0
