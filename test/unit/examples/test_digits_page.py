"""The page of the digits network: drawn on in a browser, and compared with et-vm."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from support.report_browser import open_browser

from dev.browser import Browser
from et_backends.freestanding.compiler.programs import compile_program
from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.quantization import quantize
from et_vm.program import Program
from examples.digits.network import dataset, train
from examples.digits_page.__main__ import arena_bytes, linked, page

MOST = 100_000
"""Bytes of the page."""
STROKES = {
    0: [
        [
            (144, 50),
            (100, 70),
            (80, 144),
            (100, 220),
            (144, 240),
            (190, 220),
            (208, 144),
            (190, 70),
            (144, 50),
        ]
    ],
    1: [[(110, 90), (150, 50), (150, 240)]],
    2: [[(90, 90), (130, 50), (185, 75), (170, 130), (90, 235), (200, 235)]],
    4: [[(150, 50), (80, 160), (210, 160)], [(170, 110), (165, 245)]],
    7: [[(90, 60), (200, 60), (140, 240)]],
}
"""Lines through these points of the paper, by the digit that they draw."""


@pytest.mark.slow
def test_page(tmp_path: Path):
    data = dataset()
    calibration = [(image,) for image in data.train_images[:64].split(1)]
    module = quantize(train(data), calibration[0], "int8", calibration=calibration).module
    exported = torch.export.export(module, calibration[0])
    made = compile_program(exported, "wasm32", "digits")
    (tmp_path / "digits.o").write_bytes(made.code)
    (tmp_path / "digits.h").write_text(made.header)
    text = page(linked(tmp_path / "digits.o"), arena_bytes(tmp_path / "digits.h"))
    path = tmp_path / "digits.html"
    path.write_text(text)
    assert path.stat().st_size <= MOST
    assert not re.search(r"https?:|src=|@import|url\(", text)
    program = to_edge(exported).to_executorch(ExecutorchBackendConfig(target="et-vm"))
    method = Program.load(bytes(program.buffer)).load_method("forward")
    with open_browser() as browser:
        browser.open(path)
        assert browser.run("document.getElementById('digit').value") == ""
        for digit, strokes in STROKES.items():
            browser.click("#clear")
            for stroke in strokes:
                draw(browser, stroke)
            assert browser.run("document.getElementById('digit').value") == str(digit)
            drawn, logits = (
                json.loads(browser.run(f"document.getElementById('paper').dataset.{name}"))
                for name in ("input", "logits")
            )
            image = np.array(drawn, np.float32).reshape(1, 1, 8, 8)
            expected = method.execute([image])[0].ravel()
            # Requantized in floats there, and in double precision here: at most a step of the result apart.
            step = np.diff(np.unique(np.concatenate([logits, expected]).astype(np.float32))).min()
            assert np.abs(np.array(logits) - expected).max() < 1.01 * step
        browser.click("#clear")
        assert browser.run("document.getElementById('digit').value") == ""


def draw(browser: Browser, points: list[tuple[int, int]]) -> None:
    """Press, move along lines and release."""
    place = "document.getElementById('paper').getBoundingClientRect()"
    left, top = browser.run(f"(({{x, y}}) => [x, y])({place})")
    lines = pairwise(points)
    between = [
        (a[0] + (b[0] - a[0]) * at / 5, a[1] + (b[1] - a[1]) * at / 5) for a, b in lines for at in range(1, 6)
    ]
    events = [
        ("mousePressed", points[0], 1),
        *(("mouseMoved", one, 1) for one in between),
        ("mouseReleased", points[-1], 0),
    ]
    for kind, (x, y), buttons in events:
        at = {"x": left + x, "y": top + y}
        browser.call(
            "Input.dispatchMouseEvent", type=kind, button="left", buttons=buttons, clickCount=1, **at
        )
    browser.settle()
