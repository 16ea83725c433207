# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled steps on disk: the same bits without compiling, and nothing that is wrong with a file or folder stops a run."""
import json
import logging
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import remat
from conftest import ROOT, assert_unchanged, batch_of, batches, mlp, run, snapshot
from remat import cache, mlir

SGD = remat.SGD(0.1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("REMAT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def build(text=None, **arguments):
    """The step, and the stages that compiling it went through."""
    stages = []
    request = mlir.make_request(mlp() if text is None else text, **({"optimizer": SGD} | arguments))
    native, records = mlir._native.compile(request.options, lambda stage, count: stages.append(count))
    assert native is not None, records
    return remat.Step(native, (), mlir.Compilation(request), request.options.pipeline), stages


def steps_are_equal(*steps):
    arrays = batches(3)
    for i in range(3):
        assert len({step(*batch_of(step, arrays, i)) for step in steps}) == 1
    for step in steps[1:]:
        assert_unchanged(steps[0], snapshot(step))


def the_file(folder):
    path, = folder.glob("llvmcache-remat-*")
    return path


@pytest.mark.parametrize("text, arguments", [
    (mlp(), {"optimizer": remat.AdamW(0.01), "seed": 3}),
    # Values of the module: one that repeats, one that does not, and none.
    (mlp().replace('opt.init = "uniform(-0.1, 0.1)"', "remat.init = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>")
     .replace('"first.weight", opt.init = "normal(0.5)"', '"first.weight", remat.init = dense<0.5> : tensor<5x4xf32>'),
     {"optimizer": SGD})])
def test_what_was_kept_has_the_same_bits(folder, text, arguments):
    first, second, without = (remat.mlir.train_step(text, **arguments, cache=use) for use in (True, True, False))
    assert [s._native.is_cached for s in (first, second, without)] == [False, True, False]
    assert repr(first.memory) == repr(second.memory) and first.arguments == second.arguments
    assert_unchanged(second, snapshot(without))
    steps_are_equal(first, second, without)
    assert first.explain() == second.explain()


def test_evaluation_dropout_and_statistics(folder):
    text = (ROOT / "examples" / "digits.mlir").read_text()
    first, second = (remat.mlir.train_step(text) for _ in range(2))
    assert second._native.is_cached
    rng = np.random.default_rng(0)
    for _ in range(2):
        batch = [(rng.standard_normal(a.shape) if a.type == "f32" else rng.integers(0, 10, a.shape)).astype(a.dtype)
                 for a in first.data]
        assert first(*batch) == second(*batch) and first.eval(*batch) == second.eval(*batch)
    assert_unchanged(first, snapshot(second))


def test_nothing_is_compiled_again(folder, caplog):
    with caplog.at_level(logging.INFO, "remat"):
        for _ in range(2):
            remat.mlir.train_step((ROOT / "examples" / "chargpt.mlir").read_text(), file_name="chargpt.mlir")
    messages = [r.getMessage() for r in caplog.records if " in " in r.getMessage()]
    assert "chargpt.mlir was compiled" in messages[0] and "chargpt.mlir was read from the cache" in messages[-1]
    _, stages = build((ROOT / "examples" / "chargpt.mlir").read_text(), optimizer=None, file_name="chargpt.mlir")
    assert not any(stages)


def test_warnings_are_there_again(folder):
    text = mlp().replace("%w1: tensor<4x3xf32> {opt.param",
                         '%unused: tensor<2xf32> {opt.param = "unused", opt.init = "zeros"},\n'
                         "                %w1: tensor<4x3xf32> {opt.param")
    first, second = (remat.mlir.train_step(text, optimizer=SGD) for _ in range(2))
    assert second._native.is_cached and "unused" in str(first.warnings)
    assert [str(w) for w in first.warnings] == [str(w) for w in second.warnings]


@pytest.mark.parametrize("arguments", [
    {"optimizer": remat.SGD(0.2)}, {"policy": "everything_saveable"}, {"seed": 1}, {"optimization_level": 2},
    {"options": "loss-tile=0"}, {"policy": remat.whole()}, {"file_name": "other.mlir"}, {"eval_function": "loss"}])
def test_another_request_is_another_file(folder, arguments):
    build()
    step, _ = build(**arguments)
    assert not step._native.is_cached and len(cache.files()) == 2


def test_what_passes_read_is_part_of_the_request(folder, tmp_path):
    spec, text = tmp_path / "spec.json", re.sub(r" {(opt.param|remat.data)[^}]*}", "", mlp())

    def describe(name):
        values = [("x", "data", [6, 5]), ("y", "data", [6, 3]), ("a", "parameter", [5, 4]), ("b", "parameter", [4]),
                  (name, "parameter", [4, 3])]
        spec.write_text(json.dumps({
            "function": "loss", "constants": [], "results": [{"name": "loss", "role": "loss", "shape": [], "dtype": "f32"}],
            "arguments": [{"name": n, "role": r, "shape": s, "dtype": "f32"} for n, r, s in values]}))
        return build(text, passes=f"remat-import{{spec={spec}}}")[0]
    assert not describe("c")._native.is_cached and describe("c")._native.is_cached
    step = describe("d")
    assert not step._native.is_cached and list(step.parameters) == ["a", "b", "d"]


@pytest.mark.parametrize("damage, message", [
    (lambda data: data[:0], "does not begin as such files do"),
    (lambda data: data[:10], "does not begin as such files do"),
    (lambda data: data[:30], "its checksum is wrong"),
    (lambda data: data[:len(data) // 2], "its checksum is wrong"),
    (lambda data: data[:-1], "its checksum is wrong"),
    (lambda data: data + b"\0", "its checksum is wrong"),
    (lambda data: data[:len(data) // 3] + bytes([data[len(data) // 3] ^ 4]) + data[len(data) // 3 + 1:],
     "its checksum is wrong"),
    (lambda data: b"remat compiled step 0\n" + data[22:], "does not begin as such files do")])
def test_a_damaged_file_is_made_anew(folder, caplog, damage, message):
    build()
    path = the_file(folder)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    with caplog.at_level(logging.WARNING, "remat"):
        step = remat.mlir.train_step(mlp(), optimizer=SGD)
    assert message in caplog.text and "is made anew" in str(step.warnings[0])
    steps_are_equal(step, remat.mlir.train_step(mlp(), optimizer=SGD, cache=False))
    assert the_file(folder).read_bytes() == whole
    again = remat.mlir.train_step(mlp(), optimizer=SGD)
    assert again._native.is_cached and not again.warnings


def in_another_process(folder, tmp_path, code, **environment):
    (tmp_path / "model.mlir").write_text(mlp())
    code = f"import remat, pathlib; text = pathlib.Path({str(tmp_path / 'model.mlir')!r}).read_text(); {code}"
    return run([sys.executable, "-c", code], PYTHONPATH=str(ROOT / "python"), REMAT_CACHE_DIR=str(folder), **environment)


def test_files_of_another_compiler_are_left_alone(folder, tmp_path):
    """Another build has another build ID, and looks for files of other names."""
    library = Path(mlir._native.__file__).parents[2] / "lib" / "libRematCAPI.so"
    if not library.exists() or not shutil.which("readelf"):
        pytest.skip("needs a build folder, and readelf")
    notes = subprocess.run(["readelf", "-n", library], capture_output=True, text=True).stdout
    build_id, data = bytes.fromhex(re.search("Build ID: ([0-9a-f]+)", notes)[1]), library.read_bytes()
    assert data.count(build_id) == 1
    (tmp_path / library.name).write_bytes(data.replace(build_id, build_id[::-1]))
    build()
    path = the_file(folder)
    before = path.read_bytes()
    out = in_another_process(folder, tmp_path, "step = remat.mlir.train_step(text, optimizer=remat.SGD(0.1)); "
                             "print(step._native.is_cached, step.warnings)",
                             LD_LIBRARY_PATH=f"{tmp_path}:{library.parent}")
    assert out == "False ()\n" and len(cache.files()) == 2 and path.read_bytes() == before


def test_a_folder_that_cannot_be_made(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("REMAT_CACHE_DIR", str(tmp_path / "file"))
    step = remat.mlir.train_step(mlp(), optimizer=SGD)
    assert "could not be kept in" in str(step.warnings[0]) and not step._native.is_cached
    steps_are_equal(step, remat.mlir.train_step(mlp(), optimizer=SGD, cache=False))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to any folder")
def test_a_read_only_folder(folder):
    build()
    folder.chmod(0o500)
    try:
        assert remat.mlir.train_step(mlp(), optimizer=SGD)._native.is_cached
        step = remat.mlir.train_step(mlp(), optimizer=remat.SGD(0.3))
        assert "could not be kept in" in str(step.warnings[0]) and len(cache.files()) == 1
    finally:
        folder.chmod(0o700)


def is_read_again(message=None):
    """Returns true if a step is read from the cache. Checks that its only warning is `message`, or that it has none."""
    step = remat.mlir.train_step(mlp(), optimizer=SGD)
    assert (message is None) == (not step.warnings) and (message is None or message in str(step.warnings[0]))
    return step._native.is_cached


@pytest.mark.parametrize("mode", [0o777, 0o707, 0o770, 0o1777])
def test_a_folder_that_others_may_write_to(folder, mode):
    build()
    before = the_file(folder).read_bytes()
    folder.chmod(mode)
    assert not is_read_again(f"machine code is not read from '{folder}', since others may change '{folder}': others may write to it (mode {mode:o})")
    build(seed=3)
    assert the_file(folder).read_bytes() == before  # nothing is written, either
    folder.chmod(0o755)
    assert is_read_again()


def test_a_file_that_others_may_write_to(folder):
    build()
    path = the_file(folder)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o666)
    assert not is_read_again(f"{path} cannot be used and is made anew: others may write to it (mode 666)")
    assert path.stat().st_mode & 0o777 == 0o600 and is_read_again()


def test_a_folder_that_others_may_replace(tmp_path, monkeypatch):
    way = tmp_path / "way"
    way.mkdir()
    monkeypatch.setenv("REMAT_CACHE_DIR", str(way / "to" / "cache"))
    way.chmod(0o777)
    assert not is_read_again(f"since others may change '{way}': others may write to it (mode 777)") and not (way / "to").exists()
    way.chmod(0o1777)  # as /tmp
    build()
    assert is_read_again()
    way.chmod(0o777)
    assert not is_read_again(f"since others may change '{way}'")
    (tmp_path / "link").symlink_to(way / "to" / "cache")
    monkeypatch.setenv("REMAT_CACHE_DIR", str(tmp_path / "link"))
    assert not is_read_again(f"since others may change '{way}'")
    way.chmod(0o700)
    assert is_read_again()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
@pytest.mark.parametrize("what", ["file", "folder", "parent"])
def test_what_belongs_to_another_user(folder, what):
    build()
    place = {"file": the_file(folder), "folder": folder, "parent": folder.parent}[what]
    os.chown(place, 65534, 65534)
    assert not is_read_again("it belongs to user 65534")
    assert place.stat().st_uid == (0 if what == "file" else 65534)
    os.chown(place, 0, 0)
    assert is_read_again()


def test_a_full_disk(folder, tmp_path):
    """A limit on the size of files is what a test can meet; writing fails as it does on a full disk."""
    out = in_another_process(
        folder, tmp_path, "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); import numpy as np; "
        "step = remat.mlir.train_step(text, optimizer=remat.SGD(0.1)); "
        "print(step(np.ones((6, 5), 'f4'), np.ones((6, 3), 'f4')) > 0, step.warnings[0].message)")
    assert out.startswith("True the compiled step could not be kept in") and "File too large" in out
    assert cache.files() == []  # and no part of one


def _train(folder, start, results):
    os.environ["REMAT_CACHE_DIR"] = str(folder)
    start.wait()
    losses = []
    for _ in range(4):
        step = remat.mlir.train_step(mlp(), optimizer=SGD)
        losses.append(step(*batch_of(step, batches(1), 0)))
    results.put((losses, len(step.warnings)))


def test_processes_at_once(folder):
    context = multiprocessing.get_context("spawn")
    start, results = context.Event(), context.Queue()
    processes = [context.Process(target=_train, args=(folder, start, results)) for _ in range(3)]
    for process in processes:
        process.start()
    start.set()
    found = [results.get(timeout=300) for _ in processes]
    for process in processes:
        process.join()
    losses = {loss for some, warnings in found for loss in some}
    assert len(losses) == 1 and all(warnings == 0 for _, warnings in found)
    assert len(cache.files()) == 1


def test_what_was_not_used_for_longest_goes_first(folder, monkeypatch):
    monkeypatch.setenv("REMAT_CACHE_POLICY", "prune_interval=0s:cache_size_files=2")
    paths = []
    for i in range(3):
        build(seed=i)
        paths += [path for path in cache.files() if path not in paths]
        for age, path in enumerate(reversed(paths)):
            if path.exists():
                os.utime(path, (time.time() - 1000 * age,) * 2)
    assert len(paths) == 3 and sorted(paths[1:]) == cache.files()


def test_a_policy_that_cannot_be_read_is_a_warning(folder, monkeypatch):
    monkeypatch.setenv("REMAT_CACHE_POLICY", "much")
    step = remat.mlir.train_step(mlp(), optimizer=SGD)
    assert "the compiled step is not kept: " in str(step.warnings[0]) and cache.files() == []


def test_where_it_is(tmp_path, monkeypatch):
    monkeypatch.delenv("REMAT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / "xdg" / "remat"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder() == tmp_path / ".cache" / "remat"
    monkeypatch.setenv("REMAT_CACHE_DIR", "")
    assert cache.folder() is None and cache.files() == []
    assert not remat.mlir.train_step(mlp(), optimizer=SGD)._native.is_cached


def test_the_command(folder):
    environment = {"PYTHONPATH": str(ROOT / "python"), "REMAT_CACHE_DIR": str(folder)}
    assert run([sys.executable, "-m", "remat", "cache"], **environment) == f"{folder}: 0 compiled steps, 0 bytes\n"
    build()
    size = the_file(folder).stat().st_size
    assert run([sys.executable, "-m", "remat", "cache"], **environment) == f"{folder}: 1 compiled steps, {size:,} bytes\n"
    assert run([sys.executable, "-m", "remat", "cache", "--clear"], **environment) == f"{folder}: 0 compiled steps, 0 bytes\n"
    assert cache.files() == []
