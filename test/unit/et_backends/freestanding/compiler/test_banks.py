"""Objects with an arena in each of several memory banks, called in emulators with each arena at a place of its own."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import freestanding_machines as machines
import numpy as np
import pytest
import torch
from support.quantized_nets import made as quantized_net
from torch import Tensor, nn

from et_backends.freestanding.compiler.fit import fitted, placed, usage
from et_backends.freestanding.compiler.programs import (
    FreestandingObject,
    compile_freestanding,
    compile_program,
)
from et_backends.freestanding.compiler.targets import FREESTANDING_TARGETS
from et_backends.freestanding.compiler.whole_program import UnsupportedProgram
from et_ir.driver.managers import EdgeProgramManager, to_edge
from et_ir.planning.banks import parse_banks
from et_ir.planning.hierarchy import Infeasible
from et_ir.quantization import quantize

BANKS = "flash:id=1;dtcm:id=2,size={dtcm};sram:id=3"


class Tower(nn.Module):
    """Convolutions whose images become smaller, with a connection over two of them."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 8, 3, padding=1)
        self.third = nn.Conv2d(8, 16, 3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        one = self.first(x).relu()
        return self.third(one + self.second(one).relu()).flatten(1).softmax(1)


def tower() -> tuple[EdgeProgramManager, tuple[Tensor]]:
    torch.manual_seed(0)
    inputs = (torch.rand(1, 1, 12, 12),)
    return to_edge(torch.export.export(Tower().eval(), inputs)), inputs


def in_banks(edge: EdgeProgramManager, target: str, memory: str) -> tuple[FreestandingObject, dict[str, str]]:
    make = partial(compile_freestanding, edge.module, FREESTANDING_TARGETS[target], "net", None)
    return fitted(lambda banks: make(banks=banks), parse_banks(memory))


@pytest.mark.parametrize("target", ["cortex-m7", "wasm32"])
def test_two_arenas(target: str, tmp_path: Path) -> None:
    """The results are those of one arena, to the bit, and each arena is within its bank."""
    edge, inputs = tower()
    one = compile_freestanding(edge.module, FREESTANDING_TARGETS[target], "net")
    two, places = in_banks(edge, target, BANKS.format(dtcm=one.arena_bytes // 2 + one.stack_bytes))
    assert {arena.bank for arena in two.arenas} == {"dtcm", "sram"}
    sizes = {arena.bank: arena.nbytes for arena in two.arenas}
    assert 0 < sizes["dtcm"] <= one.arena_bytes // 2
    assert two.interface.arenas == sizes
    assert places["the arena in sram"] == "sram"
    assert places["the stack"] == "dtcm"
    given = [value.numpy() for value in inputs]
    expected = machines.run(target, tmp_path, one, given).outputs
    for got, wanted in zip(machines.run(target, tmp_path, two, given).outputs, expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_integers(tmp_path: Path) -> None:
    module, inputs = quantized_net("image")
    quantized = quantize(module, inputs, "int8", calibration=[inputs]).module
    program = torch.export.export(quantized, inputs)
    one = compile_program(program, "cortex-m7", "net")
    banks = parse_banks(f"dtcm:id=2,size={one.arena_bytes // 2};sram:id=3")
    two = compile_program(program, "cortex-m7", "net", banks=banks)
    assert len(two.arenas) == 2
    given = [value.numpy() for value in inputs]
    expected, found = (machines.run("cortex-m7", tmp_path, made, given).outputs for made in (one, two))
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


class Steps(nn.Module):
    """State, a branch, and values that live through a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(16))

    def forward(self, x: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
        wide = x[:, None] * x[None, :]
        chosen = torch.cond(up, lambda a: (a.exp(),), lambda a: (a - 1,), (wide,))[0]

        def body(count: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
            return count + 1, (value @ wide).tanh()

        _, value = torch.while_loop(
            lambda count, _: count < 3, body, (torch.zeros((), dtype=torch.int32), chosen)
        )
        self.total.add_(value.sum(1))
        return self.total + x, value


def test_control_flow_and_state(tmp_path: Path) -> None:
    """Tensors between partitions are in the arenas, too."""
    torch.manual_seed(0)
    calls = [(torch.rand(16), torch.tensor(up)) for up in (True, False)]
    with torch.no_grad():
        program = torch.export.export(Steps(), calls[0])
        eager = Steps()
        whole = compile_program(program, "cortex-m7", "net")
        banks = parse_banks(f"dtcm:id=2,size={whole.arena_bytes // 2};sram:id=3")
        made = compile_program(program, "cortex-m7", "net", banks=banks)
        assert [arena.bank for arena in made.arenas] == ["dtcm", "sram"]
        state = machines.reset("cortex-m7", tmp_path, made)
        for inputs in calls:
            found = machines.run(
                "cortex-m7", tmp_path, made, [value.numpy() for value in inputs], state=state
            )
            for got, wanted in zip(found.outputs, eager(*inputs), strict=True):
                np.testing.assert_allclose(got, wanted.numpy(), rtol=1e-5, atol=1e-5)
            state = found.state


class Scaled(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.softmax(1) @ x


def test_methods_share_arenas(tmp_path: Path) -> None:
    """A method that needs one bank only gets the structure with all of them."""
    inputs = {"wide": (torch.rand(1, 1, 12, 12),), "square": (torch.rand(4, 4),)}
    torch.manual_seed(0)
    modules = {"wide": Tower().eval(), "square": Scaled().eval()}
    programs = {name: torch.export.export(module, inputs[name]) for name, module in modules.items()}
    banks = parse_banks("dtcm:id=2,size=5K;sram:id=3")
    made = compile_program(programs, "cortex-m7", "net", banks=banks)
    assert [arena.bank for arena in made.arenas] == ["dtcm", "sram"]
    assert [one.arenas["sram"] > 0 for one in made.methods] == [True, False]
    for method in made.methods:
        given = inputs[method.method]
        found = machines.run("cortex-m7", tmp_path, made, [one.numpy() for one in given], method=method)
        wanted = modules[method.method](*given).detach().numpy()
        np.testing.assert_allclose(found.outputs[0], wanted, rtol=1e-5, atol=1e-5)


def test_header(tmp_path: Path) -> None:
    """Sizes and a structure, as a C compiler reads them."""
    edge, _ = tower()
    made, places = in_banks(edge, "cortex-m7", BANKS.format(dtcm="6K"))
    sizes = {arena.bank: arena.nbytes for arena in made.arenas}
    assert f"#define NET_DTCM_ARENA_BYTES {sizes['dtcm']}\n" in made.header
    assert "NET_ARENA_BYTES" not in made.header
    (tmp_path / "net.h").write_text(made.header)
    (tmp_path / "main.c").write_text(
        '#include "net.h"\n'
        "static _Alignas(NET_ARENA_ALIGNMENT) unsigned char fast[NET_DTCM_ARENA_BYTES], slow[NET_SRAM_ARENA_BYTES];\n"
        "int classify(const float *image, float *made) {\n"
        "  net_inputs inputs = {image};\n  net_outputs outputs = {made};\n"
        "  net_arenas arenas = {.dtcm = fast, .sram = slow};\n"
        "  return net_forward(&inputs, &outputs, &arenas);\n}\n"
    )
    command = [
        sys.executable,
        "-m",
        "ziglang",
        "cc",
        "-target",
        "thumb-freestanding-eabihf",
        "-mcpu=cortex_m7",
    ]
    subprocess.run([*command, "-Wall", "-Werror", "-c", "main.c", "-o", "main.o"], cwd=tmp_path, check=True)
    banks = parse_banks(BANKS.format(dtcm="6K"))
    assert f"arena in dtcm {sizes['dtcm']:>12,} bytes" in made.summary()
    lines = usage(made, banks, places).splitlines()
    assert lines[1].startswith("dtcm: ")
    assert lines[1].endswith(" of 6,144 bytes for arena in dtcm, stack")


def test_one_arena_that_fits(tmp_path: Path) -> None:
    """In the fastest bank, or in another because no buffer fits the fastest."""
    edge, _ = tower()
    for dtcm, title, bank in (("64K", "the arena", "dtcm"), ("300", "the arena in sram", "sram")):
        made, places = in_banks(edge, "cortex-m7", BANKS.format(dtcm=dtcm))
        assert places[title] == bank
        assert "void *arena)" in made.header


def test_one_arena_that_cannot_be_distributed() -> None:
    """It is whole in a slower bank if the stack takes the room that a distributed one would need."""
    edge, _ = tower()
    one = compile_freestanding(edge.module, FREESTANDING_TARGETS["cortex-m7"], "net")
    sizes = f"fast:id=2,size=16;ram:id=3,size={one.arena_bytes};rest:id=4,size={one.stack_bytes}"
    made, places = in_banks(edge, "cortex-m7", f"flash:id=1;{sizes}")
    assert (places["the arena"], places["the stack"]) == ("ram", "rest")
    assert "void *arena)" in made.header


def test_one_arena_in_a_bank_as_fast_as_the_first() -> None:
    edge, _ = tower()
    made, places = in_banks(edge, "cortex-m7", "flash:id=1,speed=1;one:id=2,size=6K,speed=4;two:id=3,speed=4")
    assert places["the arena"] == "two"
    assert "void *arena)" in made.header


def test_stack_larger_than_the_arena() -> None:
    """The arena is in the bank for which it was planned, not in the one that only the stack fits."""
    edge = to_edge(torch.export.export(Scaled(), (torch.rand(4, 4),)))
    one = compile_freestanding(edge.module, FREESTANDING_TARGETS["cortex-m7"], "net")
    assert 0 < one.arena_bytes < one.stack_bytes
    sizes = f"fast:id=2,size={one.stack_bytes};ram:id=3,size={one.arena_bytes}"
    made, places = in_banks(edge, "cortex-m7", f"flash:id=1;{sizes}")
    assert (places["the arena in ram"], places["the stack"]) == ("ram", "fast")
    assert "void *arena)" in made.header


def test_names_of_banks(tmp_path: Path) -> None:
    """A header is one of C and C++, whatever banks are called; two of the same name are refused."""
    edge, _ = tower()
    made, _ = in_banks(edge, "cortex-m7", "flash:id=1;2register:id=2,size=6K;namespace:id=3")
    (tmp_path / "net.h").write_text(made.header)
    (tmp_path / "main.cpp").write_text(
        '#include "net.h"\n'
        'static_assert(sizeof(net_arenas) == 8, "");\n'
        "void *net_space(net_arenas arenas) { return arenas.namespace_; }\n"
    )
    command = [sys.executable, "-m", "ziglang", "c++", "-target", "thumb-freestanding-eabihf"]
    subprocess.run([*command, "-Wall", "-Werror", "-c", "main.cpp", "-o", "main.o"], cwd=tmp_path, check=True)
    with pytest.raises(UnsupportedProgram, match="'NET_RAM_ARENA_BYTES'") as error:
        in_banks(edge, "cortex-m7", "flash:id=1;ram:id=2,size=6K;RAM:id=3")
    assert "give the method or the memory bank another name" in str(error.value)


def test_banks_that_are_too_small() -> None:
    edge, _ = tower()
    with pytest.raises(ValueError, match=r"the arena needs [0-9,]+ bytes.*sram has 1,024 bytes left"):
        in_banks(edge, "cortex-m7", "flash:id=1;dtcm:id=2,size=2K;sram:id=3,size=1K")
    with pytest.raises(Infeasible):
        compile_freestanding(
            edge.module, FREESTANDING_TARGETS["cortex-m7"], "net", banks=parse_banks("ram:id=1,size=16")
        )


def test_arenas_have_their_banks() -> None:
    """An object for some banks does not fit smaller ones."""
    edge, _ = tower()
    made, _ = in_banks(edge, "cortex-m7", BANKS.format(dtcm="6K"))
    with pytest.raises(ValueError, match=r"the arena in dtcm needs [0-9,]+ bytes: dtcm has 1,024 bytes left"):
        placed(made, parse_banks(BANKS.format(dtcm="1K")))
