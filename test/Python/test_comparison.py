# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""remat.compare: memory and time of a model under several policies."""
import re
from xml.etree import ElementTree

import pytest

import remat
from conftest import batch_of, batches, mlp
from remat.figures import show_bytes

TEXT = mlp()


def make(policy):
    return remat.mlir.train_step(TEXT, optimizer=remat.AdamW(0.01), optimization_level=0, policy=policy)


@pytest.fixture(scope="module")
def batch():
    return batch_of(make(None), batches(1), 0)


def circles(comparison):
    root = ElementTree.fromstring(comparison.figure())
    return {circle[0].text.splitlines()[0]: (float(circle.get("cx")), float(circle.get("cy")))
            for circle in root.iter("{http://www.w3.org/2000/svg}circle")}


def test_each_policy_is_a_row_and_a_point(batch):
    whole = remat.whole()
    found = remat.compare(make, ["none", whole, "dots"], batch, steps=3, warmup=1)
    assert [row.name for row in found.rows] == ["none", str(whole), "dots"]
    for row, policy in zip(found.rows, ("none", whole)):
        assert row.memory == make(policy).memory and row.error is None
        assert 0 < row.quartiles[0] <= row.seconds <= row.quartiles[1]
    assert found[str(whole)].memory.recomputed_ops > found["none"].memory.recomputed_ops == 0
    points = circles(found)
    assert set(points) == {"none", str(whole)}
    slower = max(found.rows[:2], key=lambda row: row.seconds)
    assert points[slower.name][0] == max(x for x, _ in points.values())
    larger = max(found.rows[:2], key=lambda row: row.memory.peak)
    assert points[larger.name][1] == min(y for _, y in points.values())


def test_a_policy_that_does_not_compile_is_a_row_with_its_error(batch):
    found = remat.compare(make, {"none": "none", "unknown": "dots"}, batch, steps=2)
    with pytest.raises(remat.CompileError) as failure:
        make("dots")
    assert found["unknown"].error == str(failure.value) and found["unknown"].memory is None
    head, first, last = repr(found).splitlines()
    assert head.split() == ["policy", "peak", "arena", "residuals", "recomputed", "step", "time"]
    assert re.fullmatch(rf"none +{re.escape(show_bytes(found['none'].memory.peak))} .* ms", first)
    assert last == f"unknown  {found['unknown'].error.splitlines()[0]}"
    assert set(circles(found)) == {"none"}


def test_what_does_not_fit_in_the_machine_is_a_row(batch):
    def fail(policy):
        raise MemoryError
    found = remat.compare(fail, ["none"], batch)
    assert found["none"].error == "MemoryError" and circles(found) == {}


def test_steps_are_warmed_up_counted_and_made_one_at_a_time(batch):
    made = []

    def note(policy):
        assert all(step() is None for step in made)
        import weakref
        step = make("none")
        made.append(weakref.ref(step))
        numbers.append(policy)
        return step
    numbers = []
    found = remat.compare(note, iter([1, 2]), batch, steps=2, warmup=0)
    assert numbers == [1, 2] and [row.name for row in found.rows] == ["1", "2"]


@pytest.mark.parametrize("arguments, error, message", [
    ((None, ["none"]), TypeError, "make must be a function of a policy that returns a step, but got NoneType"),
    ((make, "none"), TypeError, "policies must be a list, .* but got one text"),
    ((make, ["none", "none"]), ValueError, "two policies have the same text: name them in a dictionary"),
    ((lambda policy: None, ["none"]), TypeError, "make must return a remat.Step, but for none it returned NoneType")])
def test_wrong_arguments(batch, arguments, error, message):
    with pytest.raises(error, match=message):
        remat.compare(*arguments, batch)


def test_wrong_counts_and_batches_are_errors(batch):
    with pytest.raises(ValueError, match="steps must be 0 or at least 2 and warmup at least 0, but got 1 and 3"):
        remat.compare(make, ["none"], batch, steps=1)
    with pytest.raises(TypeError, match="the step takes 2 arrays .* but got 1"):
        remat.compare(make, ["none"], batch[0])


def test_many_labels_stay_apart_and_in_the_figure():
    from remat.comparison import Comparison, Row
    memory = make("none").memory
    rows = [Row(f"policy number {i}", memory, 1e-3 + 1e-6 * i, (1e-3, 1.1e-3)) for i in range(5)]
    comparison = Comparison(rows)
    root = ElementTree.fromstring(comparison.figure())
    labels = [t for t in root.iter("{http://www.w3.org/2000/svg}text") if (t.text or "").startswith("policy number")]
    assert len(labels) == 5 and len({(t.get("x"), t.get("y"), t.get("text-anchor")) for t in labels}) == 5
    assert "policy number 3" in comparison._repr_html_()


def test_without_steps_policies_are_sorted_by_peak_and_marked_if_they_fit(batch):
    policies = {"none": "none", "whole": remat.whole(), "unknown": "dots"}
    peaks = {name: make(policies[name]).memory.peak for name in ("none", "whole")}
    low, high = sorted(peaks, key=lambda name: peaks[name])
    assert peaks[low] < peaks[high]

    found = remat.compare(make, policies, batch, steps=0, memory=peaks[low])
    head, first, second, last = repr(found).splitlines()
    assert head.split() == ["policy", "peak", "arena", "residuals", "recomputed", "fits"]
    assert first.split()[0] == low and first.endswith(" yes") and second.split()[0] == high and second.endswith(" no")
    assert last.startswith("unknown  ") and found.fastest.name == low
    assert "<svg" not in found._repr_html_()
    with pytest.raises(ValueError, match="no steps were timed"):
        found.figure()
    with pytest.raises(remat.OverBudgetError, match=f"no policy is within 8 bytes: the smallest step, of {low}, takes {peaks[low]:,} bytes"):
        remat.compare(make, policies, batch, steps=0, memory=8).fastest  # noqa: B018  (raises)
    assert remat.compare(make, policies, batch, steps=0).fastest.name == "none"  # recomputes nothing
