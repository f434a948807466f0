"""Sections of reports on what is measured, and on what the compiler says: their numbers, and their reasons."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import Command
from support.report_browser import fact_of, open_browser, shown_facts

from dev.browser import Browser

MARKUP = "<img src=x onerror=alert(1)>"
SUBJECT = f"""
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential()
        self.layers.add_module({MARKUP!r}.replace(".", ""), nn.Linear(64, 32))
        self.head = nn.Linear(32, 8)

    def forward(self, x):
        return torch.cumsum(self.head(torch.relu(self.layers(x))), 1)

def net():
    torch.manual_seed(0)
    return Net(), (torch.randn(4, 64),)

def sized():
    module, inputs = net()
    return module, inputs, ({{0: torch.export.Dim("batch", max=8)}},)

def batches():
    torch.manual_seed(1)
    for _ in range(4):
        yield (torch.randn(4, 64),)
"""
PLAN = """executorch.plan @forward {arenas = array<i64: 32>} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %0 = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
  executorch.kernel_call "mine::twice.out"(%x) outs(%0)
  executorch.return %0
}
"""
COMPILE = "--target et-vm --extra-operators mine::twice.out"
XNNPACK = ("et-compile", "net.py:net", "-o", "net.pte", "--backend", "xnnpack", "-q")


@pytest.fixture(autouse=True)
def subject(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (workplace / "net.py").write_text(SUBJECT)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


def facts_of(command: Command, *line: str) -> dict[str, Any]:
    for form in ("json", "html"):
        ran = command("et-vm", "report", *line, "--format", form, "-o", f"report.{form}")
        assert ran.code == 0, ran.err
    return json.loads(Path("report.json").read_text())


def text_of(browser: Browser) -> str:
    return browser.run("document.querySelector('main').innerText")


def check_numbers(browser: Browser, facts: dict[str, Any], least: int) -> dict[str, str]:
    shown = shown_facts(browser)
    assert len(shown) >= least
    for path, value in shown.items():
        expected = fact_of(facts, path)
        assert float(value) == expected, path
    return shown


def test_times_are_those_of_the_profile(command: Command, browser: Browser) -> None:
    assert command("et-compile", "net.py:net", "-o", "net.pte", "-q").code == 0
    Path("times.json").write_text(command("et-vm", "profile", "net.pte", "--json").out)
    facts = facts_of(command, "net.pte", "--profile", "times.json")
    measured, profile = json.loads(Path("times.json").read_text()), facts["programs"][0]["profile"]
    assert profile["peak"] == measured["peak"]
    for row, found in zip(measured["rows"], profile["rows"], strict=True):
        assert {key: row[key] for key in found if key != "events"} | {"events": []} == found
    browser.open(Path("report.html"), "section=profile")
    shown = check_numbers(browser, facts, 5 + 2 * len(profile["rows"]))
    # The roofline has a point for each instruction whose operations and bytes are known.
    points = (
        "[...document.querySelectorAll('.roofline .point')].map((one) => Number(one.dataset.instruction))"
    )
    known = [row["instruction"] for row in profile["rows"] if row["gflops"] and row["gbps"]]
    assert known
    assert sorted(browser.run(points)) == sorted(known)
    assert sum(path.endswith("/roofline") for path in shown) == sum(
        row["roofline"] is not None for row in profile["rows"]
    )
    browser.run("document.querySelector('.roofline .point').dispatchEvent(new MouseEvent('click'))")
    assert browser.run("location.hash").startswith("#section=profile&node=0.forward.")


def test_nodes_of_delegates_are_rows_and_points(command: Command, browser: Browser) -> None:
    assert command(*XNNPACK, "--debug-map", "map.json").code == 0
    ran = command("et-vm", "profile", "net.pte", "--debug-map", "map.json", "--json")
    Path("times.json").write_text(ran.out)
    facts = facts_of(command, "net.pte", "--profile", "times.json")
    [call] = (row for row in facts["programs"][0]["profile"]["rows"] if row["events"])
    flops = {"FullyConnected": [4 * 32 * (2 * 64 + 1), 4 * 8 * (2 * 32 + 1)]}
    nodes = [event for event in call["events"] if event["name"] == "FullyConnected"]
    assert [round(node["gflops"] * node["min_ns"]) for node in nodes] == flops["FullyConnected"]
    # Inputs, weights, biases and results, in bytes.
    traffic = [4 * (4 * 64 + 32 * 64 + 32 + 4 * 32), 4 * (4 * 32 + 8 * 32 + 8 + 4 * 8)]
    assert [round(node["gbps"] * node["min_ns"]) for node in nodes] == traffic
    assert all(node["roofline"] > 0 for node in nodes)
    assert nodes[1]["module"] == "head"
    assert nodes[0]["module"].startswith("layers.")
    browser.open(Path("report.html"), "section=profile")
    cells = browser.run("[...document.querySelectorAll('td:last-child')].map((one) => one.textContent)")
    assert {node["module"] for node in nodes} <= set(cells)
    shown = check_numbers(browser, facts, 8)
    assert sum("/events/" in path and path.endswith("/roofline") for path in shown) >= 2
    assert browser.run("document.querySelectorAll('.roofline .point').length") >= 2


def test_points_are_where_their_rates_are(command: Command, browser: Browser) -> None:
    assert command("et-compile", "net.py:net", "-o", "net.pte", "-q").code == 0
    # Measured once: times of another run are others.
    Path("times.json").write_text(command("et-vm", "profile", "net.pte", "--json").out)
    facts = facts_of(command, "net.pte", "--profile", "times.json")
    rows = {row["instruction"]: row for row in facts["programs"][0]["profile"]["rows"]}
    browser.open(Path("report.html"), "section=profile")
    script = """[...document.querySelectorAll('.roofline .point')].map((one) =>
        [Number(one.dataset.instruction), Number(one.getAttribute('cx')), Number(one.getAttribute('cy'))])"""
    found = browser.run(script)
    for first in found:
        for second in found:
            one, other = rows[first[0]], rows[second[0]]
            if first[1] + 0.2 < second[1]:
                assert one["gflops"] / one["gbps"] < other["gflops"] / other["gbps"]
            if first[2] + 0.2 < second[2]:
                assert one["gflops"] > other["gflops"]


def test_measured_here(command: Command) -> None:
    assert command("et-compile", "net.py:net", "-o", "net.pte", "-q").code == 0
    [program] = facts_of(command, "net.pte", "--measure", "4")["programs"]
    assert program["profile"]["repeat"] == 4
    assert [row["instruction"] for row in program["profile"]["rows"]] == list(
        range(program["methods"][0]["count"])
    )


def test_machine_code_measured_here(command: Command) -> None:
    """What `et-vm run` runs is measured with the same options."""
    np.savez("x.npz", np.ones((4, 64), np.float32))
    options = ("--measure", "2", "--input", "x.npz", "--method", "forward")
    line = ("et-vm", "report", "net.py:net", "--compile", "--backend native -q", *options, "-o", "page.html")
    ran = command(*line)
    assert ran.code == 2
    assert "net.py:net: NotSupported (0x10): the file holds machine code" in ran.err
    assert "allow it: --native" in ran.err
    given = ("--compile", "--backend native", *options, "--native", "--threads", "1")
    [program] = facts_of(command, "net.py:net", *given)["programs"]
    assert program["profile"]["repeat"] == 2
    rows = program["profile"]["rows"]
    assert any(row["events"] for row in rows), "kernels of the machine code"


def test_kernels_of_a_file_measured_here(command: Command) -> None:
    Path("twice.py").write_text(
        "import numpy as np\nimport et_vm\n\n"
        '@et_vm.kernel("mine::twice.out")\ndef twice(x, *, out):\n    np.add(x, x, out=out)\n'
    )
    Path("twice.mlir").write_text(PLAN)
    [program] = facts_of(command, "twice.mlir", "--measure", "2", "--load", "twice.py", "--compile", COMPILE)[
        "programs"
    ]
    assert [row["name"] for row in program["profile"]["rows"]] == ["mine::twice.out"]


def test_a_profile_without_peak_has_no_roofline(command: Command, browser: Browser) -> None:
    assert command("et-compile", "net.py:net", "-o", "net.pte", "-q").code == 0
    Path("times.json").write_text(command("et-vm", "profile", "net.pte", "--json", "--no-peak").out)
    facts = facts_of(command, "net.pte", "--profile", "times.json")
    browser.open(Path("report.html"), "section=profile")
    assert not browser.run("document.querySelectorAll('.roofline').length")
    check_numbers(browser, facts, 5)


def test_reasons_against_delegation(command: Command, browser: Browser) -> None:
    ran = command(*XNNPACK, "--why-not-delegated=json")
    Path("why.json").write_text(ran.out)
    [left] = json.loads(ran.out)["left_out"]
    Path("explain.json").write_text(command(*XNNPACK, "--explain=json").out)
    for options in (
        ("net.pte", "--explain", "why.json"),
        ("net.pte", "--explain", "explain.json"),
        ("net.py:net", "--compile", "--backend xnnpack"),
    ):
        facts = facts_of(command, *options)
        found = facts["programs"][0]["explanation"]["delegation"]
        assert [one["op"] for one in found["left_out"]] == ["edge.cumsum"] == [left["op"]]
        [[reason, _]] = found["left_out"][0]["reasons"]
        assert reason == left["reasons"][0]["reason"]
        browser.open(Path("report.html"), "section=delegates")
        text = text_of(browser)
        assert reason in text
        assert "net.py:13" in text
        shown = check_numbers(browser, facts, 4)
        assert shown["programs/0/explanation/delegation/delegated"] == str(found["delegated"])


@pytest.mark.parametrize(
    ("backend", "identifier", "sizes"),
    [
        ("coreml", "CoreMLBackend", [[32, 64], [8, 32], [32], [8]]),
        ("tosa", "TOSABackend", [[1, 64, 32], [1, 32, 8], [1, 32], [1, 8]]),
    ],
)
def test_weights_in_blobs(command: Command, backend: str, identifier: str, sizes: list[list[int]]) -> None:
    """Of a file alone: those of the layers, by the names that the blob has for them."""
    line = ("et-compile", "net.py:net", "-o", "net.pte", "--backend", backend, "--target", "et-vm", "-q")
    assert command(*line).code == 0
    [program] = facts_of(command, "net.pte")["programs"]
    found = [one for one in program["weights"] if one.get("delegate") == identifier and one["nbytes"] > 4]
    assert [one["shape"] for one in found] == sizes
    assert {one["dtype"] for one in found} == {"float32"}
    for one in found:
        assert sum(one["histogram"]["bins"]) == one["histogram"]["of"] == one["nbytes"] // 4
    names = [one["name"] for one in found]
    assert len({*names}) == len(names)
    contents = "\n".join(program["delegates"][0]["contents"])
    assert all(name in contents for name in names if backend == "tosa")
    # The names of the layers are those of what was compiled.
    [program] = facts_of(command, *line[1:2], "--compile", f"--backend {backend} --target et-vm")["programs"]
    assert "head.bias" in {one.get("name") for one in program["weights"]}


def test_names_of_inputs_that_a_file_has(command: Command) -> None:
    """With conditions on sizes and without."""
    assert command("et-compile", "net.py:sized", "-o", "sized.pte", "-q").code == 0
    assert command("et-compile", "net.py:net", "-o", "net.pte", "-q").code == 0
    for program in facts_of(command, "sized.pte", "net.pte")["programs"]:
        assert [slot.get("name") for slot in program["methods"][0]["inputs"]] == ["x"]
    assert "input 0   float32 [8, 64] at most x\n" in command("et-vm", "info", "sized.pte").out


def test_what_is_not_known_is_said(command: Command, browser: Browser) -> None:
    assert command(*XNNPACK).code == 0
    facts_of(command, "net.pte")
    browser.open(Path("report.html"), "section=delegates")
    assert "The file does not say why operators were not delegated" in text_of(browser)
    facts_of(command, "net.py:net")
    browser.open(Path("report.html"), "section=delegates")
    assert "compiled without a backend" in text_of(browser)


def test_choices_and_passes(command: Command, browser: Browser) -> None:
    ran = command("et-compile", "net.py:net", "-o", "net.pte", "-q", "--explain=json")
    Path("explain.json").write_text(ran.out)
    said = json.loads(ran.out)
    facts = facts_of(command, "net.pte", "--explain", "explain.json")
    assert facts["programs"][0]["explanation"]["passes"] == said["passes"]
    browser.open(Path("report.html"), "section=compiler")
    check_numbers(browser, facts, len(said["passes"]))
    text = text_of(browser)
    assert all(one["pass"] in text for one in said["passes"])
    assert all(one["chosen"] in text for one in said["choices"])
    assert said["choices"]
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert MARKUP.replace(".", "") in text


def test_errors_of_quantization(command: Command, browser: Browser) -> None:
    options = "--quantize int8 --calibrate batches --target et-vm"
    facts = facts_of(command, "net.py:net", "--compile", options)
    [found] = facts["programs"][0]["explanation"]["quantization"]
    ran = command("et-compile", "net.py:net", "-o", "net.pte", "-q", "--explain=json", *options.split())
    [said] = json.loads(ran.out)["quantization"]
    assert found == said
    assert len(found["layers"]) == 2
    assert all(30 < layer["weight_sqnr"] < 60 for layer in found["layers"])
    browser.open(Path("report.html"), "section=weights")
    shown = check_numbers(browser, facts, 8)
    path = "programs/0/explanation/quantization/0/layers/1/weight_sqnr"
    assert float(shown[path]) == found["layers"][1]["weight_sqnr"]
    assert f"{found['layers'][1]['weight_sqnr']:.1f} dB" in text_of(browser)
    facts_of(command, "net.pte")
    browser.open(Path("report.html"), "section=weights")
    assert "Errors need the model in floats" in text_of(browser)


def test_both_themes_can_be_read(command: Command, browser: Browser) -> None:
    """Text has a contrast of at least 4.5 to what is behind it (WCAG 2.2, 1.4.3), in each section."""
    facts_of(command, "net.py:net", "--measure", "2", "--compile", "--backend xnnpack")
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        for section in ("overview", "instructions", "levels", "weights", "delegates", "compiler", "profile"):
            browser.open(Path("report.html"), f"section={section}&node=0.forward.0")
            assert browser.run("document.documentElement.dataset.theme") == scheme
            assert browser.run(CONTRAST) == [], (scheme, section)


CONTRAST = """(() => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const found = numbers(getComputedStyle(one).backgroundColor);
      if (found[3] !== 0) return found;
    }
    return [255, 255, 255];
  };
  const wrong = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.getClientRects().length || element.closest("svg, button")) continue;
    const style = getComputedStyle(element);
    if (Number(style.opacity) < 1) continue;
    const [one, other] = [light(numbers(style.color)), light(behind(element))].sort((a, b) => b - a);
    const contrast = (one + 0.05) / (other + 0.05), text = element.textContent.slice(0, 40);
    if (contrast < 4.5) wrong.push(`${contrast.toFixed(2)} ${element.tagName}.${element.className}: ${text}`);
  }
  return [...new Set(wrong)];
})()"""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("net.pte", "--explain", "none.json"), "none.json"),
        (("net.pte", "--explain", "list.json"), "no explanation of a compilation"),
        (("net.pte", "--explain", "net.py"), "net.py: "),
        (("net.pte", "--explain", "odd.json"), "no explanation of a compilation"),
        (("net.pte", "--profile", "odd.json"), "no profile of instructions"),
        (("net.pte", "--profile", "times.json", "--measure", "2"), "--measure and --profile both give times"),
        (("net.pte", "--profile", "zero.json"), "no profile of instructions"),
        (("net.pte", "--measure", "0"), "--measure"),
        (("net.pte", "--native"), "--native applies to what --measure executes: give --measure N"),
        (("net.pte", "--input", "ones"), "--input applies to what --measure executes"),
        (("net.pte", "--measure", "1", "--input", "none.npy"), "none.npy"),
        (("net.pte", "--measure", "1", "--method", "decode"), "decode"),
        (("net.pte", "--measure", "1", "--work-limit", "10"), "work"),
        (("-", "-"), "'-' can be given only once"),
    ],
)
def test_bad_inputs(command: Command, options: tuple[str, ...], message: str) -> None:
    assert command("et-compile", "net.py:net", "-o", "net.pte", "-q").code == 0
    Path("list.json").write_text("[1]")
    Path("odd.json").write_text(json.dumps({"left_out": [{"op": 1}], "rows": 3, "choices": 4}))
    times = command("et-vm", "profile", "net.pte", "--json", "--repeat", "1").out
    Path("times.json").write_text(times)
    Path("zero.json").write_text(json.dumps(json.loads(times) | {"peak": {"bandwidths": []}}))
    ran = command("et-vm", "report", *options, "-o", "report.html")
    assert ran.code in (2, 3, 5)
    assert message in ran.err
    assert not Path("report.html").exists()
