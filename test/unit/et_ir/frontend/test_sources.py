"""Every op knows its line of Python and its module."""

import inspect

import torch
from torch import Tensor, nn

from et_ir.dialects.schema import SchemaOp
from et_ir.frontend import import_program
from et_ir.frontend.sources import Frames, module_stack, node_module_path, parse_stack_trace
from et_ir.locations import Frame, frames_of, module_classes, module_path

TRACE = """  File "/home/me/model.py", line 12, in forward
    x = self.fc(x)
    ^^^^^^^^^^
  File "/home/me/layers.py", line 7, in forward
    return torch.relu(x)
"""


def test_stack_traces_parse():
    assert parse_stack_trace(TRACE) == [
        Frame("/home/me/model.py", 12, "forward", "x = self.fc(x)"),
        Frame("/home/me/layers.py", 7, "forward", "return torch.relu(x)"),
    ]
    assert parse_stack_trace("") == []
    without_source = '  File "a.py", line 1, in f\n  File "b.py", line 2, in g\n'
    assert parse_stack_trace(without_source) == [Frame("a.py", 1, "f"), Frame("b.py", 2, "g")]
    assert parse_stack_trace('File "a.py", line 3, in <module>') == [Frame("a.py", 3, "<module>", "")]


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.fc(x)  # the line of linear
        return torch.relu(x)  # the line of relu


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)  # the line of the call
        return x.neg_()


def line_of(cls: type, comment: str) -> int:
    lines, start = inspect.getsourcelines(cls)
    return start + next(i for i, line in enumerate(lines) if comment in line)


def locations(frames: Frames) -> list[tuple[str, str, list[Frame]]]:
    module = import_program(torch.export.export(Net(), (torch.randn(2, 3),)), frames=frames)
    return [
        (op.name, module_path(op.location), frames_of(op.location))
        for op in module.walk()
        if isinstance(op, SchemaOp) or op.name == "program.get"
    ]


def test_innermost_line_of_user_code():
    found = locations("innermost")
    linear = Frame(
        __file__, line_of(Block, "the line of linear"), "forward", "x = self.fc(x)  # the line of linear"
    )
    relu = Frame(
        __file__, line_of(Block, "the line of relu"), "forward", "return torch.relu(x)  # the line of relu"
    )
    assert [(name, path, frame) for name, path, frame in found if name in ("aten.linear", "aten.relu")] == [
        ("aten.linear", "blocks.0.fc", [linear]),
        ("aten.relu", "blocks.0", [relu]),
        ("aten.linear", "blocks.1.fc", [linear]),
        ("aten.relu", "blocks.1", [relu]),
    ]
    assert all(frames for _, _, frames in found), "reads of weights have the place of their first use"


def test_classes_of_modules():
    module = import_program(torch.export.export(Net(), (torch.randn(2, 3),)))
    assert {
        module_path(op.location): module_classes(op.location)
        for op in module.walk()
        if isinstance(op, SchemaOp)
    } == {
        # A list of modules calls nothing.
        **{f"blocks.{at}.fc": ("", "Block", "Linear") for at in range(2)},
        **{f"blocks.{at}": ("", "Block") for at in range(2)},
        "": (),
    }


def test_nodes_that_passes_of_torch_have_made_without_a_stack():
    program = torch.export.export(Net(), (torch.randn(2, 3),))
    node = next(node for node in program.graph.nodes if node.op == "call_function")
    empty = "_empty_nn_module_stack_from_metadata_hook"
    node.meta["nn_module_stack"] = {empty: (empty, empty)}
    assert node_module_path(node) == ""
    assert module_stack(node) == []


def test_whole_stack_of_user_code():
    stacks = [frames for name, _, frames in locations("all") if name == "aten.relu"]
    assert [[frame.lineno for frame in frames] for frames in stacks] == [
        [line_of(Net, "the line of the call"), line_of(Block, "the line of relu")]
    ] * 2


def test_stores_have_the_place_of_what_they_store():
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("n", torch.zeros(2))

        def forward(self, x: Tensor) -> Tensor:
            self.n.add_(x)  # the line of add
            return x * 2

    module = import_program(torch.export.export(Counter(), (torch.ones(2),)))
    line = line_of(Counter, "the line of add")
    for name in ("program.load", "aten.add.Tensor", "program.store"):
        (op,) = (op for op in module.walk() if op.name == name)
        assert [frame.lineno for frame in frames_of(op.location)] == [line]


def test_modules_of_torch_alone():
    """Without any line of user code, the innermost line of torch is better than none."""
    module = import_program(torch.export.export(nn.Linear(2, 2), (torch.randn(1, 2),)))
    (op,) = (op for op in module.walk() if op.name == "aten.linear")
    assert all(frame.filename.endswith("linear.py") for frame in frames_of(op.location))
