"""et-vm ops: the input of the selective build.

That stock's own tool says the same is tested in test/conformance/test_selective_build.py.
"""

import json

import pytest
from support.vm_commands import add, run

from et_schema.scalar_type import ScalarType
from et_tools.exit_codes import ExitCode


def test_keys_and_users(capsys, file):
    first, second = file(add(2, 3), "a.pte"), file(add(2, dtype=ScalarType.LONG), "b.pte")
    selected = json.loads(run(capsys, "ops", first, second, "--json"))
    assert selected["et_kernel_metadata"] == {
        "aten::add.out": ["v1/4;0|4;0|4;0|4;0", "v1/6;0,1|6;0,1|6;0,1|6;0,1"]
    }
    assert selected["operators"]["aten::add.out"]["debug_info"] == [first, second]
    assert selected["include_all_operators"] is False


def test_into_a_file(capsys, file, tmp_path):
    path = file(add(2))
    output = tmp_path / "selected_operators.yaml"
    assert run(capsys, "ops", path, "-o", str(output)) == ""
    assert output.read_text() == run(capsys, "ops", path)
    assert '  "aten::add.out":\n  - "v1/6;0|6;0|6;0|6;0"\n' in output.read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["ops", "{good}", "{bad}"], ExitCode.INVALID_INPUT, "bad.pte: "),
        (["ops", "-", "-"], ExitCode.USAGE, "'-' can be given only once"),
        (["ops", "{good}", "-o", "/no/such/folder/x"], ExitCode.USAGE, "does not exist"),
    ],
)
def test_errors(capsys, file, arguments, code, message):
    names = {"good": file(add(2)), "bad": file(b"x" * 100, "bad.pte")}
    assert message in run(capsys, *(word.format(**names) for word in arguments), code=code)
