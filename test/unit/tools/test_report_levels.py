"""Levels side by side in reports: which ops belong together, and what a browser shows of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Command
from support.report_browser import open_browser

from dev.browser import Browser

SUBJECT = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.fc(x)) + x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())

    def forward(self, x):
        return torch.cumsum(self.blocks(x), 1)

def net():
    torch.manual_seed(0)
    return Net(), (torch.ones(2, 4),)

def two():
    return {"one": net(), "other": (Block(), (torch.ones(3, 4),))}
"""
COMPILED = (
    "et-compile",
    "net.py:net",
    "-o",
    "net.pte",
    "--debug-map",
    "map.json",
    "--save-levels",
    "levels",
    "-q",
)


@pytest.fixture(autouse=True)
def subject(workplace: Path) -> None:
    (workplace / "net.py").write_text(SUBJECT)


@pytest.fixture
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


def program_of(command: Command, *line: str) -> dict[str, Any]:
    """The facts of the program of a report, which is written as a page, too."""
    for form in ("json", "html"):
        ran = command("et-vm", "report", *line, "--format", form, "-o", f"report.{form}")
        assert ran.code == 0, ran.err
    return json.loads(Path("report.json").read_text())["programs"][0]


def ops_of(program: dict[str, Any], level: str, word: str) -> list[int]:
    """The ops of a level whose line has a word."""
    [found] = (one for one in program["levels"] if one["name"] == level)
    return [at for at, op in enumerate(found["ops"]) if word in found["lines"][op[0]]]


def lit(browser: Browser, kind: str) -> set[str]:
    script = f"[...document.querySelectorAll('.text .line.{kind}')].map((one) => one.dataset.op)"
    return set(browser.run(script))


def names(level: str, ops: list[int]) -> set[str]:
    return {f"{level}.{at}" for at in ops}


def instructions_of(ops: list[list[Any]]) -> dict[tuple[str, int], set[int]]:
    return {(method, instruction): set(nodes) for _, nodes, _, method, instruction in ops if instruction >= 0}


def related(program: dict[str, Any]) -> set[tuple[int, tuple[str, int]]]:
    """Ops of the first level and the instructions that they came down to."""
    instructions = instructions_of(program["levels"][-1]["ops"])
    return {
        (at, place)
        for at, op in enumerate(program["levels"][0]["ops"])
        for place, nodes in instructions.items()
        if nodes & set(op[1])
    }


def test_nodes_of_instructions_are_those_of_the_debug_map(command: Command) -> None:
    assert command(*COMPILED).code == 0
    program = program_of(command, "net.pte", "--levels", "levels")
    rows = json.loads(Path("map.json").read_text())["forward"]
    found = instructions_of(program["levels"][-1]["ops"])
    assert len(found) == len(rows) == program["methods"][0]["count"]
    for first in rows:
        for second in rows:
            same = found["forward", first["instruction"]] & found["forward", second["instruction"]]
            assert bool(same) == (first["node"] == second["node"])


def test_ops_of_a_node_are_those_that_the_text_gives_it(command: Command) -> None:
    """Locations of the texts, found without a parser, say which ops come from one node."""
    assert command(*COMPILED).code == 0
    program = program_of(command, "net.pte", "--levels", "levels")
    numbers: dict[str, set[int]] = {}
    for level in program["levels"]:
        text = Path("levels", f"{level['name']}.mlir").read_text().splitlines()
        for line, nodes, *_ in level["ops"]:
            said = re.search(r'loc\("%(\w+)"', text[line])
            if said is not None:
                numbers[said[1]] = numbers.get(said[1], set(nodes)) & set(nodes)
            elif " @" not in text[line]:
                assert not nodes
    assert {"linear", "linear_1", "relu", "relu_1", "add", "add_1", "cumsum"} <= set(numbers)
    assert all(len(found) == 1 for found in numbers.values())
    assert len(set().union(*numbers.values())) == len(numbers)


def test_compiled_here_or_saved_before(command: Command) -> None:
    assert command(*COMPILED).code == 0
    saved = program_of(command, "net.pte", "--levels", "levels", "--debug-map", "map.json")
    compiled = program_of(command, "net.py:net")
    Path("levels", "executorch.mlir").unlink()
    disassembled = program_of(command, "net.pte", "--levels", "levels", "--debug-map", "map.json")
    for other in (saved, disassembled):
        assert [one["name"] for one in other["levels"]] == [one["name"] for one in compiled["levels"]]
        for ours, theirs in zip(compiled["levels"][:-1], other["levels"], strict=False):
            assert ours["lines"] == theirs["lines"]
        assert related(other) == related(compiled)
    assert compiled["methods"][0]["instructions"] == saved["methods"][0]["instructions"]


def test_calls_of_delegates_have_all_nodes_that_they_took(command: Command, browser: Browser) -> None:
    program = program_of(command, "net.py:net", "--compile", "--backend xnnpack")
    [call] = ops_of(program, "executorch", "executorch.delegate_call")
    kernels = ops_of(program, "executorch", "executorch.kernel_call")
    browser.open(Path("report.html"), f"section=levels&op=0.executorch.{call}")
    inside = [at for word in ("aten.linear", "aten.relu", "aten.add") for at in ops_of(program, "aten", word)]
    assert len(inside) == 6
    up = lit(browser, "up")
    assert names("aten", inside) <= up
    cumsum = ops_of(program, "aten", "aten.cumsum")
    assert not names("aten", cumsum) & up
    browser.open(Path("report.html"), f"section=levels&op=0.aten.{cumsum[0]}")
    down = {name for name in lit(browser, "down") if name.startswith("executorch.")}
    assert names("executorch", kernels) <= down
    assert f"executorch.{call}" not in down


def test_a_click_lights_up_what_belongs_together(command: Command, browser: Browser) -> None:
    program = program_of(command, "net.py:net")
    page = Path("report.html")
    browser.open(page, "section=levels")
    _, second = ops_of(program, "aten", "= aten.linear")
    browser.click(f'[data-op="aten.{second}"]')
    assert lit(browser, "chosen") == {f"aten.{second}"}
    assert not lit(browser, "up")
    _, product = ops_of(program, "executorch", '"aten::mm.out"')
    assert f"executorch.{product}" in lit(browser, "down")
    nodes = set(program["levels"][0]["ops"][second][1])
    expected = {
        f"{level['name']}.{at}"
        for level in program["levels"]
        if level["name"] in ("edge", "executorch")
        for at, op in enumerate(level["ops"])
        if nodes & set(op[1])
    }
    assert lit(browser, "down") == expected
    assert browser.run("location.hash") == f"#section=levels&op=0.aten.{second}"
    assert browser.run("document.querySelector('#details').textContent").count("To executorch") == 1
    # The instruction is chosen in all sections, and has a link as such.
    browser.click(f'[data-op="executorch.{product}"]')
    instruction = program["levels"][-1]["ops"][product][4]
    assert browser.run("location.hash") == f"#section=levels&node=0.forward.{instruction}"
    assert f"aten.{second}" in lit(browser, "up")
    assert not lit(browser, "down")
    browser.open(page, f"section=levels&node=0.forward.{instruction}")
    assert lit(browser, "chosen") == {f"executorch.{product}"}


def test_keys(command: Command, browser: Browser) -> None:
    program = program_of(command, "net.py:net")
    first, _ = ops_of(program, "aten", "= aten.linear")
    browser.open(Path("report.html"), f"section=levels&op=0.aten.{first}")
    browser.press("ArrowRight")
    [chosen] = lit(browser, "chosen")
    assert chosen.startswith("edge.")
    assert f"aten.{first}" in lit(browser, "up")
    browser.press("ArrowDown")
    assert lit(browser, "chosen") == {f"edge.{int(chosen.partition('.')[2]) + 1}"}
    browser.press("Escape")
    assert not lit(browser, "chosen") | lit(browser, "up") | lit(browser, "down")
    assert browser.run("location.hash") == "#section=levels"
    browser.press("t")
    assert browser.run("document.documentElement.dataset.theme") == "dark"


def test_levels_are_chosen(command: Command, browser: Browser) -> None:
    program_of(command, "net.py:net")
    browser.open(Path("report.html"), "section=levels")
    heads = "[...document.querySelectorAll('.level h3')].map((one) => one.firstChild.textContent)"
    assert browser.run(heads) == ["aten", "edge", "executorch"]
    browser.run("[...document.querySelectorAll('.choices input')].find((one) => !one.checked).click()")
    assert browser.run(heads) == ["aten", "core-aten", "edge", "executorch"]


def test_methods_are_kept_apart(command: Command, browser: Browser) -> None:
    program = program_of(command, "net.py:two")
    assert {op[3] for op in program["levels"][-1]["ops"] if op[4] >= 0} == {"one", "other"}
    of_other = [
        at for at in ops_of(program, "aten", "= aten.linear") if program["levels"][0]["ops"][at][3] == "other"
    ]
    browser.open(Path("report.html"), f"section=levels&op=0.aten.{of_other[0]}")
    last = program["levels"][-1]["ops"]
    found = [
        last[int(one.partition(".")[2])] for one in lit(browser, "down") if one.startswith("executorch.")
    ]
    assert found
    # Constants belong to no method.
    assert {op[3] for op in found} == {"", "other"}


def test_names_are_not_markup(command: Command, browser: Browser) -> None:
    name = "<img src=x onerror=alert(1)>"
    text = SUBJECT.replace(
        "self.fc = nn.Linear(4, 4)", f"self.add_module({name.replace('.', '')!r}, nn.Linear(4, 4))"
    )
    Path("net.py").write_text(text.replace("self.fc(", f"getattr(self, {name!r})("))
    program_of(command, "net.py:net")
    browser.open(Path("report.html"), "section=levels&node=0.forward.0")
    assert f"@blocks.0.{name}" in browser.run("document.querySelector('.lines').textContent").replace('"', "")
    assert browser.run("document.querySelectorAll('img').length") == 0


def test_levels_are_saved_with_their_locations(command: Command) -> None:
    assert (
        command("et-compile", "net.py:net", "--emit", "edge", "-o", "edge.mlir", "--save-levels", "a/b").code
        == 0
    )
    assert sorted(path.name for path in Path("a/b").iterdir()) == ["aten.mlir", "core-aten.mlir", "edge.mlir"]
    assert 'loc("%cumsum"' in Path("a/b/edge.mlir").read_text()
    ran = command("et-compile", "net.py:net", "-o", "net.pte", "--save-levels", "edge.mlir")
    assert (ran.code, "is a file, not a folder" in ran.err) == (2, True)
    assert not Path("net.pte").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("net.pte", "--levels", "nowhere"), "--levels nowhere: has none of aten.mlir"),
        (("net.pte", "--levels", "other"), "the text is of another program"),
        (("net.pte", "--levels", "broken"), "broken/aten.mlir:1:1"),
        (("net.pte", "--levels", "levels", "--levels", "levels"), "--levels is given 2 times for 1 file"),
        (("net.pte", "--compile=-O2"), "--compile applies to files that are compiled"),
        (("net.py:net", "--levels", "levels"), "--levels: net.py:net is compiled here"),
        (
            ("net.py:net", "--compile", "--emit edge"),
            "--debug-map needs instructions, which --emit edge does not have",
        ),
        (("net.py:net", "--compile", "'"), "--compile: No closing quotation"),
        (("net.py:nothing",), "nothing"),
        (("net.py",), "name a factory, net.py:FACTORY; it has net, two"),
    ],
)
def test_bad_inputs(command: Command, options: tuple[str, ...], message: str) -> None:
    assert command(*COMPILED).code == 0
    other = ("et-compile", "net.py:two", "-o", "other.pte", "--save-levels", "other", "-q")
    assert command(*other).code == 0
    Path("broken").mkdir()
    Path("broken", "aten.mlir").write_text("nonsense")
    ran = command("et-vm", "report", *options, "-o", "report.html")
    assert ran.code in (2, 3)
    assert message in ran.err
    assert not Path("report.html").exists()
