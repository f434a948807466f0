"""et-compile --quantize: the programs it makes, its tables, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.command_line import Command

NET = """
import torch
from torch import nn
from torch.ao.quantization.fx import _decomposed


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body = nn.Sequential(nn.Linear(16, 32), nn.ReLU())
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        return torch.tanh(self.head(self.body(x)))


def net():
    return Net().eval(), (torch.ones(2, 16),)


def layer():
    torch.manual_seed(0)
    return nn.Linear(32, 4).eval(), (torch.ones(2, 32),)


def wrapped():
    from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, quantize_

    module, inputs = layer()
    quantize_(module, Int8DynamicActivationIntxWeightConfig())
    return module, inputs


def exported():
    module, inputs = net()
    return torch.export.export(module, inputs)


def exported_module():
    return exported().module(), (torch.ones(2, 16),)


def module_alone():
    return exported().module()


def sized():
    module, inputs = net()
    batch = torch.export.Dim("batch", max=8)
    return torch.export.export(module, inputs, dynamic_shapes=({0: batch},))


def named():
    for x in data():
        yield {"x": x}


def misnamed():
    yield {"y": torch.ones(2, 16)}


def data():
    torch.manual_seed(1)
    for _ in range(3):
        yield torch.randn(2, 16)


def failing():
    yield torch.randn(2, 16)
    open("absent.npy")


def narrow():
    return torch.randn(2, 16), torch.randn(2, 15)


class Scaled(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        limits = self.scale, 0, -128, 127, torch.int8
        q = torch.ops.quantized_decomposed
        return q.dequantize_per_tensor(q.quantize_per_tensor(x, *limits), *limits)


def zero_scale():
    return nn.Sequential(nn.Linear(16, 4), Scaled(0.0)).eval(), (torch.ones(2, 16),)


def subnormal_scale():
    return nn.Sequential(nn.Linear(16, 4), Scaled(1e-40)).eval(), (torch.ones(2, 16),)


class Chosen(nn.Module):
    def __init__(self):
        super().__init__()
        self.expert = nn.Linear(16, 4)

    def forward(self, x):
        return self.expert(x[x[:, 0] > 100])


def unseen():
    return Chosen().eval(), (torch.full((2, 16), 101.0),)


def nothing():
    return []


def number():
    return 3


def quality(module):
    with torch.no_grad():
        return 1 - float((module(torch.ones(2, 16)) - net()[0](torch.ones(2, 16))).abs().max())


def impossible(module):
    return float(not hasattr(module, "graph"))
"""


@pytest.fixture(autouse=True)
def _files(command: Command) -> None:  # pyright: ignore[reportUnusedFunction]
    Path("quantized.py").write_text(NET)
    generator = np.random.default_rng(0)
    np.savez("stacked.npz", x=generator.standard_normal((3, 2, 16)).astype(np.float32))
    np.savez("flat.npz", x=generator.standard_normal((7, 16)).astype(np.float32))
    np.savez("double.npz", x=np.ones((3, 2, 16)))
    np.savez("narrow.npz", x=np.ones((3, 2, 15), np.float32))
    np.savez("two.npz", x=np.ones((3, 2, 16), np.float32), y=np.ones(3, np.float32))
    np.savez("undefined.npz", x=np.full((3, 2, 16), np.nan, np.float32))
    np.savez_compressed("zeros.npz", x=np.zeros((1 << 18, 2, 16), np.float32))
    np.savez("words.npz", x=np.full((3, 2, 16), "a"))
    stacked = Path("stacked.npz").read_bytes()
    Path("short.npz").write_bytes(stacked[:-40])
    Path("damaged.npz").write_bytes(stacked[:60] + bytes(8) + stacked[68:])


def quantized(command: Command, *options: str, factory: str = "net") -> tuple[int, str]:
    ran = command("et-compile", f"quantized.py:{factory}", "-o", "net.pte", "--target", "et-vm", *options)
    assert ran.out == ""
    return ran.code, ran.err


@pytest.mark.parametrize(
    "options",
    [
        ("int8", "--calibrate", "data"),
        ("int8", "--calibrate", "stacked.npz"),
        ("int8", "--calibrate", "flat.npz"),
        ("int8-dynamic",),
        ("int8-weights",),
        ("8da4w:group=16",),
    ],
)
def test_modes(command: Command, options: tuple[str, ...]) -> None:
    code, told = quantized(command, "--quantize", *options)
    assert code == 0, told
    rows = {line.split()[0]: line.split() for line in told.splitlines() if line}
    assert rows["body.0"][1:3] == ["linear", "2,048"]
    assert float(rows["all"][3]) < 0.5
    assert "aten.tanh.default: no quantized kernel" in told or options[0] != "int8"
    assert command("et-vm", "run", "net.pte", "--poison").code == 0


def test_no_report_with_quiet(command: Command) -> None:
    ran = command("et-compile", "quantized.py:net", "-q", "-o", "net.pte", "--quantize", "int8-dynamic")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


@pytest.mark.parametrize("level", ["core-aten", "edge"])
@pytest.mark.parametrize(
    ("mode", "type"),
    [
        ("int8-dynamic", "i8 [-127, 127], channel 0, scale = 32"),
        ("8da4w:group=8", "i8 [-8, 7], group 8, scale = 64"),
    ],
)
def test_quantized_types_in_the_text(command: Command, mode: str, type: str, level: str) -> None:
    quantized(command, "--quantize", mode)
    options = "--quantize", mode, "--emit", level, "-o", "net.mlir"
    assert command("et-compile", "quantized.py:net", "-q", *options).code == 0
    text = Path("net.mlir").read_text()
    assert f"tensor<32x16x!program.quantized<{type} in [" in text
    assert command("et-opt", "-p", f"verify-{level}", "net.mlir").out == text
    ran = command("et-compile", "net.mlir", "-o", "again.pte", "-q", "--target", "et-vm")
    assert ran.code == 0, ran.err
    assert Path("again.pte").read_bytes() == Path("net.pte").read_bytes()
    assert command("et-vm", "compare", "net.mlir", "net.pte").code == 0
    wrong = text.replace("!program.quantized<i8 [-", "!program.quantized<i8 [-1", 1)
    Path("wrong.mlir").write_text(wrong)
    for arguments in (("et-compile", "wrong.mlir", "-o", "wrong.pte"), ("et-vm", "run", "wrong.mlir")):
        ran = command(*arguments)
        assert ran.code == 3
        assert "[quantiz" in ran.err
        assert "Traceback" not in ran.err


@pytest.mark.parametrize("mode", ["int8-dynamic", "int8-weights", "8da4w"])
def test_a_module_that_is_a_layer(command: Command, mode: str) -> None:
    code, told = quantized(command, "--quantize", mode, factory="layer")
    assert code == 0, told
    assert command("et-vm", "run", "net.pte", "--poison").code == 0


def test_wrapped_weights(command: Command) -> None:
    ran = command("et-compile", "quantized.py:wrapped", "-o", "net.pte")
    assert ran.code == 4
    assert "it is a tensor subclass" in ran.err
    assert "unwrap it with torchao.utils.unwrap_tensor_subclass" in ran.err


def test_modules_in_floats(command: Command) -> None:
    code, told = quantized(command, "--quantize", "int8", "--calibrate", "data", "--keep-float", "body*")
    assert code == 0
    rows = {line.split()[0]: line.split() for line in told.splitlines() if line}
    assert rows["body.0"][2] == rows["body.0"][3]
    assert rows["head"][2] != rows["head"][3]
    assert "body.0" in told.partition("not quantized: ")[2]


def test_a_bound_of_quality(command: Command) -> None:
    code, told = quantized(
        command, "--quantize", "int8", "--calibrate", "data", "--accuracy", "0.0001%:quality"
    )
    assert code == 0
    assert "operators in floats" in told
    assert "(chosen)" in told


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--quantize", "int4"), "'int4' is not a quantization mode: expected one of int8, int8-dynamic"),
        (("--quantize", "int8"), "--quantize int8 needs --calibrate: a .npz, or a function of quantized.py"),
        (("--quantize", "int8", "--calibrate", "gone.npz"), "gone.npz: no such file"),
        (
            ("--quantize", "int8", "--calibrate", "double.npz"),
            "input 0 is torch.float64, expected torch.float32",
        ),
        (
            ("--quantize", "int8", "--calibrate", "narrow.npz"),
            "input 0 is [3, 2, 15], expected inputs of [2, 16]",
        ),
        (("--quantize", "int8", "--calibrate", "two.npz"), "2 arrays for 1 input"),
        (
            ("--quantize", "int8", "--calibrate", "undefined.npz"),
            "calibration data 0, tensor 0: NaN or infinity",
        ),
        (("--quantize", "int8", "--calibrate", "words.npz"), "input 0 is <U1, expected torch.float32"),
        (("--quantize", "int8", "--calibrate", "zeros.npz"), "zeros.npz: not a valid .npz file: members of"),
        (("--quantize", "int8", "--calibrate", "short.npz"), "--calibrate short.npz: not a valid .npz file"),
        (("--quantize", "int8", "--calibrate", "damaged.npz"), "damaged.npz: not a valid .npz file"),
        (
            ("--quantize", "int8", "--calibrate", "nothing"),
            "--calibrate nothing: no inputs, and int8 needs calibration data",
        ),
        (("--quantize", "int8", "--calibrate", "number"), "expected a generator of inputs, not int"),
        (
            ("--quantize", "int8", "--calibrate", "failing"),
            "error: --calibrate: the function failing of quantized.py failed: FileNotFoundError: ",
        ),
        (
            ("--quantize", "int8", "--calibrate", "narrow"),
            "calibration data 1: the module fails: Guard failed: x.size()[1] == 16; the sizes are those of",
        ),
        (
            ("--quantize", "int8-weights", "--accuracy", "1%:failing"),
            "error: --accuracy: the function failing of quantized.py failed: TypeError: ",
        ),
        (
            ("--quantize", "int8", "--calibrate", "dat"),
            "quantized.py has no function 'dat', did you mean data?",
        ),
        (("--quantize", "int8-weights", "--keep-float", "tail"), "no module's path matches 'tail'"),
        (
            ("--quantize", "int8-weights", "--accuracy", "1:quality"),
            "expected PERCENT%:FUNCTION, as 0.5%:evaluate",
        ),
        (("--quantize", "int8-weights", "--accuracy", "1%:impossible"), "where the bound is 0.99"),
        (("--keep-float", "head"), "--keep-float needs --quantize"),
        (("--calibrate", "data"), "--calibrate needs --quantize"),
    ],
)
def test_refusals(command: Command, options: tuple[str, ...], message: str) -> None:
    code, told = quantized(command, *options)
    assert code in (2, 3)
    assert message in told
    assert "Traceback" not in told
    assert not Path("net.pte").exists()


@pytest.mark.parametrize("factory", ["exported", "exported_module", "module_alone", "sized"])
@pytest.mark.parametrize(
    "options",
    [
        ("int8", "--calibrate", "data"),
        ("int8", "--calibrate", "named"),
        ("int8", "--calibrate", "stacked.npz"),
        ("int8-dynamic",),
        ("int8-weights",),
    ],
    ids=["data", "named", "arrays", "dynamic", "weights"],
)
def test_exported_programs(command: Command, factory: str, options: tuple[str, ...]) -> None:
    code, told = quantized(command, "--quantize", *options, factory=factory)
    assert code == 0, told
    rows = {line.split()[0]: line.split() for line in told.splitlines() if line}
    assert rows["body.0"][1:3] == ["linear", "2,048"]
    assert float(rows["all"][3]) < 0.5
    if factory == "sized":
        np.save("five.npy", np.ones((5, 16), np.float32))
        assert "[5, 4]" in command("et-vm", "run", "net.pte", "--poison", "--input", "five.npy").out
    assert command("et-vm", "run", "net.pte", "--poison").code == 0


def test_saved_programs(command: Command) -> None:
    import torch

    names: dict[str, object] = {"__name__": "saved"}
    exec(NET, names)
    torch.export.save(names["exported"](), "net.pt2")  # pyright: ignore[reportCallIssue]
    compiled = ("et-compile", "net.pt2", "-o", "net.pte", "--target", "et-vm", "--quantize", "int8")
    for data in ("stacked.npz", "quantized.py:data", "quantized.py:named"):
        ran = command(*compiled, "--calibrate", data, "--accuracy", "50%:quantized.py:quality")
        assert ran.code == 0, ran.err
        assert "none (chosen)" in ran.err
        assert command("et-vm", "run", "net.pte", "--poison").code == 0
    ran = command(*compiled, "--calibrate", "stacked.npz", "--backend", "xnnpack")
    assert ran.code == 0, ran.err
    assert "XnnpackBackend" in command("et-vm", "info", "net.pte").out
    assert command("et-vm", "run", "net.pte", "--poison").code == 0
    for options, message in (
        ((), "--quantize int8 needs --calibrate: a .npz, or file.py:function"),
        (("--calibrate", "data"), "--calibrate data: name the file of the function, file.py:data"),
        (
            ("--calibrate", "stacked.npz", "--accuracy", "1%:quality"),
            "--accuracy quality: name the file of the function, file.py:quality",
        ),
        (("--calibrate", "quantized.py:misnamed"), "calibration data 0 is of y: expected x"),
        (
            ("--calibrate", "stacked.npz", "--keep-float", "bod"),
            "no module's path matches 'bod': there is body",
        ),
    ):
        ran = command(*compiled, *options)
        assert ran.code in (2, 3)
        assert message in ran.err
    ran = command(*compiled[:-1], "8da4w")
    assert (ran.code, "an exported program has none: give the module" in ran.err) == (3, True)


def test_arrays_by_the_names_of_inputs(command: Command) -> None:
    Path("two.py").write_text(
        "import torch\nfrom torch import nn\n\n\n"
        "class Two(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        torch.manual_seed(0)\n        self.layer = nn.Linear(4, 4)\n\n"
        "    def forward(self, x, gain):\n        return self.layer(x) * gain\n\n\n"
        "def net():\n    return Two().eval(), (torch.ones(2, 4), torch.ones(2, 4))\n"
    )
    x, gain = np.full((3, 2, 4), 2, np.float32), np.full((3, 2, 4), 1e3, np.float32)
    np.savez("ordered.npz", x=x, gain=gain)
    np.savez("other.npz", gain=gain, x=x)
    np.savez("unnamed.npz", x, gain)
    files: list[bytes] = []
    for data in ("ordered.npz", "other.npz", "unnamed.npz"):
        compiled = ("et-compile", "two.py:net", "-q", "-o", "net.pte", "--quantize", "int8")
        ran = command(*compiled, "--calibrate", data)
        assert ran.code == 0, ran.err
        files.append(Path("net.pte").read_bytes())
    assert files[0] == files[1] == files[2]


def test_programs_that_are_no_modules(command: Command) -> None:
    ran = command("et-compile", "relu.mlir", "-o", "net.pte", "--quantize", "int8-weights")
    assert (ran.code, "relu.mlir is none any more" in ran.err) == (2, True)


@pytest.mark.parametrize("factory", ["exported_module", "module_alone"])
def test_a_module_of_an_exported_program(command: Command, factory: str) -> None:
    ran = command("et-compile", f"quantized.py:{factory}", "-o", "net.pte")
    assert ran.code == 0, ran.err
    assert "warning" not in ran.err
    assert command("et-vm", "run", "net.pte", "--poison").code == 0


@pytest.mark.parametrize(("factory", "number"), [("zero_scale", "0"), ("subnormal_scale", "1e-40")])
def test_scales_that_are_none(command: Command, factory: str, number: str) -> None:
    ran = command("et-compile", f"quantized.py:{factory}", "-o", "net.pte", "-q")
    assert ran.code == 3
    assert f"[quantization_c1] 'scale' in 1 is {number}: not a positive, finite, normal number" in ran.err
    assert "quantized.py:" in ran.err
    assert "Traceback" not in ran.err


def test_a_layer_that_saw_no_data(command: Command) -> None:
    code, told = quantized(command, "--quantize", "int8", "--calibrate", "data", factory="unseen")
    assert code == 3
    assert "'expert' reads, had no elements" in told
    assert "Traceback" not in told


def test_groups_that_do_not_divide(command: Command) -> None:
    code, told = quantized(command, "--quantize", "8da4w:group=24")
    assert code == 0
    assert "not quantized: body.0: Linear: groups of 24 do not divide its 16 inputs" in told


def test_a_logarithm_in_the_front_end(command: Command) -> None:
    """What feeds it stays in floats, said with its line; what else does is grouped, with what would quantize it."""
    spotter = ("et-compile", "support.keyword_spotter:model", "-o", "net.pte", "--target", "et-vm")
    options = ("--quantize", "int8", "--calibrate", "calibration")
    ran = command(*spotter, *options, "--accuracy", "1%:evaluate")
    assert ran.code == 0, ran.err
    assert "none (chosen)" in ran.err
    assert "aten.add.Tensor: its values need more than 8 bits: aten.log.default (" in ran.err
    assert "keyword_spotter.py:" in ran.err
    rows = {line.split()[0]: line for line in ran.err.splitlines() if line}
    assert float(rows[":mul"].split()[-2]) > 30
    assert "not quantized: 4 operators: no quantized kernel\n  1 aten.pad.default: mel (" in ran.err
    assert "no quantized kernel\n  fix: the mode int8:functions=8 quantizes these\n" in ran.err
    assert "warning" not in ran.err


def test_results_that_are_lost(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from et_ir.quantization.sensitivity import Sensitivities

    monkeypatch.setattr(Sensitivities, "coarse", lambda _: [])
    spotter = ("et-compile", "support.keyword_spotter:model", "-q", "-o", "net.pte", "--target", "et-vm")
    options = ("--quantize", "int8", "--calibrate", "calibration")
    ran = command(*spotter, *options)
    assert ran.code == 0
    assert "warning: the results of 'forward' are lost in the noise of 8 bits: " in ran.err
    assert "the first operator that loses them is mel (" in ran.err
    assert "): aten.add.Tensor, alone " in ran.err
    assert "fix: --keep-float 'mel' makes it " in ran.err
    assert "SQNR of weight" not in ran.err  # the table: -q is for warnings and errors
    ran = command(*spotter, *options, "--keep-float", "mel.*")
    assert ran.code == 0
    assert "warning" not in ran.err
    ran = command(*spotter, *options, "--keep-float", "mel:ad")
    assert ran.code == 3
    assert "no operator's name matches 'mel:ad': there is " in ran.err
    assert "mel:add" in ran.err.partition("there is ")[2]


def test_reasons_with_counts(command: Command) -> None:
    Path("many.py").write_text(
        "import torch\nfrom torch import nn\n\n\n"
        "class Split(nn.Module):\n    def forward(self, x):\n"
        "        a, b = torch.split(x, 8, 1)\n        return torch.cat([b, torch.exp(a)], 1)\n\n\n"
        "def net():\n    torch.manual_seed(0)\n"
        "    layers = [part for _ in range(6) for part in (nn.Linear(16, 16), nn.SiLU())]\n"
        "    return nn.Sequential(*layers, Split()).eval(), (torch.ones(2, 16),)\n\n\n"
        "def data():\n    yield torch.randn(2, 16)\n"
    )
    ran = command(
        *("et-compile", "many.py:net", "-o", "net.pte", "--quantize", "int8", "--calibrate", "data")
    )
    assert ran.code == 0, ran.err
    told = ran.err.partition("not quantized: ")[2].splitlines()
    assert told[0] == "6 operators: no quantized kernel"
    assert told[1].startswith("  6 aten.silu.default: 1, 3")
    assert told[1].endswith(", …")
    assert told[2] == "  fix: the mode int8:functions=8 quantizes these"
    assert "getitem" not in ran.err
    assert len(told) < 8


def test_what_is_rounded_for_a_backend(command: Command) -> None:
    """Native code gives floats, so only what the two layers read is rounded; others round the results, too."""
    options = ("--quantize", "int8", "--calibrate", "data")
    told = {
        "--backend=native": "values rounded to 8 bits: 2 (int8:results=32: what layers read)",
        "--backend=xnnpack": "values rounded to 8 bits: 3 (int8: operands and results of layers and of what is between",
        "--target=et-vm": "values rounded to 8 bits: 3 (int8: ",
        "--target=cortex-m4": "values rounded to 8 bits: 3 (int8: ",
    }
    for option, line in told.items():
        emit = () if "cortex" in option else ("--emit", "aten")
        ran = command("et-compile", "quantized.py:net", "-o", "net.o", *options, option, *emit)
        assert ran.code == 0, ran.err
        assert line in ran.err
    ran = command(
        *("et-compile", "quantized.py:net", "-o", "net.pte", *options, "--backend", "native"),
        "--quantized-io",
    )
    assert ran.code == 0, ran.err
    assert "values rounded to 8 bits: 3 (int8: " in ran.err
