"""Frames and module paths survive in locations, and in their text."""

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
)
from xdsl.parser import Parser

from et_ir.locations import (
    Frame,
    frames_of,
    fused_location,
    location_of,
    location_of_node,
    module_classes,
    module_path,
    node_name,
    parts_of,
    source_line,
)

OUTER = Frame("model.py", 10, "forward", "x = self.fc(x)")
INNER = Frame("layers.py", 20, "forward", 'return y * "a"')


def test_frames_and_path_come_back():
    location = location_of([OUTER, INNER], "block.0.fc")
    assert frames_of(location) == [OUTER, INNER]
    assert module_path(location) == "block.0.fc"


def test_classes_stand_within_the_path():
    location = location_of([OUTER, INNER], "block.0.fc", ["Block", "", "Linear"])
    assert module_classes(location) == ("Block", "", "Linear")
    assert module_path(location) == "block.0.fc"
    assert frames_of(location) == [OUTER, INNER]
    assert module_classes(location_of_node(location, "linear")) == ("Block", "", "Linear")
    assert module_classes(FusedLoc((UNKNOWN_LOC, location), NoneAttr())) == ("Block", "", "Linear")


def test_classes_that_are_not_known():
    assert module_classes(location_of([INNER], "block.0", ["", ""])) == ()
    assert module_classes(location_of([INNER], "block.0")) == ()
    assert module_classes(location_of([INNER])) == ()
    # Names of other tools.
    assert module_classes(NameLoc(StringAttr("a.b"), NameLoc(StringAttr("c"), UNKNOWN_LOC))) == ()
    with pytest.raises(ValueError, match="2 classes for the modules of 'fc'"):
        location_of([INNER], "fc", ["Block", "Linear"])


def test_root_module_has_no_path():
    assert module_path(location_of([INNER])) == ""
    assert module_path(location_of([OUTER, INNER])) == ""


def test_bare_frame():
    frame = Frame("a.py", 3)
    assert location_of([frame]) == FileLineColLoc(StringAttr("a.py"), IntAttr(3), IntAttr(0))
    assert frames_of(location_of([frame])) == [frame]


def test_nothing_known():
    assert location_of([]) == UNKNOWN_LOC
    assert frames_of(UNKNOWN_LOC) == []
    assert module_path(UNKNOWN_LOC) == ""
    assert source_line(UNKNOWN_LOC) == "unknown location"


def test_path_without_frames():
    location = location_of([], "fc")
    assert frames_of(location) == []
    assert source_line(location) == "fc"


def test_source_line():
    assert source_line(location_of([OUTER, INNER], "fc")) == "layers.py:20 in fc"
    assert source_line(location_of([INNER])) == "layers.py:20 in forward"
    assert source_line(location_of([Frame("a.py", 3)])) == "a.py:3"


def test_equal_locations_are_one_object():
    assert location_of([OUTER], "fc") is location_of([OUTER], "fc")


def test_node_comes_back():
    for place in (
        location_of([OUTER, INNER], "fc"),
        location_of([INNER]),
        location_of([], "fc"),
        UNKNOWN_LOC,
    ):
        location = location_of_node(place, "linear_1")
        assert (
            node_name(location) == node_name(FusedLoc((UNKNOWN_LOC, location), StringAttr(""))) == "linear_1"
        )
        assert node_name(place) == ""
        assert frames_of(location) == frames_of(place)
        assert module_path(location) == module_path(place)


def test_fused_locations_take_the_first_that_knows():
    known = location_of([INNER], "fc")
    fused = FusedLoc((UNKNOWN_LOC, known), StringAttr("cse"))
    assert frames_of(fused) == [INNER]
    assert module_path(fused) == "fc"
    assert frames_of(FusedLoc((UNKNOWN_LOC,), StringAttr(""))) == []


def test_locations_of_other_tools():
    line = FileLineColLoc(StringAttr("a.mlir"), IntAttr(1), IntAttr(2))
    assert frames_of(NameLoc(StringAttr("x"), line)) == [Frame("a.mlir", 1, column=2)]
    assert module_path(NameLoc(StringAttr("x"), line)) == "x"
    call = CallSiteLoc(line, location_of([OUTER], "fc"))
    assert frames_of(call) == [OUTER, Frame("a.mlir", 1, column=2)]
    assert module_path(call) == "fc"


def test_text_round_trips():
    for location in (
        location_of([OUTER, INNER], "block.0.fc"),
        location_of([INNER]),
        location_of([], "fc"),
        location_of([OUTER, INNER], "block.0.fc", ["Block", "", "Linear"]),
        location_of([Frame("a.py", 3)], "fc"),
        location_of_node(location_of([INNER], "fc"), "linear_1"),
        location_of_node(UNKNOWN_LOC, "linear_1"),
    ):
        text = f"loc({location})" if not str(location).startswith("loc(") else str(location)
        parsed = Parser(Context(), text).parse_optional_location()
        assert parsed == location


def test_fused_locations_are_flat_and_the_first_stands_for_all():
    conv = location_of_node(location_of([OUTER], "conv"), "conv2d")
    norm = location_of_node(location_of([INNER], "norm"), "batch_norm")
    both = fused_location([conv, UNKNOWN_LOC, norm])
    assert (node_name(both), module_path(both), frames_of(both)) == ("conv2d", "conv", [OUTER])
    scaled = location_of_node(UNKNOWN_LOC, "mul")
    assert parts_of(fused_location([both, scaled, norm])) == [conv, norm, scaled]
    assert fused_location([conv, conv]) == conv
    assert fused_location([UNKNOWN_LOC]) == UNKNOWN_LOC


def test_a_frame_is_one_part():
    """Of two fused locations itself."""
    place = location_of([OUTER])
    assert parts_of(place) == [place]
    assert parts_of(fused_location([place, location_of([INNER])])) == [
        fused_location([place, location_of([INNER])])
    ]
