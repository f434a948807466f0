"""Help, version, and invalid command lines."""

import re
from argparse import ArgumentParser
from pathlib import Path

import pytest
from support.command_line import Command

from et_tools.vm_verbs import VERBS

PAGE = Path(__file__).parents[3] / "docs" / "commands.md"
COMMANDS = ("et-opt", "et-translate", "et-compile", "et-vm", "et-plan", "et-bisect", "et-reduce", "et-sweep")
SUBCOMMANDS = [("et-vm", verb.name) for verb in VERBS]


@pytest.mark.parametrize("line", [(name,) for name in COMMANDS] + SUBCOMMANDS)
def test_help_ends_with_the_exit_codes_of_the_page(command: Command, line: tuple[str, ...]) -> None:
    table = PAGE.read_text(encoding="utf-8").partition("<!-- table exit codes -->")[2]
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", table.partition("<!-- end")[0], flags=re.M)
    wanted = [f"  {code:4}{meaning.replace('`', '')}" for code, meaning in rows]
    shown = command(*line, "--help").out.rstrip().splitlines()
    assert len(rows) == 9
    assert shown[-10:] == ["exit codes:", *wanted]


@pytest.mark.parametrize("line", [(name,) for name in COMMANDS] + SUBCOMMANDS)
def test_help_starts_with_examples(command: Command, line: tuple[str, ...]) -> None:
    ran = command(*line, "--help")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == "examples:"
    assert lines[1].startswith(f"  {' '.join(line)} ")
    assert f"usage: {' '.join(line)} " in ran.out
    assert max(map(len, lines)) <= 110


def test_values_of_options_have_names(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which the help shows: the option's own in capitals says nothing."""
    shown: list[ArgumentParser] = []
    monkeypatch.setattr(ArgumentParser, "print_help", lambda self, file=None: shown.append(self))
    for line in [*((name,) for name in COMMANDS), *SUBCOMMANDS]:
        command(*line, "--help")
    assert len(shown) == len(COMMANDS) + len(SUBCOMMANDS)
    unnamed = [
        (parser.prog, action.option_strings)
        for parser in shown
        for action in parser._actions
        if action.option_strings and action.nargs != 0 and not action.choices and not action.metavar
    ]
    assert not unnamed


@pytest.mark.parametrize("name", COMMANDS)
def test_version(command: Command, name: str) -> None:
    ran = command(name, "--version")
    assert ran.code == 0
    assert re.fullmatch(rf"{name} \d+\.\d+\.\d+\n", ran.out)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (("et-opt", "--nope"), "unrecognized arguments: --nope (see et-opt --help)"),
        (("et-opt", "--verify-diag", "x.mlir"), ": --verify-diag, did you mean '--verify-diagnostics'?"),
        (("et-opt", "--print-ir-afer-all"), ", did you mean '--print-ir-after-all'? (see et-opt --help)"),
        (("et-opt", "--stop-afer=cse"), ": --stop-afer=cse, did you mean '--stop-after'?"),
        (("et-vm", "run", "x.pte", "--repat", "3"), ", did you mean '--repeat'? (see et-vm run --help)"),
        (("et-vm", "verify", "x.bpte", "--kernels", "atem"), ", did you mean 'aten'?"),
        (("et-plan", "x.csv", "--budgte", "3"), ", did you mean '--budget'?"),
        (("et-plan", "relu.mlir", "--color", "nevr"), ", did you mean 'never'?"),
        (("et-opt", "a.mlir", "b.mlir"), "unrecognized arguments: b.mlir"),
        (
            ("et-translate", "relu.mlir"),
            "one of the arguments --pt2-to-mlir --mlir-to-pte --pte-to-mlir is required",
        ),
        (("et-translate", "--mlir-to-pte", "--pte-to-mlir"), "not allowed with argument"),
        (
            ("et-compile", "relu.mlir", "-o", "x", "--backend"),
            "argument --backend: expected one argument: coreml, ethos-u, native, ",
        ),
        (("et-compile", "relu.mlir", "-o", "x", "--target"), "expected one argument: stock-1.5, "),
        (("et-compile", "relu.mlir", "--emit"), "expected one argument: aten, core-aten, "),
        (
            ("et-opt", "relu.mlir", "-p"),
            "argument -p/--pass-pipeline/--passes: expected one argument: PIPELINE, pass pipeline: 'a{option",
        ),
        (("et-compile",), "the following arguments are required: MODEL"),
        (("et-compile", "relu.mlir"), "no output file: give -o FILE"),
        (("et-compile", "relu.mlir", "--emit", "mlir"), "invalid choice: 'mlir'"),
        (
            ("et-compile", "relu.mlir", "--target", "gpu", "-o", "x"),
            "argument --target: unknown target 'gpu', expected one of stock-1.5",
        ),
        (("et-compile", "relu.mlir", "--emit", "edgy"), ", did you mean 'edge'? (see et-compile --help)"),
        (
            ("et-compile", "relu.mlir", "--target", "stok-1.5", "-o", "x"),
            "did you mean 'stock-1.5'?",
        ),
        (("et-compile", "relu.mlir", "-o", "x", "--memory-planning", "exat"), ", did you mean 'exact'?"),
        (("et-vm", "rum"), ", did you mean 'run'?"),
        (("et-vm",), "the following arguments are required: VERB"),
        (("et-vm", "fly"), "invalid choice: 'fly'"),
        (("et-vm", "run"), "arguments are required: FILE, as in: et-vm run model.pte (see et-vm run --help)"),
        (("et-plan",), "the following arguments are required: FILE, as in: et-plan net.pte (see"),
        (
            ("et-vm", "build"),
            "as in: et-vm build --target cortex-m4 --ops model.pte -o build/ (see et-vm build",
        ),
        (("et-vm", "run", "x.pte", "-o", "out"), ": -o out, did you mean '--output-dir'?"),
        (("et-opt", "--list"), ": --list, did you mean '--list-passes'?"),
        (("et-opt", "x.mlir", "--verify"), ": --verify, did you mean '--verify-each'?"),  # not --no-verify
        (("et-compile", "relu.mlir", "--verbose"), ": --verbose (see et-compile --help)"),  # not --version
        (
            ("et-compile", "relu.mlir", "--input", "x.npy"),
            ": --input x.npy (see et-compile --help)",
        ),  # not --pin
        (("et-vm", "report", "x.pte", "-o", "x.html", "--times"), ": --times, did you mean '--measure'?"),
        (
            ("et-vm", "report", "x.pte", "-o", "x.html", "--emit", "edge"),
            ": --emit edge: options of et-compile are given by --compile '--emit edge'",
        ),
        (("et-vm", "run", "x.pte", "--repeat", "0"), "'0' is not a positive number"),
    ],
)
def test_wrong_command_lines(command: Command, line: tuple[str, ...], message: str) -> None:
    ran = command(*line)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith(f"{line[0]}: error: ")
    assert message in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("number", ["inf", "nan", "-1", "1e400", "9" * 400])
@pytest.mark.parametrize(
    "line",
    [
        ("et-vm", "verify", "x.bpte", "--rtol"),
        ("et-vm", "compare", "x.pte", "y.pte", "--bound"),
        ("et-compile", "relu.mlir", "-o", "x.pte", "--check-passes", "--check-bound"),
    ],
    ids=lambda line: line[-1],
)
def test_tolerances_are_finite(command: Command, line: tuple[str, ...], number: str) -> None:
    """With an infinite one, every result would pass."""
    ran = command(*line, number)
    assert ran.code == 2
    assert "is not a finite, non-negative number" in ran.err


HUGE = "9" * 5000


@pytest.mark.parametrize(
    "line",
    [
        ("et-vm", "run", "relu.pte", "--repeat", HUGE),
        ("et-vm", "run", "relu.mlir", "--threads", HUGE),
        ("et-vm", "run", "relu.mlir", "--input", f"random:{HUGE}"),
        ("et-vm", "profile", "relu.pte", "--warmup", HUGE),
        ("et-vm", "generate", "relu.pte", "--prompt", "x", "--seed", HUGE),
        ("et-vm", "generate", "relu.pte", "--prompt", "x", "--max-new-tokens", HUGE),
        ("et-vm", "debug", "relu.pte", "--command", f"break {HUGE}"),
        ("et-vm", "debug", "relu.pte", "--command", f"step {HUGE}"),
        ("et-vm", "debug", "relu.pte", "--command", f"print %0[{HUGE}]"),
        ("et-vm", "debug", "relu.pte", "--command", f"break model.py:{HUGE}"),
        ("et-compile", "relu.mlir", "-o", "x.pte", "--tensor-alignment", HUGE),
        ("et-compile", "models.py:net", "-o", "x.pte", "--default-bound", f"x.0={HUGE}"),
        ("et-compile", "relu.mlir", "-o", "x.mlir", "--stop-after", f"cse,{HUGE}"),
        ("et-compile", "relu.mlir", "-o", "x.pte", "--rewrite-limit", HUGE),
        ("et-compile", "relu.mlir", "-o", "x.pte", f"--check-passes=random:{HUGE}"),
        ("et-compile", "models.py:net", "-o", "x.pte", "--quantize", f"8da4w:group={HUGE}"),
        ("et-compile", "relu.mlir", "-o", "x.pte", "--backend", f"xnnpack:min={HUGE}"),
        ("et-compile", "relu.mlir", "-o", "x.pte", "--backend", f"native:bands={HUGE}"),
        ("et-compile", "relu.mlir", "-o", "x.pte", "--memory", f"sram:id={HUGE}"),
        ("et-opt", "relu.mlir", "-p", f"lower-vectors{{lanes={HUGE}}}"),
        ("et-plan", "relu.mlir", "--budget", HUGE),
        ("et-plan", "relu.mlir", "--capacity", HUGE),
        ("et-bisect", "relu.mlir", "--input", f"random:{HUGE}"),
    ],
    ids=lambda line: " ".join(word[:12] for word in line[:1] + line[-2:]),
)
def test_numbers_that_are_too_large(command: Command, line: tuple[str, ...]) -> None:
    assert command("et-compile", "relu.mlir", "-o", "relu.pte", "-q").code == 0
    ran = command(*line)
    assert ran.code in (1, 2, 3)
    assert "Traceback" not in ran.err
    assert "error: " in ran.err
    assert max(map(len, ran.err.splitlines())) < 400
