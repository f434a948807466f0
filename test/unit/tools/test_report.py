"""Reports of programs: facts, drawing, and pages in a browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Command

import et_tools.report
from bench.report_page import additions, layers
from et_tools.diff import compare
from et_tools.report.dataflow import edges, operands
from et_tools.report.hierarchy import nested_drawing
from et_tools.report.layered import draw
from et_tools.report.page import embedded
from et_vm.program import Program

BROWSER = "chromium"
OWN = "source: chrome://"
"""Ends messages of pages that are part of the browser."""
HOSTILE = "</script><script>alert(1)</script><!-- &amp; ' \" weight"
SUBJECT = f"""
import torch
from torch import nn

class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_parameter({HOSTILE!r}, nn.Parameter(torch.tensor([1.0, -2.0, float("inf"), 0.5])))

    def forward(self, x):
        return torch.relu(x * getattr(self, {HOSTILE!r}))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Inner()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return self.fc(self.first(x))

def net():
    torch.manual_seed(0)
    return Net(), (torch.ones(2, 4),)
"""


class Page(HTMLParser):
    """What a test reads from a page: facts by path, all text, and addresses that elements refer to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.facts: dict[str, str] = {}
        self.text = ""
        self.addresses: list[str] = []
        self.ready: float | None = None
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.tags.append(tag)
        if tag == "html":
            self.ready = float(known.get("data-ready") or -1)
        if known.get("data-fact"):
            self.facts[str(known["data-fact"])] = str(known["data-value"])
        self.addresses += [str(known[name]) for name in ("src", "href", "action") if name in known]

    def handle_data(self, data: str) -> None:
        # The data and the scripts are not what the page shows.
        if self.tags[-1:] not in (["script"], ["style"]):
            self.text += data


Browse = Callable[[Path, str], Page]


@pytest.fixture
def browse(tmp_path: Path) -> Browse:
    """Opens a page from disk in a browser without a network, which may not complain; gives the page that it shows.

    Without the browser, a test fails in CI and is skipped elsewhere.
    """
    if shutil.which(BROWSER) is None:
        assert "CI" not in os.environ, "no chromium (Debian: chromium)"
        pytest.skip("no chromium (Debian: chromium)")

    def opened(file: Path, link: str) -> Page:
        line = [
            *(
                BROWSER,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--enable-logging=stderr",
                "--dump-dom",
            ),
            *("--virtual-time-budget=4000", "--host-resolver-rules=MAP * ~NOTFOUND"),
            *(f"--user-data-dir={tmp_path / 'browser'}", f"{file.as_uri()}#{link}"),
        ]
        ran = subprocess.run(line, capture_output=True, text=True, check=True)
        # The browser's own pages have messages, too: "Slow network is detected", where the machine is busy.
        messages = [line for line in ran.stderr.splitlines() if "CONSOLE" in line and OWN not in line]
        assert not messages, ran.stderr
        page = Page(ran.stdout)
        assert page.ready is not None
        assert page.ready > 0, "the script did not end"
        return page

    return opened


def fact_of(facts: Any, path: str) -> object:
    for part in path.split("/"):
        key = int(part) if part.isdecimal() and isinstance(facts, list) else part
        facts = len(facts) if part == "length" else facts[key]
    return facts


def report(command: Command, *files: str | Path) -> tuple[dict[str, Any], Path]:
    """The facts of a report and the page."""
    made = command("et-vm", "report", *files, "--format", "json", "-o", "report.json")
    assert made.code == 0, made.err
    ran = command("et-vm", "report", *files, "-o", "report.html")
    assert (ran.code, ran.out) == (0, ""), ran.err
    return json.loads(Path("report.json").read_text()), Path.cwd() / "report.html"


@pytest.fixture
def hostile(command: Command) -> Path:
    """A program with a weight whose name is markup, in a file whose name is."""
    Path("hostile.py").write_text(SUBJECT)
    file = Path("<b>net&.pte")
    assert command("et-compile", "hostile.py:net", "-o", file, "--debug-map", "map.json").code == 0
    return file


def check_numbers(facts: dict[str, Any], page: Page, least: int) -> None:
    assert len(page.facts) >= least
    for path, shown in page.facts.items():
        assert shown == str(fact_of(facts, path)), path


def test_names_are_not_markup(command: Command, hostile: Path, browse: Browse) -> None:
    facts, file = report(command, hostile, "--debug-map", "map.json")
    assert HOSTILE not in file.read_text()
    names = [weight.get("name", "") for weight in facts["programs"][0]["weights"]]
    assert f"first.{HOSTILE}" in names
    page = browse(file, "section=weights")
    assert f"first.{HOSTILE}" in page.text
    assert page.tags.count("script") == 2
    assert "<b>net&.pte: report" in page.text
    check_numbers(facts, page, 3)


def test_scripts_parse_no_markup() -> None:
    """What the text of a program becomes is text, also where no test looks: in tooltips, menus and drawings."""
    scripts = sorted(Path(et_tools.report.__file__).parent.glob("*.js"))
    assert len(scripts) > 5
    for script in scripts:
        found = re.findall(
            r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|srcdoc|DOMParser|document\.write|createContextualFragment|eval)\b",
            script.read_text("utf-8"),
        )
        assert not found, script.name


@pytest.mark.parametrize(
    ("section", "least"),
    [("overview", 6), ("graph", 0), ("instructions", 0), ("memory", 4), ("weights", 3), ("delegates", 0)],
)
def test_sections_show_the_numbers_of_the_facts(
    command: Command, hostile: Path, browse: Browse, section: str, least: int
) -> None:
    facts, file = report(command, hostile)
    page = browse(file, f"section={section}&node=0.forward.1")
    check_numbers(facts, page, least)
    instruction = facts["programs"][0]["methods"][0]["instructions"][1]
    assert instruction["text"] in page.text
    assert all(address.startswith("#") for address in page.addresses)


def test_pages_have_no_addresses(command: Command, hostile: Path) -> None:
    _, file = report(command, hostile)
    text = re.sub(r'"http://www\.w3\.org/2000/svg"', "", file.read_text())
    assert "default-src 'none'" in text
    assert not re.findall(r"https?://|\bsrc=|@import|url\(|<link", text)


def test_links_to_nothing_lead_to_the_overview(command: Command, hostile: Path, browse: Browse) -> None:
    _, file = report(command, hostile)
    for link in ("section=nowhere", "node=7.forward.1", "node=0.forward.99999", "node=0.nobody.1", "%"):
        assert "The file" in browse(file, link).text


def test_differences_of_two_programs(command: Command, hostile: Path, browse: Browse) -> None:
    assert command("et-compile", "subjects.py:net", "-o", "other.pte").code == 0
    facts, file = report(command, hostile, "other.pte")
    differences = facts["differences"][0]["differences"]
    listed = compare.differences(Program.load(hostile), Program.load("other.pte"))
    assert differences == [list(one) for one in listed]
    text = browse(file, "section=differences").text
    assert all(f"+ {after}" in text for _, _, after in differences if after is not None)
    assert all(f"- {before}" in text for _, before, _ in differences if before is not None)


def test_times_of_a_profile(command: Command, hostile: Path, browse: Browse) -> None:
    Path("times.json").write_text(command("et-vm", "profile", hostile, "--repeat", "2", "--json").out)
    facts, file = report(command, hostile, "--profile", "times.json")
    rows = facts["programs"][0]["profile"]["rows"]
    assert [row["median_ns"] for row in rows] == [
        row["median_ns"] for row in json.loads(Path("times.json").read_text())["rows"]
    ]
    page = browse(file, "section=profile")
    assert all(f"{row['instruction']}: {row['name']}" in page.text for row in rows)


def test_modules_and_sources_of_a_debug_map(command: Command, hostile: Path) -> None:
    facts, _ = report(command, hostile, "--debug-map", "map.json")
    method = facts["programs"][0]["methods"][0]
    assert method["modules_from"] == "map"
    assert {one["module"] for one in method["instructions"]} == {"first", "fc"}
    assert all(one["frames"][-1][0].endswith("hostile.py") for one in method["instructions"])
    without, _ = report(command, hostile)
    method = without["programs"][0]["methods"][0]
    assert method["modules_from"] == "weights"
    assert "fc" in {one["module"] for one in method["instructions"]}


def test_histograms_count_every_value(command: Command, hostile: Path) -> None:
    facts, _ = report(command, hostile)
    for weight in facts["programs"][0]["weights"]:
        found = weight["histogram"]
        assert sum(found["bins"]) + found["nonfinite"] == found["count"] == found["of"]
        if HOSTILE in weight["name"]:
            assert (found["min"], found["max"], found["nonfinite"]) == (-2.0, 1.0, 1)


def test_five_thousand_nodes(command: Command, browse: Browse) -> None:
    """How long such a page takes is measured by `python -m bench.report_page`."""
    Path("large.mlir").write_text(additions(5000))
    ran = command("et-translate", "--mlir-to-pte", "large.mlir", "-o", "large.pte")
    assert ran.code == 0, ran.err
    Path("map.json").write_text(json.dumps(layers(5000)))
    for options in ((), ("--debug-map", "map.json")):
        facts, file = report(command, "large.pte", *options)
        assert facts["programs"][0]["methods"][0]["count"] == 5000
        page = browse(file, "section=graph&node=0.forward.2500")
        # Instructions 0, 50, 100, … and the input.
        assert "51 ancestors" in page.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("none.pte",), "none.pte"),
        (("none.mlir",), "none.mlir"),
        (("net.pte", "--debug-map", "none.json"), "none.json"),
        (("net.pte", "--debug-map", "relu.mlir"), "relu.mlir: "),
        (("net.pte", "--debug-map", "foreign.json"), "the debug map is of another program"),
        (("net.pte", "--debug-map", "odd.json"), "the debug map has rows of another form"),
        (("net.pte", "--debug-map", "map.json", "--debug-map", "map.json"), "is given 2 times for 1 file"),
        (("net.pte", "--profile", "none.json"), "none.json"),
        (("net.pte", "--profile", "map.json"), "no profile of instructions"),
        (("net.pte", "--profile", "foreign_times.json"), "the profile is of another program"),
    ],
)
def test_bad_inputs(command: Command, options: tuple[str, ...], message: str) -> None:
    assert command("et-compile", "subjects.py:net", "-o", "net.pte", "--debug-map", "map.json").code == 0
    row = {"instruction": 99, "operator": "aten::mm.out", "module": "fc", "source": []}
    Path("foreign.json").write_text(json.dumps({"forward": [row]}))
    Path("odd.json").write_text(json.dumps({"forward": [{"instruction": 0, "module": "fc", "source": 3}]}))
    times = json.loads(command("et-vm", "profile", "net.pte", "--repeat", "1", "--json").out)
    times["rows"][0]["name"] = "aten::nothing.out"
    Path("foreign_times.json").write_text(json.dumps(times))
    ran = command("et-vm", "report", *options, "-o", "report.html")
    assert ran.code in (2, 3)
    assert message in ran.err
    assert not Path("report.html").exists()


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("report.html", "<!DOCTYPE html>"),
        ("report.HTM", "<!DOCTYPE html>"),
        ("report", "<!DOCTYPE html>"),
        ("report.json", "{"),
        ("report.dot", "digraph"),
        ("report.gv", "digraph"),
    ],
)
def test_format_of_a_suffix(command: Command, hostile: Path, name: str, begin: str) -> None:
    assert command("et-vm", "report", str(hostile), "-o", name).code == 0
    assert Path(name).read_text().lstrip().lower().startswith(begin.lower())


def test_suffix_without_a_format(command: Command, hostile: Path) -> None:
    ran = command("et-vm", "report", str(hostile), "-o", "report.pdf")
    assert ran.code == 2
    assert (
        "-o report.pdf: a report is .html, .json, .dot (Graphviz) or, with --format model-explorer, .json"
        in ran.err
    )
    assert not Path("report.pdf").exists()
    assert command("et-vm", "report", str(hostile), "-o", "report.pdf", "--format", "dot").code == 0


def test_output_is_required_and_checked_first(command: Command) -> None:
    assert "required: -o/--output" in command("et-vm", "report", "x.pte").err
    assert "the folder" in command("et-vm", "report", "x.pte", "-o", "none/report.html").err


def test_edges_follow_bytes_through_views(command: Command) -> None:
    Path("views.mlir").write_text(
        """builtin.module {
  executorch.plan @forward {arenas = array<i64: 128>} {
    %x = executorch.input {memory_id = 1, offset = 0} : tensor<16xf32>
    %a = executorch.alloc {memory_id = 1, offset = 64} : tensor<16xf32>
    executorch.kernel_call "aten::add.out"(%x, %x, 1) outs(%a)
    %b = executorch.view %a : tensor<4x4xf32>
    executorch.kernel_call "aten::relu.out"(%b) outs(%b)
    executorch.kernel_call "aten::add.out"(%x, %a, 1) outs(%x)
    executorch.return %a
  }
}
"""
    )
    ran = command("et-translate", "--mlir-to-pte", "views.mlir", "-o", "views.pte")
    assert ran.code == 0, ran.err
    program = Program.load("views.pte")
    plan, instructions = program.plan("forward"), program.instructions(0)
    found = {(edge.source, edge.target) for edge in edges(plan, instructions, operands(plan, instructions))}
    # Nodes: three instructions, then the input (3) and the output (4).
    assert found == {(3, 0), (0, 1), (3, 2), (1, 2), (1, 4)}


def overlap(first: list[int], second: list[int]) -> bool:
    return (
        first[0] < second[0] + second[2]
        and second[0] < first[0] + first[2]
        and first[1] < second[1] + second[3]
        and second[1] < first[1] + first[3]
    )


def test_layered_drawings_are_disjoint_and_point_down() -> None:
    sizes = [(60.0, 20.0)] * 7
    drawing = draw(sizes, [(0, 1), (0, 2), (1, 3), (2, 3), (3, 0), (3, 4)])
    boxes = [list(map(int, box)) for box in drawing.boxes]
    assert not any(overlap(first, second) for at, first in enumerate(boxes) for second in boxes[:at])
    assert boxes[0][1] < boxes[1][1] == boxes[2][1] < boxes[3][1]
    assert draw([], []).boxes == []


def test_nested_drawings_hold_their_parts() -> None:
    paths = ["", "a", "a.b", "a.b", "c", "a", ""]
    drawn = nested_drawing(["op"] * 7, paths, [(at, at + 1) for at in range(6)])
    assert drawn == nested_drawing(["op"] * 7, paths, [(at, at + 1) for at in range(6)])
    modules = drawn["modules"]
    assert sorted(module[5] for module in modules) == ["a", "a.b", "c"]
    for x, y, width, height, owner, *_ in [*drawn["nodes"], *modules]:
        left, top, wide, high = modules[owner][:4] if owner >= 0 else (0, 0, drawn["width"], drawn["height"])
        assert left < x
        assert top < y
        assert x + width < left + wide + 1
        assert y + height < top + high + 1
    for at, node in enumerate(drawn["nodes"]):
        assert (modules[node[4]][5] if node[4] >= 0 else "") == paths[at]


def test_embedded_json_has_no_markup() -> None:
    value = {"<": ["</script>", "<!--", "\u2028&\udc80"]}
    text = embedded(value)
    assert json.loads(text) == value
    assert not set(text) & set("<>&")
    assert text.isascii()


def test_graphviz(command: Command, hostile: Path) -> None:
    assert (
        command("et-vm", "report", hostile, "--debug-map", "map.json", "--format", "dot", "-o", "g.dot").code
        == 0
    )
    facts, _ = report(command, hostile, "--debug-map", "map.json")
    method = facts["programs"][0]["methods"][0]
    text = Path("g.dot").read_text()
    assert text.count(" -> ") == len(method["edges"])
    assert text.count("[label=") == len(method["graph"]["labels"])
    assert 'label="first";' in text
    assert text.count("{") == text.count("}")


def test_model_explorer(command: Command, hostile: Path) -> None:
    line = ("et-vm", "report", hostile, "--debug-map", "map.json", "--format", "model-explorer", "-o", "-")
    [collection] = json.loads(command(*line).out)
    [graph] = collection["graphs"]
    nodes = {node["id"]: node for node in graph["nodes"]}
    assert collection["label"] == str(hostile)
    assert {node["namespace"] for node in nodes.values()} == {"", "first", "fc"}
    count = 0
    for node in nodes.values():
        for at, edge in enumerate(node["incomingEdges"]):
            outputs = nodes[edge["sourceNodeId"]]["outputsMetadata"]
            assert edge["sourceNodeOutputId"] in {output["id"] for output in outputs}
            assert edge["targetNodeInputId"] == str(at)
            count += 1
    facts, _ = report(command, hostile, "--debug-map", "map.json")
    assert count == len(facts["programs"][0]["methods"][0]["edges"])


def test_programs_in_notebooks(hostile: Path) -> None:
    shown = Program.load(hostile)._repr_html_()
    assert "&lt;b&gt;net&amp;.pte" in shown
    assert "<b>" not in shown
    assert "<td>forward</td><td>1</td><td>1</td>" in shown
