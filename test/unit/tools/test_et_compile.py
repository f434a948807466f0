"""et-compile: every kind of input that compiles, and diagnostics of those that do not."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy
import pytest
from support.command_line import MODELS, Command

from et_ir.targets.lookup import DEFAULT
from et_schema.pte import open_pte

LEVELS = ("aten", "core-aten", "edge", "backend", "executorch")


@pytest.mark.parametrize("factory", ["net", "two"])
def test_every_road_leads_to_the_same_file(command: Command, factory: str) -> None:
    """Stopping at a level, as text with its weights beside it, and going on from there changes no byte."""
    ran = command("et-compile", f"subjects.py:{factory}", "-o", "direct.pte", "-q")
    assert ran == (0, "", "")
    direct = Path("direct.pte").read_bytes()
    for level in LEVELS:
        text = f"{level}.mlir"
        assert command("et-compile", f"subjects.py:{factory}", "--emit", level, "-o", text, "-q").code == 0
        assert command("et-compile", text, "-o", "again.pte", "-q") == (0, "", "")
        assert Path("again.pte").read_bytes() == direct, level
    assert command("et-translate", "--mlir-to-pte", "executorch.mlir", "-o", "translated.pte").code == 0
    assert Path("translated.pte").read_bytes() == direct
    assert command("et-translate", "--pte-to-mlir", "direct.pte", "-o", "back.mlir").code == 0
    assert command("et-compile", "back.mlir", "-o", "again.pte", "-q").code == 0
    assert Path("again.pte").read_bytes() == direct


def test_planners(command: Command) -> None:
    Path("mine.py").write_text("from et_ir.planning import plan_naive\n\nplan = plan_naive\n")
    options = ("--check-plan", "-q", "--emit", "executorch", "-o")
    for option in (("--memory-planning", "naive"), ("--planner", "mine.py:plan")):
        assert command(
            "et-compile", "subjects.py:net", *options, f"{option[0].strip('-')}.mlir", *option
        ) == (0, "", "")
    assert Path("planner.mlir").read_bytes() == Path("memory-planning.mlir").read_bytes()
    ran = command("et-compile", "subjects.py:net", "-o", "a.pte", "--memory-planning", "none")
    assert ran.code == 2
    assert "unknown planner 'none'; planners are best, exact, greedy" in ran.err


def test_buffers_of_a_plan(command: Command) -> None:
    compiled = command("et-compile", "relu.mlir", "-o", "relu.pte", "-q", "--dump-buffers", "relu.csv")
    assert (compiled.code, compiled.err) == (0, "")
    arenas = json.loads(command("et-vm", "info", "relu.pte", "--plan", "--json").out)["plan"]
    planned = command("et-plan", "relu.csv", "--json")
    assert json.loads(planned.out)["nbytes"] == arenas[0]["nbytes"]
    assert {"x", "relu"} & {tensor["name"] for tensor in json.loads(planned.out)["tensors"]}


def test_fill_of_banks(command: Command) -> None:
    banks = "sram:id=1,size=1K;dram:id=2"
    compiled = command("et-compile", "relu.mlir", "-o", "relu.pte", "--memory", banks)
    assert compiled.code == 0
    said = [line for line in compiled.err.splitlines() if line.startswith("forward: ")]
    assert [line.partition(" bytes")[0].split()[1] for line in said] == ["sram:", "dram:"]
    assert " of 1,024 bytes (" in said[0]


def test_text_on_standard_input(command: Command) -> None:
    assert command("et-compile", "subjects.py:net", "-o", "net.mlir", "--emit", "edge", "-q").code == 0
    text = Path("net.mlir").read_bytes()
    store = Path("net.safetensors")
    assert command("et-compile", "-", "--weights", store, "-o", "a.pte", "-q", stdin=text).code == 0
    ran = command("et-compile", "-", "-o", "b.pte", "-q", stdin=text)
    assert ran.code == 3
    assert (
        'the bytes of constant "fc.weight_permute" are missing: give the weight store with --weights'
        in ran.err
    )
    assert command("et-vm", "validate", "-", stdin=Path("a.pte").read_bytes()).code == 0


def test_progress_and_table_are_messages(command: Command) -> None:
    ran = command("et-compile", "subjects.py:chatty", "--emit", "edge", "--table")
    assert ran.code == 0
    assert ran.out.startswith("builtin.module {")
    lines = ran.err.splitlines()
    assert lines[0] == "made by a factory"
    assert [line.split()[0] for line in lines[1:]] == [
        "export", "import", "aten", "core-aten", "edge", "level", "aten", "core-aten", "edge",
    ]  # fmt: skip
    assert lines[-1].split() == ["edge", "3", "mm,", "add.Tensor,", "relu"]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("missing.py:net", "missing.py: no such file"),
        ("missing.module:net", "no module named 'missing'"),
        ("subjects.py:nat", "subjects.py has no factory 'nat', did you mean net?"),
        ("subjects.py:MODELS", "subjects.py has no factory 'MODELS'; it has net, two"),
        ("subjects.py:", "subjects.py has no factory ''"),
        (":net", "':net' has no module"),
        ("subjects.py", "subjects.py: name a factory, subjects.py:FACTORY; it has net, two, chatty"),
        ("empty.py", "empty.py: name a factory, empty.py:FACTORY; it has none"),
        (
            "subjects.pi",
            "expected file.py:factory, package.module:factory, hf:FOLDER, a .pt2, a .mlir or a .pte",
        ),
        (".", "expected file.py:factory"),
        ("random.py:net", "another module is named 'random': rename the file"),
        ("missing.pt2", "missing.pt2: no such file"),
        ("folder.pt2", "folder.pt2: is a folder"),
        ("missing.mlir", "missing.mlir: No such file or directory"),
    ],
)
def test_programs_that_are_not_there(command: Command, model: str, message: str) -> None:
    Path("folder.pt2").mkdir()
    Path("empty.py").write_text("")
    Path("random.py").write_text("def net(): pass")
    ran = command("et-compile", model, "-o", "x.pte")
    assert ran.code == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1


def test_layers_of_another_element_type(command: Command) -> None:
    ran = command("et-compile", "subjects.py:double_linear", "-o", "x.pte", "-q")
    assert ran.code == 3
    fix = "use one type, in PyTorch with x.to(dtype) or module.to(dtype); "
    assert f"mix element types: f64, f32\n  fix: {fix}" in ran.err
    ran = command("et-compile", "subjects.py:double_norm", "-o", "x.pte", "-q")
    assert ran.code == 3
    assert "\n  fix: use one type for the operands, in PyTorch with x.float()" in ran.err


def test_modules_in_training_mode(command: Command) -> None:
    assert command("et-compile", "subjects.py:net", "-o", "x.pte", "-q").err == ""
    for factory, changed in (
        ("training", "1 (Dropout)"),
        ("training_in_part", "1 (Dropout)"),
        ("drops", "DropsInside"),
        ("drops_in_a_function", "Drops"),
    ):
        ran = command("et-compile", f"subjects.py:{factory}", "--emit", "aten", "-q")
        assert ran.code == 0
        assert "train = false" in ran.out
        assert ran.err.startswith(
            "et-compile: warning: the module of 'forward' is in training mode and is compiled in evaluation mode, "
            f"which changes {changed}: return module.eval() from the factory; to compile training mode, return "
        )


def test_exported_programs_keep_their_mode(command: Command) -> None:
    ran = command("et-compile", "subjects.py:exported_training", "--emit", "aten", "-q")
    assert (ran.code, ran.err) == (0, "")
    assert "aten.dropout" in ran.out
    assert "train = true" in ran.out


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("subjects.py:function", "; make the function the forward of a torch.nn.Module"),
        ("subjects.py:raises", " in raises)\n  and more\n"),
        ("subjects.py:raises", "the factory subjects.py:raises failed: ValueError: the weights are gone ("),
        ("subjects.py:leaves", "SystemExit: 7 ("),
        ("subjects.py:needs", "missing 1 required positional argument"),
        (
            "subjects.py:nothing",
            "or an ExportedProgram for 'forward', not 'NoneType'",
        ),
        ("subjects.py:number", "for 'a', not 'int'"),
        ("subjects.py:no_methods", "returned no methods"),
        ("subjects.py:no_tuple", "must give example_args as a tuple, got Tensor"),
        ("subjects.py:wrong_shape", "but got [2, 15] X [16, 8]. ("),
        ("subjects.py:branch", "Could not guard on data-dependent expression Eq(u0, 1) ("),
        ("subjects.py:asserts", "fix: an assertion depends on the values of a tensor: use torch._check"),
        (
            "subjects.py:loops",
            "fix: a Python number is made of a tensor's value, as by int(x) or range(n): compute",
        ),
        ("subjects.py:uses_numpy", "fix: numpy cannot be exported: compute with torch's functions"),
        ("subjects.py:no_keyword", "fix: give example_args as (args, kwargs), such as ((x,), {'mask': m})"),
        ("subjects.py:branch", "fix: a branch depends on the values of a tensor: use torch.cond"),
        (
            "subjects.py:no_fake",
            "fix: tell torch the shape and type of the operator's result: @OPERATOR.register_fake",
        ),
        (
            "subjects.py:no_meta",
            "fix: tell torch the shape and type of the operator's result: @OPERATOR.register_fake",
        ),
        (
            "subjects.py:double",
            "fix: example inputs and parameters have different element types: convert the inputs",
        ),
        ("subjects.py:specialised", "Suggested fixes:\n    n = 8"),
        (
            "subjects.py:spectrum",
            'fix: torch cannot prove this of the range of Dim("n"): give Dim.AUTO in its place, which takes the ranges '
            "that the program has, and the largest size with --default-bound x.1=256\n",
        ),
        ("subjects.py:spectrum_without_maximum", "with --default-bound x.1=N\n"),
        ("broken.py:net", "importing broken.py failed: SyntaxError: '(' was never closed ("),
        ("needy.py:net", "importing needy.py failed: ModuleNotFoundError: No module named 'nothing_here'"),
        ("garbage.pt2", "garbage.pt2 is not an exported program: "),
    ],
)
def test_programs_that_cannot_be_made(command: Command, model: str, message: str) -> None:
    Path("broken.py").write_text("def net(")
    Path("needy.py").write_text("import nothing_here")
    Path("garbage.pt2").write_bytes(b"PK\3\4" + bytes(100))
    Path("x.pte").write_bytes(b"before")
    ran = command("et-compile", model, "-o", "x.pte")
    assert ran.code == 3
    assert message in ran.err
    assert ran.err.startswith("et-compile: error: ")
    assert Path("x.pte").read_bytes() == b"before"


def test_sizes_that_torch_proves_nothing_of(command: Command) -> None:
    """What the message about `spectrum` says compiles."""
    options = ("--default-bound", "x.1=256", "--target", "et-vm", "-q", "-o", "x.pte")
    assert command("et-compile", "subjects.py:spectrum_of_any_length", *options) == (0, "", "")
    numpy.save("x.npy", numpy.ones((1, 80), numpy.float32))
    assert "output 0  float32 [1, 5, 21]" in command("et-vm", "run", "x.pte", "--input", "x.npy").out


def test_the_place_in_the_users_code(command: Command) -> None:
    source = Path("subjects.py").read_text().splitlines()
    for factory, line in (("raises", "    raise ValueError"), ("branch", "        if x.sum() > 0:")):
        number = next(n for n, text in enumerate(source, 1) if text.startswith(line))
        assert (
            f"subjects.py:{number} in " in command("et-compile", f"subjects.py:{factory}", "-o", "x.pte").err
        )


def test_what_is_not_supported_is_named_with_its_lines(command: Command) -> None:
    ran = command("et-compile", "subjects.py:unsupported", "-o", "x.pte", "-q")
    assert ran.code == 4
    source = Path("subjects.py").read_text().splitlines()
    for name, part in (
        ("edge.acme.gain", "torch.ops.acme.gain(x)"),
        ("aten.to.dtype", "x.to(torch.chalf)"),
    ):
        number = next(n for n, text in enumerate(source, 1) if part in text)
        assert f"subjects.py:{number}: error: '{name}': " in ran.err
    assert ran.err.count("  fix: ") == 2
    assert 'torch.library.define("acme::gain.out", "(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")' in ran.err


FAULTS = {
    "edge.acme.gain": ("twice = ", "define one, export again, write its kernel"),
    "aten.to.dtype": ("half = ", "compute complex numbers in float32"),
    "aten.to.dtype ": ("short = ", "convert to a signed integer type"),
    "aten.quantize_per_tensor": ("bytes = ", "quantise with PT2E"),
    "aten.dequantize.self": ("bytes = ", "quantise with PT2E"),
    "edge.nonzero": ("waves = ", "convert its operands to another type"),
    "aten::_linalg_eigh.eigenvalues": ("modes = ", "compile for a target that has a kernel for it"),
}
"""The faults in `Faulty`: subject, first words of its line and of the fix. Three stages find them."""


def test_all_faults_are_in_one_report(command: Command) -> None:
    ran = command("et-compile", "subjects.py:faulty", "-o", "x.pte", "-q")
    assert ran.code == 4
    assert not Path("x.pte").exists()
    source = Path("subjects.py").read_text().splitlines()
    reported = ran.err.splitlines()
    for name, (line, fix) in FAULTS.items():
        number = next(n for n, text in enumerate(source, 1) if text.strip().startswith(line))
        place = f"subjects.py:{number}: error: '{name.strip()}': "
        (at,) = [i for i, text in enumerate(reported) if place in text]
        assert reported[at + 1].strip().startswith("fix: ")
        assert fix in reported[at + 1]
    assert 'et-compile: error: buffer "mask": tensors of layout sparse_coo are not supported' in ran.err
    assert ran.err.count("error: ") == len(FAULTS) + 1  # nothing is reported for depending on what is


def test_kernels_that_the_target_lacks(command: Command) -> None:
    """Every operator at once, each with its line; another target may have them."""
    line = [
        "et-compile",
        "subjects.py:product",
        "-o",
        "x.pte",
        "-q",
        "--preserve",
        "cumprod",
        "--preserve",
        "mish",
    ]
    ran = command(*line)
    assert ran.code == 4
    source = Path("subjects.py").read_text().splitlines()
    number = next(n for n, text in enumerate(source, 1) if "cumprod" in text)
    assert f"subjects.py:{number}: error: 'aten::cumprod.out': '{DEFAULT}' has no kernel for it" in ran.err
    assert f"subjects.py:{number}: error: 'aten::mish.out': '{DEFAULT}' has no kernel for it" in ran.err
    assert not Path("x.pte").exists()
    assert command(*line, "--target", "et-vm").code == 0
    assert command("et-vm", "run", "x.pte").code == 0
    # The same for a text at the last level.
    assert command("et-translate", "--pte-to-mlir", "x.pte", "-o", "x.mlir").code == 0
    assert command("et-compile", "x.mlir", "-o", "y.pte", "-q").code == 4
    assert command("et-compile", "x.mlir", "-o", "y.pte", "-q", "--target", "et-vm").code == 0


def test_the_fastest_of_one_backend(command: Command) -> None:
    ran = command("et-compile", "subjects.py:net", "-o", "x.pte", "--backend", "tosa", "--choose", "fastest")
    assert ran.code == 2
    assert "--choose fastest needs several backends, such as --backend native,openvino" in ran.err


def test_backends_that_are_not_there(command: Command) -> None:
    ran = command("et-compile", "subjects.py:net", "-o", "x.pte", "--backend", "npu:cores=4")
    assert ran.code == 4
    assert ran.err == (
        "et-compile: error: argument --backend: unknown backend 'npu'; "
        "backends are: coreml, ethos-u, native, nested, openvino, tosa, vgf, vulkan, vulkan-graph, xnnpack; "
        "for npu give ethos-u or openvino or coreml\n"
    )
    assert (
        "did you mean 'xnnpack'?" in command("et-compile", "relu.mlir", "-o", "x", "--backend", "xnpack").err
    )
    ran = command("et-compile", "relu.mlir", "-o", "x", "--backend", "xnnpack:mni=1")
    assert ran.code == 2
    assert ran.err.startswith(
        "et-compile: error: argument --backend: backend 'xnnpack': unknown option 'mni'"
    )


def test_outputs_are_checked_before_the_work(command: Command) -> None:
    for output, message in (("no/where.pte", "does not exist"), (".", "is a folder")):
        ran = command("et-compile", "subjects.py:raises", "-o", output)
        assert ran.code == 2
        assert message in ran.err
        assert "factory" not in ran.err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (("relu.mlir", "-o", "x.pte", "--preserve", "nope"), "--preserve: unknown operator nope"),
        (("relu.mlir", "--emit", "edge", "--debug-map", "m.json"), "which --emit edge does not have"),
        (("relu.mlir", "-o", "x.pte", "--debug-map", "no/m.json"), "no/m.json: the folder "),
        (("relu.mlir", "--emit", "edge", "--dump-buffers", "b.csv"), "which --emit edge does not have"),
        (("relu.mlir", "-o", "x.pte", "--dump-buffers", "./x.pte"), "is also the input or output file"),
        (
            ("relu.mlir", "--emit", "edge", "--tensor-alignment", "64"),
            "alignment options apply to .pte files only",
        ),
        (
            ("relu.mlir", "-o", "x.pte", "--segment-alignment", "3"),
            "not a valid alignment: expected a power of two",
        ),
        (
            ("relu.mlir", "-o", "x.pte", "--delegate-alignment", "0"),
            "not a valid alignment: expected a power of two",
        ),
        (("relu.mlir", "-o", "x.pte", "--debug-map", "./x.pte"), "is also the input or output file"),
        (("relu.mlir", "-o", "x.pte", "--debug-map", "relu.mlir"), "is also the input or output file"),
        (("relu.mlir", "-o", "relu.mlir"), "would overwrite the input"),
        (("subjects.py:net", "-o", "./subjects.py"), "would overwrite the input"),
        (("subjects.py:net", "-o", "subjects.py", "--emit", "edge"), "would overwrite the input"),
        (("subjects.py:net", "-o", "x.pte", "--weights", "w"), "--weights applies to .mlir input only"),
    ],
)
def test_options_that_make_no_sense(command: Command, line: tuple[str, ...], message: str) -> None:
    there = {path: path.read_bytes() for path in Path.cwd().iterdir() if path.is_file()}
    ran = command("et-compile", *line)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("et-compile: error: ")
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert {path: path.read_bytes() for path in Path.cwd().iterdir() if path.is_file()} == there


def test_alignments(command: Command) -> None:
    """A file is aligned as the command says, and so is what becomes of it by way of text."""
    line = ("--tensor-alignment", "256", "--segment-alignment", "4096")
    assert command("et-compile", "subjects.py:net", "-o", "net.pte", "-q", *line).code == 0
    file = open_pte("net.pte")
    assert file.header is not None
    assert file.header.segment_base_offset % 4096 == 0
    assert file.program.constant_segment is not None
    assert all(offset % 256 == 0 for offset in file.program.constant_segment.offsets)
    assert command("et-translate", "--pte-to-mlir", "net.pte", "-o", "net.mlir").code == 0
    assert command("et-translate", "--mlir-to-pte", "net.mlir", "-o", "same.pte").code == 0
    assert Path("same.pte").read_bytes() == Path("net.pte").read_bytes()
    narrow = ("--tensor-alignment", "16", "--segment-alignment", "128")
    assert command("et-translate", "--mlir-to-pte", "net.mlir", "-o", "narrow.pte", *narrow).code == 0
    assert command("et-compile", "subjects.py:net", "-o", "net.pte", "-q").code == 0
    assert Path("narrow.pte").read_bytes() == Path("net.pte").read_bytes()
    ran = command("et-translate", "--pte-to-mlir", "net.pte", *narrow)
    assert (ran.code, "alignment options apply to --mlir-to-pte only" in ran.err) == (2, True)


def test_a_text_may_be_lowered_in_its_place(command: Command) -> None:
    assert command("et-compile", "relu.mlir", "-q", "--emit", "edge", "-o", "relu.mlir").code == 0
    assert "edge.relu" in Path("relu.mlir").read_text()


@pytest.mark.parametrize("sizes", [(2 * 10**9, 2 * 10**9), (2**31 - 1, 2**31 - 1, 2)])
def test_memory_that_no_arena_has(command: Command, sizes: tuple[int, ...]) -> None:
    shape, size = "x".join(map(str, sizes)), math.prod(sizes)
    text = Path("relu.mlir").read_text().replace("tensor<4x", f"tensor<{shape}x")
    Path("relu.mlir").write_text(text)
    ran = command("et-compile", "relu.mlir", "-o", "x.pte", "-q")
    assert ran.code == 6
    assert ran.err.startswith("relu.mlir:")
    assert "arena 1 needs " in ran.err
    assert f" bytes, {size * 4} of them for this tensor<{shape}xf32>" in ran.err
    assert "\n  fix: " in ran.err
    assert not Path("x.pte").exists()


def test_sizes_that_no_file_has(command: Command) -> None:
    """Sizes of tensors have 32 bits there."""
    Path("big.mlir").write_text(Path("relu.mlir").read_text().replace("tensor<4x", "tensor<4000000000000x"))
    ran = command("et-compile", "big.mlir", "-o", "x.pte", "-q", "--memory", "main:id=1,size=30000G")
    assert ran.code == 3
    assert ran.err.startswith("big.mlir:1:1: error: ")
    assert "a size of 4000000000000; the runtime takes at most 2147483647" in ran.err
    assert not Path("x.pte").exists()


def test_interrupted(command: Command) -> None:
    Path("x.pte").write_bytes(b"before")
    ran = command("et-compile", "subjects.py:interrupted", "-o", "x.pte")
    assert ran.code == 130
    line = MODELS.split("\n").index("    raise KeyboardInterrupt") + 1
    assert ran.err == f"et-compile: interrupted at subjects.py:{line} in interrupted\n"
    assert Path("x.pte").read_bytes() == b"before"


BAD = {
    "aten": (
        "func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = program.get @w : tensor<4xf32>\n"
        "  func.return %0 : tensor<4xf32>\n}\n",
        "aten.mlir:2:3: error: 'program.get': ",
    ),
    "core-aten": (
        "func.func @forward(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {\n"
        "  %0 = aten.to_sparse %x : tensor<4x4xf32>\n"
        "  func.return %0 : tensor<4x4xf32>\n}\n",
        "core-aten.mlir:2:3: error: 'aten.to_sparse': [core_aten_c1]",
    ),
    # Torch's shape function raises IndexError, no error of its own.
    "decompose": (
        "func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = aten._chunk_cat [%x] {dim = 7, num_chunks = 2} : (tensor<4xf32>) -> tensor<4xf32>\n"
        "  func.return %0 : tensor<4xf32>\n}\n",
        "decompose.mlir:2:3: error: 'aten._chunk_cat': ",
    ),
    "edge": (
        "func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = edge.relu %x : tensor<4xf32>\n"
        "  %1 = aten.relu %0 : tensor<4xf32>\n"
        "  func.return %1 : tensor<4xf32>\n}\n",
        "edge.mlir:3:3: error: 'aten.relu': [edge_c1]",
    ),
    "executorch": (
        "executorch.plan @forward {arenas = array<i64: 16>} {\n"
        "  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>\n"
        "  %0 = executorch.alloc {memory_id = 1, offset = 8} : tensor<4xf32>\n"
        '  executorch.kernel_call "aten::relu.out"(%x) outs(%0)\n'
        "  executorch.return %0\n}\n",
        "executorch.mlir:3:3: error: 'executorch.alloc': ",
    ),
}


@pytest.mark.parametrize("level", BAD)
def test_texts_that_break_the_contract_of_their_level(command: Command, level: str) -> None:
    text, message = BAD[level]
    Path(f"{level}.mlir").write_text(text)
    ran = command("et-compile", f"{level}.mlir", "-o", "x.pte", "-q")
    assert ran.code == 3
    assert message in ran.err
    assert not Path("x.pte").exists()


def test_a_level_that_has_passed(command: Command) -> None:
    Path("edge.mlir").write_text(BAD["edge"][0].replace("aten.relu", "edge.relu"))
    ran = command("et-compile", "edge.mlir", "--emit", "aten")
    assert ran.code == 2
    assert "edge.mlir is already at the edge level, past --emit aten" in ran.err


def test_weight_stores(command: Command) -> None:
    """Missing, of another program, damaged, cut off, no store at all."""
    assert command("et-compile", "subjects.py:net", "--emit", "edge", "-o", "net.mlir", "-q").code == 0
    good = Path("net.safetensors").read_bytes()
    Path("alone.mlir").write_text(Path("net.mlir").read_text())
    line = ["et-compile", "alone.mlir", "-o", "x.pte", "-q"]

    def fails(message: str, *more: str) -> None:
        ran = command(*line, *more)
        assert ran.code == 3
        assert message in ran.err
        assert not Path("x.pte").exists()

    fails("alone.safetensors does not exist; give the weight store with --weights")
    length = int.from_bytes(good[:8], "little")
    for data, message in (
        (
            good[:8] + good[8 : 8 + length].replace(b"data_offsets", b"data_0ffsets") + good[8 + length :],
            "header",
        ),
        (good[:-1] + bytes([good[-1] ^ 1]), "the weight store is damaged"),
        (good[:-5], "lies outside of the file"),
        (good[:5], "not a weight store: 5 bytes"),
        (b"", "not a weight store: 0 bytes"),
        (bytes(range(256)), "exceeds the file"),
        (len(b"[" * 5000).to_bytes(8, "little") + b"[" * 5000, "its header cannot be read"),
        (
            b"\2\0\0\0\0\0\0\0{}",
            'has no constant "fc.weight_permute": it belongs to another program',
        ),
    ):
        Path("other.safetensors").write_bytes(data)
        fails(message, "--weights", "other.safetensors")
    Path("alone.safetensors").write_bytes(b"\2\0\0\0\0\0\0\0{}")
    fails("they are not in alone.safetensors, which belongs to another program")
    assert command(*line, "--weights", "missing.safetensors").code == 2
    assert command(*line, "--weights", ".").code == 2
    # A text can be lowered, printed and written without its weights as long as no pass needs them.
    Path("alone.safetensors").unlink()
    assert command("et-opt", "-p", "verify-edge", "alone.mlir").code == 0
    ran = command("et-opt", "-p", "cse", "alone.mlir", "-o", "out.mlir")
    assert ran.code == 0
    assert "et-opt: warning: out.mlir: no bytes for the constant 'fc.weight_permute'" in ran.err


def test_letters_outside_of_ascii(command: Command) -> None:
    """In names, in strings and in the lines that locations quote, at every level."""
    source = (
        Path("subjects.py")
        .read_text()
        .replace("self.fc", "self.größe")
        .replace("relu(", 'relu(  # "ä\\ö"\n ')
    )
    Path("subjects.py").write_text(source)
    line = ("et-compile", "subjects.py:net", "--emit-stacktrace", "-q")
    assert command(*line, "-o", "direct.pte").code == 0
    for level in LEVELS:
        assert command(*line, "--emit", level, "-g", "-o", "text.mlir").code == 0
        assert command("et-opt", "text.mlir").code == 0
        assert command("et-compile", "text.mlir", "--emit-stacktrace", "-q", "-o", "again.pte").code == 0
        assert Path("again.pte").read_bytes() == Path("direct.pte").read_bytes(), level


def test_methods_that_return_constants(command: Command) -> None:
    Path("several.py").write_text(
        "import torch\nfrom subjects import net\n"
        "def several():\n"
        "    return {'forward': net(), 'width': 128, 'scales': [torch.ones(2), 0.5], 'name': 'small'}\n"
    )
    assert command("et-compile", "several.py:several", "-o", "several.pte", "-q").code == 0
    for method, shown in (("width", "128"), ("scales", "[1, 1]"), ("name", "small")):
        ran = command("et-vm", "run", "several.pte", "--method", method)
        assert (ran.code, shown in ran.out) == (0, True), ran.out


def test_memory_that_does_not_do(command: Command) -> None:
    ran = command("et-compile", "subjects.py:net", "-o", "net.pte", "-q", "--memory", "sram:id=1,size=16")
    assert ran.code == 6
    assert "bytes of sram" in ran.err
    assert "the smallest sufficient capacity is" in ran.err
    assert not Path("net.pte").exists()
    capacity = ran.err.partition("the smallest sufficient capacity is ")[2].partition(" ")[0]
    options = ("-o", "net.pte", "-q", "--check-plan", "--memory")
    ran = command("et-compile", "subjects.py:net", *options, f"sram:id=1,size={int(capacity) - 1}")
    assert ran.code == 6
    assert "subjects.py:" in ran.err
    assert command("et-compile", "subjects.py:net", *options, f"sram:id=1,size={capacity}") == (0, "", "")
    assert command("et-compile", "subjects.py:net", *options, "sram:id=1,size=16;dram:id=2") == (0, "", "")
    ran = command("et-compile", "subjects.py:net", *options, "sram")
    assert ran.code == 2
    assert "--memory: 'sram' has no id" in ran.err


def test_memory_of_the_caller(command: Command) -> None:
    for value, code in (("forward.inputs.0", 0), ("forward.outputs", 0), ("inputs", 2), ("other.inputs", 3)):
        ran = command("et-compile", "subjects.py:net", "-o", "net.pte", "-q", "--caller-memory", value)
        assert ran.code == code, ran.err


def test_values_in_banks(command: Command) -> None:
    options = ("-o", "net.pte", "-q", "--memory", "sram:id=1;dram:id=2")
    pins = ("--pin", "forward.inputs.0=dram", "--pin", "forward.outputs=sram")
    assert command("et-compile", "subjects.py:net", *options, *pins) == (0, "", "")
    ran = command("et-vm", "info", "--plan", "--json", "net.pte")
    assert {arena["arena"] for arena in json.loads(ran.out)["plan"]} == {1, 2}
    for pin, code, message in (
        ("forward.inputs.0=flash", 2, "no bank named 'flash'; the banks are sram, dram"),
        ("forward.inputs.0", 2, "expected VALUE=BANK"),
        ("net=sram", 2, "expected VALUE=BANK"),
        ("forward.inputs.7=sram", 3, "forward.inputs.7': forward has"),
        ("forward.modules.nothing=sram", 3, "no modules"),
        ("forward.state.cache=sram", 3, "forward has no state"),
        ("other.inputs=sram", 3, "'other.inputs' is not a selector such as forward.inputs.0"),
    ):
        ran = command("et-compile", "subjects.py:net", *options, "--pin", pin)
        assert (ran.code, message in ran.err) == (code, True), ran.err
    ran = command("et-compile", "subjects.py:net", "-o", "net.pte", "--pin", "forward.inputs=sram")
    assert (ran.code, "no banks are defined: give --memory" in ran.err) == (2, True)
    ran = command(
        "et-compile", "subjects.py:net", *options, "--no-plan-inputs", "--pin", "forward.inputs=sram"
    )
    assert (ran.code, "its memory is not planned" in ran.err) == (3, True)


def test_a_compiled_program_is_compiled_again(command: Command) -> None:
    """A file is recognised by its content, and raised to edge."""
    assert command("et-compile", "subjects.py:net", "-o", "first.pte", "-q").code == 0
    Path("first.pte").rename("any")
    text = command("et-compile", "any", "--emit", "edge", "-q")
    assert text.code == 0
    assert "func.func @forward" in text.out
    assert "executorch." not in text.out
    assert command("et-compile", "any", "-o", "again.pte", "-q", "-O2", "--backend", "xnnpack") == (0, "", "")
    assert open_pte("again.pte").program.execution_plan[0].delegates


def test_options_that_a_compiled_program_has_no_use_for(command: Command) -> None:
    assert command("et-compile", "subjects.py:net", "-o", "first.pte", "-q").code == 0
    for options, message in (
        (("--emit", "aten"), "a .pte is raised to the edge level, not beyond"),
        (("-o", "first.pte"), "would overwrite the input"),
        (("-o", "x.pte", "--weights", "w.safetensors"), "--weights applies to .mlir input only"),
    ):
        ran = command("et-compile", "first.pte", *options)
        assert ran.code == 2
        assert message in ran.err
    ran = command("et-compile", "subjects.py:net", "-o", "x.pte", "--data", "constants.ptd")
    assert (ran.code, "--data applies to .pte input only" in ran.err) == (2, True)
    Path("broken.pte").write_bytes(Path("first.pte").read_bytes()[:500])
    ran = command("et-compile", "broken.pte", "-o", "x.pte")
    assert ran.code == 3
    assert "truncated" in ran.err
