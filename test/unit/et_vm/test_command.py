"""The et-vm command, in process."""

import io
import json
import subprocess
import sys

import numpy as np
import pytest
from support.vm_commands import add, run
from support.vm_programs import Build

from et_schema.program import Frame
from et_schema.scalar_type import ScalarType
from et_tools.et_vm import main
from et_tools.exit_codes import ExitCode
from et_vm.run.requests import Executor


@pytest.fixture
def array(tmp_path):
    def write(name: str, *arrays: np.ndarray) -> str:
        path = tmp_path / name
        if name.endswith(".npz"):
            np.savez(path, *arrays)
        else:
            np.save(path, arrays[0])
        return str(path)

    return write


def f32(*items):
    return np.array(items, np.float32)


class TestRun:
    def test_random_inputs(self, capsys, file):
        path = file(add(2, 3))
        text = run(capsys, "run", path)
        assert "forward: 1 instruction, portable kernels" in text
        assert "input 0   float32 [2, 3]" in text
        assert "random:0" in text
        assert run(capsys, "run", path, "--input", "random:0") == text
        assert run(capsys, "run", path, "--input", "random:1") != text

    def test_ones(self, capsys, file):
        assert "[2, 2]" in run(capsys, "run", file(add(2)), "--input", "ones")

    def test_arrays(self, capsys, file, array):
        path, x = file(add(2)), array("x.npy", f32(1, 2))
        report = json.loads(run(capsys, "run", path, "--input", x, "--input", "ones", "--json"))
        assert report["outputs"][0]["values"] == [2, 3]
        assert [given["source"] for given in report["inputs"]] == [x, "ones"]
        both = array("both.npz", f32(1, 2), f32(10, 20))
        report = json.loads(run(capsys, "run", path, "--input", both, "--json"))
        assert report["outputs"][0] == {
            "dtype": "float32",
            "shape": [2],
            "min": 11.0,
            "mean": 16.5,
            "max": 22.0,
            "values": [11, 22],
        }

    @pytest.mark.parametrize(
        "dtype", [ScalarType.LONG, ScalarType.BYTE, ScalarType.BFLOAT16, ScalarType.DOUBLE, ScalarType.HALF]
    )
    def test_of_every_type(self, capsys, file, tmp_path, dtype):
        path = file(add(3, dtype=dtype))
        run(capsys, "run", path)
        run(capsys, "run", path, "--input", "ones", "--output-dir", str(tmp_path / "out"))
        found = np.load(tmp_path / "out" / "output_0.npy")
        assert found.tolist() == [2, 2, 2]
        assert found.dtype == (np.float32 if dtype == ScalarType.BFLOAT16 else dtype.torch_name)

    def test_bfloat16_files(self, capsys, file, array):
        import ml_dtypes

        x = array("x.npy", np.array([1, 2], ml_dtypes.bfloat16))
        report = json.loads(
            run(capsys, "run", file(add(2, dtype=ScalarType.BFLOAT16)), "--input", x, "--input", x, "--json")
        )
        assert report["outputs"][0]["values"] == [2, 4]

    def test_scalars_are_as_exported(self, capsys, file, array):
        build = add(2)
        build.inputs(*build.plan.inputs, build.scalar(3), build.scalar(None))
        build.outputs(*build.plan.outputs, *build.plan.inputs[2:])
        path = file(build)
        text = run(capsys, "run", path)
        assert "input 2   int 3" in text
        assert "output 2  NoneType None" in text
        x = array("x.npy", f32(1, 2))
        run(capsys, "run", path, "--input", x, "--input", x)

    def test_what_is_not_finite(self, capsys, file, array):
        x = array("x.npy", f32(np.inf, np.nan))
        report = json.loads(run(capsys, "run", file(add(2)), "--input", x, "--input", "ones", "--json"))
        assert report["outputs"][0]["values"] == ["inf", "nan"]
        assert report["outputs"][0]["max"] == "nan"

    def test_large_outputs_are_summed_up(self, capsys, file):
        path = file(add(1000))
        assert ", …]" in run(capsys, "run", path)
        assert "values" not in json.loads(run(capsys, "run", path, "--json"))["outputs"][0]

    def test_empty_outputs(self, capsys, file):
        assert "float32 [0]" in run(capsys, "run", file(add(0)))

    def test_repeat(self, capsys, file):
        path = file(add(2))
        assert "of 5 runs" in run(capsys, "run", path, "--repeat", "5")
        latency = json.loads(run(capsys, "run", path, "--repeat", "5", "--json"))["latency_ms"]
        assert latency["runs"] == 5
        assert 0 < latency["min"] <= latency["median"]

    @pytest.mark.parametrize("in_flight", ["1", "3", "9"])
    def test_in_flight(self, capsys, file, array, in_flight):
        path, given = file(add(2)), array("x.npz", np.float32([1, 2]), np.float32([3, 4]))
        arguments = ("run", path, "--repeat", "7", "--in-flight", in_flight, "--input", given)
        text = run(capsys, *arguments)
        assert "mean 5" in text
        assert "p99" in text
        assert f"a second with {in_flight} in flight" in text
        assert "one at a time" not in text
        report = json.loads(run(capsys, *arguments, "--json"))
        assert report["outputs"][0]["values"] == [4, 6]
        latency = report["latency_ms"]
        assert latency["runs"] == 7
        assert 0 < latency["min"] <= latency["median"] <= latency["p99"]
        assert report["throughput_per_s"] > 0
        assert report["serialized_by"] == []

    def test_in_flight_with_state(self, capsys, file):
        build = add(2)
        total = build.tensor(2, name="total")
        build.call("aten::add.out", build.plan.inputs[0], total, build.scalar(1), total, total)
        build.outputs(total)
        arguments = ("run", file(build), "--repeat", "5", "--in-flight", "2", "--input", "ones")
        text = run(capsys, *arguments)
        assert "one at a time because of state (total)" in text
        report = json.loads(run(capsys, *arguments, "--json"))
        assert report["outputs"][0]["values"] == [5, 5]
        assert report["serialized_by"] == ["state (total)"]

    def test_in_flight_with_written_inputs(self, capsys, file, array):
        build = Build()
        x, y = build.tensor(2, planned=False), build.tensor(2)
        build.call("aten::add.out", x, y, build.scalar(1), x, x)
        build.inputs(x, y)
        given = array("x.npz", np.float32([1, 2]), np.float32([3, 4]))
        text = run(capsys, "run", file(build), "--input", given, "--repeat", "6", "--in-flight", "3")
        assert "input 0   float32 [2]                 after  min 4  mean 5  max 6" in text

    def test_in_flight_with_errors(self, capsys, file):
        build = Build()
        build.jump_false(build.tensor(1, dtype=ScalarType.BOOL), 0)
        arguments = ("run", file(build), "--repeat", "9", "--in-flight", "3", "--instruction-limit", "1000")
        assert "more than 1,000 instructions" in run(capsys, *arguments, code=ExitCode.TRAP)

    def test_ctrl_c_ends_all_in_flight(self, capsys, file, monkeypatch):
        """Also executions that would go on for long."""
        build = Build()
        build.jump_false(build.tensor(1, dtype=ScalarType.BOOL), 0)
        submit, requests = Executor.submit, []

        def interrupted(*arguments, **options):
            if len(requests) == 2:
                raise KeyboardInterrupt
            requests.append(submit(*arguments, **options))
            return requests[-1]

        monkeypatch.setattr(Executor, "submit", interrupted)
        arguments = ("run", file(build), "--repeat", "9", "--in-flight", "3", "--instruction-limit", "9" * 12)
        assert main(list(arguments)) == ExitCode.INTERRUPTED
        assert capsys.readouterr().err.startswith("et-vm: interrupted")
        assert [request.cancelled() for request in requests] == [True, True]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--in-flight", "2"], "--in-flight needs --repeat, the number of executions"),
            (["--in-flight", "0", "--repeat", "2"], "'0' is not a positive number"),
            (["--in-flight", "-2", "--repeat", "2"], "'-2' is not a positive number"),
            (["--in-flight", "300", "--repeat", "2"], "300 is more than 256, the most there can be"),
        ],
    )
    def test_in_flight_that_cannot_be(self, capsys, file, arguments, message):
        assert message in run(capsys, "run", file(add(2)), *arguments, code=ExitCode.USAGE)

    def test_written_inputs(self, capsys, file, array, tmp_path):
        build = Build()
        x, y = build.tensor(2, planned=False), build.tensor(2)
        build.call("aten::add.out", x, y, build.scalar(1), x, x)
        build.inputs(x, y)
        given = array("x.npz", np.float32([1, 2]), np.float32([3, 4]))
        arguments = [
            "run",
            file(build),
            "--input",
            given,
            "--repeat",
            "3",
            "--output-dir",
            str(tmp_path / "out"),
        ]
        text = run(capsys, *arguments)
        assert "input 0   float32 [2]                 after  min 4  mean 5  max 6" in text
        assert np.load(tmp_path / "out" / "input_0.npy").tolist() == [4, 6]
        (written,) = json.loads(run(capsys, *arguments, "--json"))["written_inputs"]
        assert (written["input"], written["values"]) == (0, [4, 6])
        assert written["file"] == str(tmp_path / "out" / "input_0.npy")

    def test_poison(self, capsys, file):
        assert run(capsys, "run", file(add(2)), "--poison") == run(capsys, "run", file(add(2)))

    def test_methods(self, capsys, file):
        from support.vm_programs import combine

        path = file(combine(add(2, name="one"), add(3, name="two")))
        assert "one:" in run(capsys, "run", path, "--method", "one")
        assert "choose a method with --method: one, two" in run(capsys, "run", path, code=ExitCode.USAGE)
        assert "no method 'three'" in run(capsys, "run", path, "--method", "three", code=ExitCode.USAGE)
        assert "encode:" in run(capsys, "run", file(add(2, name="encode")))

    def test_dynamic_inputs(self, capsys, file, array):
        x = array("x.npy", f32(1, 2, 3))
        text = run(capsys, "run", file(add(8, dynamic=True)), "--input", x, "--input", x)
        assert "output 0  float32 [3]" in text

    def test_standard_input(self, capsys, file, monkeypatch):
        data = add(2).file()
        monkeypatch.setattr("sys.stdin", type("Stdin", (), {"buffer": io.BytesIO(data)}))
        assert "forward" in run(capsys, "run", "-")

    @pytest.mark.parametrize(
        ("inputs", "message"),
        [
            (["x.npy"], "takes 2 inputs, got 1"),
            (["ones", "ones", "ones"], "takes 2 inputs, got 3"),
            (["x.txt"], "not recognized: expected x.npy"),
            (["random:x", "ones"], "is not a number"),
            (["missing.npy", "ones"], "missing.npy: No such file"),
            (["bad.npy", "ones"], "bad.npy"),
            (["wide.npy", "ones"], "expected shape [2], got [3] at input 0"),
            (["double.npy", "ones"], "expected element type float32, got float64"),
        ],
    )
    def test_inputs_that_do_not_fit(self, capsys, file, array, tmp_path, monkeypatch, inputs, message):
        monkeypatch.chdir(tmp_path)
        array("x.npy", f32(1, 2))
        array("wide.npy", f32(1, 2, 3))
        array("double.npy", np.zeros(2))
        (tmp_path / "bad.npy").write_bytes(b"nonsense")
        options = [part for given in inputs for part in ("--input", given)]
        error = run(capsys, "run", file(add(2)), *options, "--output-dir", "out", code=ExitCode.USAGE)
        assert message in error
        assert not (tmp_path / "out").exists()


class TestFailures:
    def test_traps_name_the_source_line(self, capsys, file, array):
        build = add(2)
        frame = Frame("model.py", 12, "forward", "return x + y")
        build.chain.stacktrace[0].items = [frame]
        build[1].sizes = [3]
        error = run(capsys, "run", file(build), code=ExitCode.TRAP)
        for part in ("broadcast", "instruction 0: aten::add.out", "model.py:12", "return x + y"):
            assert part in error

    def test_endless_loops_end(self, capsys, file):
        build = Build()
        build.jump_false(build.tensor(1, dtype=ScalarType.BOOL), 0)
        error = run(capsys, "run", file(build), "--instruction-limit", "1000", code=ExitCode.TRAP)
        assert "more than 1,000 instructions" in error

    def test_the_instruction_limit_is_of_one_execution(self, capsys, file):
        path = file(add(2))
        assert "5 runs" in run(capsys, "run", path, "--repeat", "5", "--instruction-limit", "1")

    def test_missing_operators(self, capsys, file):
        build = add(2)
        build.plan.operators[0].name = "acme::add"
        error = run(capsys, "run", file(build), code=ExitCode.MISSING_OPERATOR)
        assert "OperatorMissing (0x14)" in error
        assert "acme::add.out" in error

    def test_missing_backends(self, capsys, file):
        build = add(2)
        build.delegate("Acme", b"", 0)
        assert "Acme" in run(capsys, "run", file(build), code=ExitCode.MISSING_OPERATOR)

    def test_arenas_that_cannot_be(self, capsys, file):
        build = add(2)
        build.plan.non_const_buffer_sizes[1] = 2**62
        assert "0x21" in run(capsys, "run", file(build), code=ExitCode.INFEASIBLE_MEMORY)

    @pytest.mark.parametrize("verb", ["run", "info", "validate"])
    def test_files_that_are_none(self, capsys, file, tmp_path, verb):
        assert "InvalidArgument (0x12)" in run(capsys, verb, file(b"x"), code=ExitCode.INVALID_INPUT)
        error = run(capsys, verb, file(add(2).file()[:-100]), code=ExitCode.INVALID_INPUT)
        assert "byte 0x" in error
        assert "No such file" in run(capsys, verb, str(tmp_path / "none.pte"), code=ExitCode.USAGE)

    @pytest.mark.parametrize(
        "arguments",
        [
            [],
            ["fly"],
            ["run"],
            ["run", "x.pte", "--kernels", "fast"],
            ["run", "x.pte", "--repeat", "0"],
            ["run", "x.pte", "--instruction-limit", "0"],
            ["run", "x.pte", "--instruction-limit", "many"],
            ["run", "--bad"],
        ],
    )
    def test_usage(self, capsys, arguments):
        assert "--help" in run(capsys, *arguments, code=ExitCode.USAGE)


class TestLimits:
    def test_memory(self, capsys, file):
        assert "output 0" in run(capsys, "run", file(add(2)), "--memory-limit", "100000")
        found = run(capsys, "run", file(add(2)), "--memory-limit", "10", code=ExitCode.INFEASIBLE_MEMORY)
        assert "left of a limit of 10 at memory id 1" in found

    def test_work(self, capsys, file):
        assert "output 0" in run(capsys, "run", file(add(2)), "--work-limit", "2000")
        found = run(capsys, "run", file(add(2)), "--work-limit", "1000", code=ExitCode.TRAP)
        assert "OutOfResources" in found
        assert "1,000 are left of a limit of 1,000" in found
        assert "in instruction 0: aten::add.out" in found

    @pytest.mark.parametrize("option", ["--memory-limit", "--work-limit"])
    def test_usage(self, capsys, file, option):
        run(capsys, "run", file(add(2)), option, "0", code=ExitCode.USAGE)


class TestValidate:
    def test_silent_when_good(self, capsys, file):
        assert run(capsys, "validate", file(add(2))) == ""
        assert run(capsys, "validate", file(add(2)), "--kernels", "portable") == ""

    def test_live_tensors_that_share_bytes(self, capsys, file):
        build = Build()
        x, y = build.tensor(2), build.tensor(2)
        clash, out = build.tensor(2, offset=16), build.tensor(2)
        build.add(x, x, y)
        build.add(x, x, clash)
        build.add(y, clash, out)
        build.inputs(x)
        build.outputs(out)
        path = file(build)
        report = run(capsys, "validate", path, "--no-kernels", code=ExitCode.CHECK_FAILED)
        assert f"instruction 1 (test::add.out) of forward writes value {clash} " in report
        assert f"over live bytes of value {y}" in report
        assert main(["validate", path, "--no-kernels", "--json"]) == ExitCode.CHECK_FAILED
        facts = json.loads(capsys.readouterr().out)
        assert facts["valid"] is False
        (problem,) = facts["problems"]
        assert problem["where"] == f"execution_plan[0].values[{clash}].val.allocation_info"
        assert problem["offset"] > 0

    def test_json(self, capsys, file):
        assert json.loads(run(capsys, "validate", file(add(2)), "--json"))["valid"] is True
        build = add(2)
        build.outputs(99)
        assert main(["validate", file(build), "--json"]) == ExitCode.INVALID_INPUT
        report = json.loads(capsys.readouterr().out)
        assert report["valid"] is False
        (problem,) = report["problems"]
        assert problem["name"] == "InvalidProgram"
        assert problem["code"] == 0x23
        assert problem["where"] == "execution_plan[0].outputs[0]"
        assert problem["offset"] > 0

    def test_with_kernels(self, capsys, file):
        build = add(2)
        build.plan.operators[0].name = "acme::add"
        path = file(build)
        assert run(capsys, "validate", path, "--no-kernels") == ""
        missing = run(capsys, "validate", path, code=ExitCode.MISSING_OPERATOR)
        assert "no kernel for acme::add.out" in missing
        assert "--no-kernels checks the file alone" in missing
        assert main(["validate", path, "--kernels", "portable", "--json"]) == ExitCode.MISSING_OPERATOR
        assert json.loads(capsys.readouterr().out)["problems"][0]["operators"] == ["acme::add.out"]

    def test_every_call_that_does_not_fit(self, capsys, file):
        build = add(2)
        x, number = build.tensor(2), build.scalar(1)
        build.call("aten::add.out", x, number, number, x, x)
        build.call("aten::relu.out", x, x, x, x)
        build.call("aten::relu.out", number, x, x)
        build.call("acme::a.out", x, x, x)
        path = file(build)
        assert run(capsys, "validate", path, "--no-kernels") == ""
        assert main(["validate", path, "--json"]) == ExitCode.MISSING_OPERATOR
        problems = json.loads(capsys.readouterr().out)["problems"]
        chain = "execution_plan[0].chains[0].instructions"
        assert [(found["name"], found["where"]) for found in problems] == [
            ("OperatorMissing", "forward"),
            ("InvalidProgram", f"{chain}[2].instr_args.args"),
            ("InvalidType", f"{chain}[1].instr_args.args[1]"),
            ("InvalidType", f"{chain}[3].instr_args.args[0]"),
        ]
        assert all(found["offset"] for found in problems[1:])
        assert problems[2]["message"] == "aten::add.out: argument 'other': expected Tensor, got Int"

    def test_no_kernels_and_kernels(self, capsys, file):
        path = file(add(2))
        run(capsys, "validate", path, "--no-kernels", "--kernels", "portable", code=ExitCode.USAGE)
        run(capsys, "validate", path, "--no-kernels", "--load", "x.py", code=ExitCode.USAGE)


class TestProcess:
    def start(self, *arguments: str, **options) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "et_tools.et_vm", *arguments]
        return subprocess.run(line, capture_output=True, text=True, check=False, **options)

    def test_help_starts_with_examples(self):
        done = self.start("--help")
        assert done.returncode == 0
        assert done.stdout.index("et-vm run model.pte") < done.stdout.index("positional arguments")

    def test_torch_is_left_alone(self, file):
        code = (
            "import sys; from et_tools.et_vm import main; main(sys.argv[1:]); print('torch' in sys.modules)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, "run", file(add(4))], capture_output=True, text=True, check=True
        )
        assert done.stdout.endswith("False\n")
