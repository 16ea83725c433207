# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps on several processes: bits and files are those of one, and what goes wrong on one rank goes wrong on all, in time.
MPIRUN is the command that starts ranks; Inputs/on_ranks.py is what they run."""
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("Inputs") / "on_ranks.py"


def start(case, started, ranks=None, argument="-", timeout=120):
    launcher = [*shlex.split(os.environ["MPIRUN"]), "-n", str(started)] if started > 1 else []
    command = [*launcher, sys.executable, str(SCRIPT), case, str(ranks or started), str(argument)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=os.environ | {"OMP_NUM_THREADS": "1"})


def run(case, started, argument="-"):
    """Returns the results of the ranks, in any order."""
    done = start(case, started, argument=argument)
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(results) == started
    return results


def without(result, *names):
    return {name: value for name, value in result.items() if name not in names}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The results by number of ranks, and the folder of their files."""
    folder = tmp_path_factory.mktemp("ranks")
    return {ranks: run("train", ranks, folder) for ranks in (1, 2, 4)}, folder


def test_all_ranks_have_the_bits_of_one(trained):
    results, _ = trained
    one = results[1][0]
    for ranks in (2, 4):
        assert sorted(result["rank"] for result in results[ranks]) == list(range(ranks))
        for result in results[ranks]:
            assert without(result, "rank", "data", "arena", "bytes") == without(one, "rank", "data", "arena", "bytes")
            assert result["data"] == [[8 // ranks, 5], [8 // ranks, 3]]
            # Only memory of this rank is counted.
            assert result["bytes"] == one["bytes"] // ranks


def test_a_file_has_the_bytes_of_one_rank(trained):
    _, folder = trained
    files = [(folder / f"{ranks}.safetensors").read_bytes() for ranks in (1, 2, 4)]
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("before, after", [(1, 2), (2, 1), (4, 2)])
def test_a_run_goes_on_with_other_ranks(trained, before, after):
    results, folder = trained
    for result in run("resume", after, folder / f"{before}.safetensors"):
        assert result["number"] == 3
        assert result["losses"] == results[1][0]["losses"][2:]
        assert result["state"] == results[1][0]["state"]


def test_data_are_split_as_shard_says():
    (one,), two = run("columns", 1), run("columns", 2)
    assert [result["data"] for result in two] == [[[8, 4], [8, 3]]] * 2
    for result in two:
        assert without(result, "data") == without(one, "data")


def test_a_grid_of_two_axes():
    two, four = run("grid", 2), run("grid", 4)
    assert sorted(result["place"] for result in four) == [[0, 0], [0, 1], [1, 0], [1, 1]]
    for result in two + four:
        assert without(result, "place", "errors") == without(two[0], "place", "errors")
    assert sum(result["errors"][0].startswith("StepError: rank 3: the step takes 2 arrays") for result in four) == 3
    assert sum(result["errors"][0].startswith("TypeError: the step takes 2 arrays") for result in four) == 1


@pytest.mark.parametrize("ranks", [2, 4])
def test_what_one_rank_raises_all_raise_and_nothing_changes(ranks):
    results, last = run("fail", ranks), ranks - 1
    for i, (kind, culprit, text) in enumerate([("TypeError", last, "the step takes 2 arrays"), ("ValueError", last, "argument 0 ('x') must be"),
                                               ("TypeError", 0, "argument 0 ('x') must be")]):
        errors = sorted(result["errors"][i] for result in results)
        assert sum(error.startswith(f"{kind}: {text}") for error in errors) == 1, errors
        assert sum(error.startswith(f"StepError: rank {culprit}: {text}") for error in errors) == ranks - 1, errors
    for result in results:
        assert "the index of dimension 0 is not in 0..5" in result["errors"][3]
        assert "NaN" in result["errors"][4]
        assert result["same"]
        assert result["after"] == results[0]["after"]
    # The operation that makes a NaN is found by the rank that has it, and named by the others.
    assert sum(result["errors"][4].startswith(f"StepError: rank {last}: ") for result in results) == ranks - 1


def test_programs_that_differ_are_refused():
    for result in run("differ", 2):
        *compared, save, load = result["errors"]
        for error, what in zip(compared, ("model", "optimizer", "seed"), strict=True):
            assert error.startswith(f"RankError: rank 1 has another {what} than rank 0: ")
            assert error.endswith("; all ranks must run the same program")
        assert "/nowhere/run.safetensors: cannot be written" in save
        assert "No such file or directory" in load
        assert result["after"]


def test_wrong_meshes_are_refused():
    expected = ["needs an axis", "at least 1, but got 0", "parts: there is no axis 'model'", "must divide its parts, but got 3",
                "has 3 ranks, but 2 processes were started; start it with mpirun -n 3 python ", "7 elements in dimension 0, which 2 ranks do not divide",
                "rows: there is no axis 'model'; the axes of the mesh are 'data'", "shard['x']: there is no axis 'model'",
                "'shards' has 'z', but no argument is called so; there are x, y, ", "splits two dimensions along axis 'data'",
                "in the 2 parts of axis 'data', which do not divide it", "give mesh= as well", "must be a remat.Mesh, but got int"]
    for result in run("refuse", 2):
        for error, text in zip(result["errors"], expected, strict=True):
            assert text in error


def test_several_ranks_need_mpirun():
    done = start("train", 1, ranks=2)
    assert done.returncode == 1
    assert "has 2 ranks, but this process was started alone; start it with mpirun -n 2 python " in done.stderr


def test_an_exception_of_one_rank_ends_all():
    begin = time.monotonic()
    done = start("die", 2, timeout=60)
    assert done.returncode != 0
    assert "the loader of this rank has failed" in done.stderr
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize("framework, needs", [("torch", ("torch", "torch_mlir")), ("jax", ("jax", "iree.compiler"))])
def test_models_of_frameworks_have_the_bits_of_one_rank(framework, needs, tmp_path):
    for module in needs:
        pytest.importorskip(module)
    (one,), two = run(framework, 1, tmp_path / "run"), run(framework, 2, tmp_path / "run")
    for result in two:
        assert without(result, "errors") == without(one, "errors")
    assert (tmp_path / "run.1").read_bytes() == (tmp_path / "run.2").read_bytes()
    if framework == "torch":
        assert sorted(result["errors"][0].split(":")[0] for result in two) == ["StepError", "TypeError"]
