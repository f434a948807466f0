"""State through the API: read, set, reset, saved and loaded, and shared."""

import json
import subprocess
import sys
import time

import ml_dtypes
import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from support.vm_programs import Build, kernels, load

from et_schema.errors import Error, ExecutorchError, InputError, InvalidFile
from et_schema.flat_tensor import FlatTensor, NamedData, TensorLayout
from et_schema.ptd import open_ptd, serialize_ptd
from et_schema.scalar_type import ScalarType
from et_vm.program import Program
from et_vm.state.files import read_tensors


def counters():
    """A method that counts in two buffers, of which one starts at 5, and returns both."""
    build = Build()
    five = build.state(np.array([5, 6], np.int64), name="five")
    zero = build.tensor(2, dtype=ScalarType.LONG, name="zero")
    for register in (five, zero):
        build.call("test::increment_", register, register)
    build.outputs(five, zero)
    return build


def buffer(dtype, *sizes, **options):
    build = Build()
    state = build.tensor(*sizes, dtype=dtype, name="s", **options)
    build.outputs(state)
    return load(build).state


FLOAT = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}


def tensor_file(entry, **others):
    """A file of a tensor, or several, described as given, with four bytes."""
    text = json.dumps({"s": entry, **others}).encode()
    return len(text).to_bytes(8, "little") + text + b"\x02\0\0\0"


def values(state):
    return {name: array.tolist() for name, array in state.arrays().items()}


class TestReading:
    def test_names_and_values(self, mode):
        method = load(counters(), **mode)
        assert method.state.names == tuple(method.state) == ("five", "zero")
        assert len(method.state) == 2
        assert "five" in method.state
        assert "six" not in method.state
        method.execute()
        assert values(method.state) == {"five": [6, 7], "zero": [1, 1]}

    def test_a_copy(self):
        method = load(counters())
        method.state["five"][:] = 0
        assert method.state["five"].tolist() == [5, 6]

    def test_unknown(self):
        with pytest.raises(KeyError):
            load(counters()).state["six"]

    def test_none(self):
        build = Build()
        x = build.tensor(1)
        build.inputs(x)
        build.outputs(x)
        state = load(build).state
        assert state.names == ()
        state.reset()

    def test_repr(self):
        assert repr(load(counters()).state).startswith("State(five: Tensor(")


class TestSetting:
    def test_one(self, mode):
        method = load(counters(), **mode)
        method.state["zero"] = np.array([10, 20])
        method.state["five"] = torch.tensor([1, 2])
        assert [output.tolist() for output in method.execute()] == [[2, 3], [11, 21]]

    def test_reset(self, mode):
        method = load(counters(), **mode)
        method.execute()
        method.execute()
        method.state.reset("zero")
        assert values(method.state) == {"five": [7, 8], "zero": [0, 0]}
        method.state.reset()
        assert values(method.state) == {"five": [5, 6], "zero": [0, 0]}
        assert [output.tolist() for output in method.execute()] == [[6, 7], [1, 1]]

    def test_restore(self):
        method = load(counters())
        method.execute()
        kept = method.state.arrays()
        method.execute()
        method.state.restore(kept)
        assert values(method.state) == {"five": [6, 7], "zero": [1, 1]}

    def test_strides(self):
        state = buffer(ScalarType.FLOAT, 1, 2, 2, 2, dim_order=(0, 2, 3, 1))
        given = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2)
        state["s"] = given
        assert (state["s"] == given).all()

    def test_bfloat16(self):
        state = buffer(ScalarType.BFLOAT16, 2)
        state["s"] = torch.tensor([1.5, 2.5], dtype=torch.bfloat16)
        assert state["s"].dtype == ml_dtypes.bfloat16
        assert state["s"].tolist() == [1.5, 2.5]


class TestErrors:
    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (np.zeros(2, np.int32), "is int64 [2], got int32 [2]"),
            (np.zeros(3, np.int64), "is int64 [2], got int64 [3]"),
            (np.zeros((2, 1), np.int64), "is int64 [2], got int64 [2, 1]"),
            ([1, 2], "is int64 [2], got list"),
        ],
    )
    def test_another_type(self, value, message):
        state = load(counters()).state
        with pytest.raises(InputError) as caught:
            state["five"] = value
        assert message in str(caught.value)
        assert caught.value.code == Error.InvalidArgument
        with pytest.raises(InputError):
            state.restore({"five": np.zeros(2, np.int64), "zero": value})
        assert values(state) == {"five": [5, 6], "zero": [0, 0]}

    def test_unknown_names(self):
        state = load(counters()).state
        with pytest.raises(InputError, match="no buffer named 'six'") as caught:
            state["six"] = np.zeros(2, np.int64)
        assert caught.value.hint == "the buffers are five, zero"
        with pytest.raises(InputError):
            state.reset("five", "six")
        with pytest.raises(InputError, match="no buffer named 'six'; buffer 'zero' is missing"):
            state.restore({"five": np.zeros(2, np.int64), "six": np.zeros(2, np.int64)})

    def test_in_the_middle_of_an_execution(self):
        method = load(counters())
        method.step()
        for use in (
            lambda: method.state["five"],
            lambda: method.state.__setitem__("five", np.zeros(2, np.int64)),
            method.state.arrays,
            method.state.reset,
        ):
            with pytest.raises(ExecutorchError) as caught:
                use()
            assert caught.value.code == Error.InvalidState


class TestFiles:
    @pytest.mark.parametrize("name", ["s.safetensors", "s.ptd"])
    def test_there_and_back(self, name, tmp_path):
        first, second = load(counters()), load(counters())
        first.execute()
        first.state.save(tmp_path / name)
        second.state.load(tmp_path / name)
        assert [output.tolist() for output in second.execute()] == [[7, 8], [2, 2]]

    @pytest.mark.parametrize(
        "dtype",
        [
            ScalarType.BOOL, ScalarType.BYTE, ScalarType.CHAR, ScalarType.SHORT, ScalarType.INT, ScalarType.LONG,
            ScalarType.HALF, ScalarType.BFLOAT16, ScalarType.FLOAT, ScalarType.DOUBLE, ScalarType.COMPLEXFLOAT,
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("name", ["s.safetensors", "s.ptd"])
    def test_types(self, dtype, name, tmp_path):
        state = buffer(dtype, 2, 3)
        given = np.array([[0, 1, 1], [1, 0, 1]]).astype(state["s"].dtype)
        state["s"] = given
        state.save(tmp_path / name)
        state.reset()
        state.load(tmp_path / name)
        assert (state["s"] == given).all()

    def test_data_files_of_others(self, tmp_path):
        """Orders of dimensions, segments with more bytes, data that is no tensor; the same bytes each time."""
        layout = TensorLayout(ScalarType.FLOAT, [2, 3], bytes([1, 0]))
        names = [NamedData("s", 0, layout), NamedData("notes", 1)]
        stored = np.arange(6, dtype="f4")
        content = serialize_ptd(FlatTensor(named_data=names), [[stored.tobytes() + b"more"], [b"text"]])
        (tmp_path / "other.ptd").write_bytes(content)
        state = buffer(ScalarType.FLOAT, 2, 3)
        state.load(tmp_path / "other.ptd")
        assert state["s"].tolist() == stored.reshape(3, 2).T.tolist()
        for name in ("one.ptd", "two.ptd"):
            state.save(tmp_path / name)
        assert (tmp_path / "one.ptd").read_bytes() == (tmp_path / "two.ptd").read_bytes()
        [entry] = open_ptd(tmp_path / "one.ptd").tensors.named_data
        assert entry == NamedData("s", 0, TensorLayout(ScalarType.FLOAT, [2, 3], bytes([0, 1])))

    @pytest.mark.parametrize(
        ("layout", "message"),
        [
            (TensorLayout(ScalarType.FLOAT, [2, 3], bytes([0, 1])), "a tensor of 24 bytes in a segment of 4"),
            (TensorLayout(ScalarType.FLOAT, [1] * 65, bytes(range(65))), "a tensor of FLOAT"),
            (TensorLayout(ScalarType.BOOL, [4], bytes([0])), "bools with bytes other than 0 and 1"),
        ],
    )
    def test_data_files_that_make_no_sense(self, layout, message, tmp_path):
        path = tmp_path / "s.ptd"
        path.write_bytes(serialize_ptd(FlatTensor(named_data=[NamedData("s", 0, layout)]), [[b"\1\2\1\1"]]))
        with pytest.raises(InvalidFile, match=message) as caught:
            buffer(ScalarType.FLOAT, 1).load(path)
        assert caught.value.code == Error.InvalidExternalData
        assert str(caught.value.where).startswith(str(path))

    def test_the_library_reads_and_writes_them(self, tmp_path):
        state = load(counters()).state
        state.save(tmp_path / "ours.safetensors")
        theirs = load_file(tmp_path / "ours.safetensors")
        assert {name: array.tolist() for name, array in theirs.items()} == values(state)
        save_file({"zero": np.array([3, 4]), "five": np.array([1, 2])}, tmp_path / "theirs.safetensors")
        state.load(tmp_path / "theirs.safetensors")
        assert values(state) == {"five": [1, 2], "zero": [3, 4]}

    def test_interrupted_writes(self, tmp_path):
        """A process that is killed while it saves leaves the old state or the new one."""
        path = tmp_path / "s.ptd"
        load(counters()).state.save(path)
        old = path.read_bytes()
        script = (
            "import sys, numpy as np; from et_vm.state.files import write_tensors\n"
            "tensors = {'five': np.full(2, 7), 'zero': np.zeros(2, int), 'large': np.ones(1 << 20)}\n"
            "print('ready', flush=True)\n"
            "while True: write_tensors(sys.argv[1], tensors)\n"
        )
        found = set()
        for delay in (0.0, 0.005, 0.02, 0.05):
            path.write_bytes(old)
            with subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE) as process:
                assert process.stdout.readline() == b"ready\n"
                time.sleep(delay)
                process.kill()
            names = tuple(read_tensors(path))
            assert names in (("five", "zero"), ("five", "zero", "large"))
            found.add(names)
        assert len(found) <= 2

    def test_a_type_that_files_lack(self, tmp_path):
        with pytest.raises(ExecutorchError) as caught:
            buffer(ScalarType.COMPLEXDOUBLE, 1).save(tmp_path / "s.safetensors")
        assert caught.value.code == Error.NotSupported
        assert list(tmp_path.iterdir()) == []

    def test_places_that_are_not_there(self, tmp_path):
        state = load(counters()).state
        for use in (state.save, state.load):
            with pytest.raises(ExecutorchError) as caught:
                use(tmp_path / "nowhere" / "s.safetensors")
            assert caught.value.code == Error.AccessFailed

    def test_of_another_program(self, tmp_path):
        buffer(ScalarType.FLOAT, 1).save(tmp_path / "s.safetensors")
        with pytest.raises(InputError):
            load(counters()).state.load(tmp_path / "s.safetensors")

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"1234567",
            tensor_file(FLOAT) + b"\0",
            tensor_file(FLOAT, other=FLOAT),
            tensor_file({"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}),
            tensor_file({"dtype": "F32", "shape": [0, 2**62, 2**62], "data_offsets": [0, 0]}),
            tensor_file({"dtype": "U8", "shape": [3], "data_offsets": [1, 4]}),
            (99).to_bytes(8, "little") + b"{}",
            (2).to_bytes(8, "little") + b"[]",
            (2).to_bytes(8, "little") + b"{,",
            *(
                tensor_file(entry)
                for entry in (
                    None,
                    {"dtype": "F32", "shape": [1]},
                    {"dtype": "F33", "shape": [1], "data_offsets": [0, 4]},
                    {"dtype": "F32", "shape": [1], "data_offsets": [0, 8]},
                    {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]},
                    {"dtype": "F32", "shape": [1] * 65, "data_offsets": [0, 4]},
                    {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]},
                    {"dtype": "F32", "shape": ["1"], "data_offsets": [0, 4]},
                    {"dtype": "F32", "shape": 1, "data_offsets": [0, 4]},
                    {"dtype": ["F32"], "shape": [1], "data_offsets": [0, 4]},
                    {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]},
                    {"dtype": "BOOL", "shape": [4], "data_offsets": [0, 4]},
                )
            ),
        ],
    )
    def test_malformed(self, content, tmp_path):
        path = tmp_path / "s.safetensors"
        path.write_bytes(content)
        with pytest.raises(InvalidFile) as caught:
            buffer(ScalarType.FLOAT, 1).load(path)
        assert caught.value.code == Error.InvalidExternalData
        assert caught.value.where == str(path)


class TestSharing:
    def test_a_method_that_is_loaded_later_goes_on(self):
        program = Program.load(counters().file())
        memory = program.new_memory()
        first = program.load_method("forward", kernels=kernels(), memory=memory)
        first.execute()
        second = program.load_method("forward", kernels=kernels(), memory=memory)
        assert values(second.state) == {"five": [6, 7], "zero": [1, 1]}
        second.state.reset()
        assert [output.tolist() for output in first.execute()] == [[6, 7], [1, 1]]

    def test_another_program_starts_anew(self):
        file = counters().file()
        one, other = Program.load(file), Program.load(file)
        memory = one.new_memory()
        one.load_method("forward", kernels=kernels(), memory=memory).execute()
        assert other.load_method("forward", kernels=kernels(), memory=memory).state["five"].tolist() == [5, 6]
