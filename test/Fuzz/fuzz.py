#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Feed mutated IR to remat-opt under random passes and report what it must never do: crash, assert or hang.

    fuzz.py [--count N] [--seed S] [--minutes M] [--programs P] [--keep FOLDER] [--tool remat-opt] [FILE.mlir ...]

Seeds are the modules of the given files, by default every lit input, P random programs, and what prefixes of the
training pipeline make of them. The same seed gives the same mutants. Failures that end at the same place count once; each is reduced and
written to FOLDER with the command that shows it. Build with REMAT_SANITIZE and pass its remat-opt as --tool to look for
memory errors. A frame of this project on the stack makes a failure ours; failures inside upstream's passes alone are listed
as such: look whether our passes gave them wrong IR.
"""

import argparse
import hashlib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "test/Laws/Inputs")]
from mutations import POLICIES, mutate  # noqa: E402
from pipeline import read_pipeline  # noqa: E402
from remat.testing.random_families import make_programs  # noqa: E402

SEPARATOR = "\n// -----\n"
BATCH = 30
# The training pipeline in stages, of which these passes are the last: mutants of a stage's output reach the passes after it.
ENDS = {"remat-lower-random", "remat-fuse", "remat-differentiate", "remat-materialize", "remat-insert-steps",
        "opt-lower-steps", "remat-schedule", "remat-fit-budget"}
LAST_STAGES = ["remat-bufferize", "remat-lower-train-step", "remat-lower-to-cpu"]
UPSTREAM = ["canonicalize", "cse", "inline", "symbol-dce", "sccp", "loop-invariant-code-motion", "mem2reg",
            "convert-elementwise-to-linalg", "linalg-generalize-named-ops", "scf-for-loop-canonicalization",
            "one-shot-bufferize{bufferize-function-boundaries}", "convert-scf-to-cf", "control-flow-sink"]
PIPELINES = ["remat-train", "remat-train-to-tensors", "remat-bufferize", "remat-lower-to-cpu"]
# remat-annotate takes one option of each, and refuses most other choices.
SELECTORS = ["blocks", "whole", "checkpoints", "calls", "scope", "ops"]
ACTIONS = ["policy", "recompute", "name", "stop", "vjp"]
# Values of options that are neither true nor false, of one pass or of all.
OPTIONS = {
    "policy": ["none", "every_k<2>", *(policy for policy in POLICIES if "<" not in policy)], "report": ["-"],
    "mode": ["eager", "deferred"], "arena": ["auto", "argument", "alloc", "global", "none"], "alignment": ["0", "1", "64"],
    "wrt": ["0", "1", "-1", "9"], "threads": ["0", "1", "-2"], "function": ["loss", "main", "missing"],
    "pick": ["0", "-1", "1-3", "9", "x"], "every": ["0", "1", "2", "-1"], "group": ["0", "1", "2", "100"],
    "spec": ["missing.json"], "params": ["*", "w", "missing"], "data": ["*", "x"], "state": ["s:0", "s:9", "s", "*:1"],
    "scope": ["*", "layers.*", "x"], "calls": ["*", "layer", "missing"], "ops": ["softmax", "dot,norm", "math.exp"],
    "recompute": ["elementwise,norm", "dot", "math.exp"], "name": ["h"], "vjp": ["@loss", "@missing"],
    "remat-annotate.report": ["true"], "min-rank": ["0", "1", "-1"], "min-elements": ["0", "1", "1000000"],
    "optimizer": ["#opt.sgd<lr=0.1>", "#opt.adamw<lr=0.1>"],
}
PLACE = re.compile(r"((?:lib|include/remat|tools)/[\w/]+\.(?:cpp|h|td)):(\d+)")
# Errors of the verifier: after a pass of ours, its result is invalid.
INVALID = re.compile(r"error: (.*(?:does not dominate this use|operand #\d+ must be|result #\d+ must be|"
                     r"expects? (?:the )?same type|requires the same|block with no terminator|null operand found|"
                     r"incorrect number of operands|failed to verify).*)")
# Crashes of upstream's parser and verifier, which no pass can prevent; (function on the stack: input).
KNOWN = {
    "parseDenseArrayAttr": "array<index: ...>",
    "mlir::linalg::TransposeOp::parse": "permutation = [1, 0.0]",
    "mlir::linalg::ReduceOp::parse": "dimensions = [0.0]",
    "mlir::linalg::BroadcastOp::parse": "dimensions = [0.0]",
    "mlir::linalg::PackOp::getStaticTiles": "inner_tiles = [%poison]",
    "mlir::vector::FromElementsOp::parse": "vector<4294967296xf32>",
    "mlir::LLVM::AtomicRMWOp::parse": "a value without a type",
}


def read_stages(tool):
    stages = [[]]
    for name in read_pipeline(tool, clean_up=True):
        stages[-1].append(name)
        if name.split("{")[0] in ENDS:
            stages.append([])
    ends = {stage[-1].split("{")[0] for stage in stages[:-1]}
    if ends != ENDS or stages[-1]:
        sys.exit(f"the training pipeline has other passes: {sorted(ENDS - ends)} are gone, {stages[-1]} are at its end")
    return [",".join(stage) for stage in stages[:-1]] + LAST_STAGES


def passes_of_the_project():
    """Every pass that the reference pages describe, with its options."""
    passes = {}
    for page in sorted((ROOT / "docs/reference").glob("*Passes.md")):
        for section in page.read_text().split("\n### `-")[1:]:
            passes[section.split("`")[0]] = re.findall(r"^-([\w-]+)", section.partition("#### Options")[2], re.M)
    return passes


def seed_modules(files):
    for file in files:
        for chunk in re.split(r"^// -----.*$", file.read_text(), flags=re.M):
            chunk = re.sub(r"^\s*//.*\n?", "", chunk, flags=re.M).strip()
            if chunk and len(chunk) < 60000:
                yield chunk + "\n"


# libMLIR.so is not instrumented: it allocates from slabs that our code has poisoned.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0:allow_user_poisoning=0:detect_container_overflow=0:exitcode=99",
               "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:exitcode=99"}


class Failure:
    """How a run ended that must not have ended so."""

    def __init__(self, status, errors):
        invalid = INVALID.search(errors) if status == 1 else None
        assertion = re.search(r"([\w./+-]+):(\d+): (.*): Assertion [`'](.*?)' failed", errors)
        sanitizer = re.search(r"(\S+:\d+):\d+: runtime error: (.*)", errors)
        memory = re.search(r"ERROR: AddressSanitizer:? (.*?)(?: on | \(| 0x|$)", errors, re.M)
        fatal = re.search(r"LLVM ERROR: (.*)", errors)
        places = [f"{m.group(1)}:{m.group(2)}" for m in map(PLACE.search, errors.splitlines()) if m]
        places = [p for p in places if "remat-opt" not in p and "Pipelines" not in p]
        self.is_ours = bool(places)
        what = ("hang" if status is None else
                "invalid IR: " + re.sub(r"%\w+|\d+|'(?!\w+\.\w+')[^']*'", "_", invalid.group(1)) if invalid else
                f"assertion {assertion.group(4)}" if assertion else
                re.sub(r"-?\d+", "_", sanitizer.group(2)) if sanitizer else memory.group(1) if memory else
                f"fatal: {fatal.group(1)}" if fatal else f"signal {-status}")
        if not places:  # frames of upstream's libraries tell failures apart
            places = re.findall(r"^ *#\d+ 0x\w+ (?:in )?([\w:~<>]+)", errors, re.M)
            places = [p for p in places if not p.startswith(("llvm::sys", "SignalHandler", "__", "abort", "raise"))]
        self.is_known = any(function in errors for function in KNOWN)
        self.key = what + " | " + " < ".join(places[:2])


class Fuzzer:
    def __init__(self, options, folder):
        self.options, self.folder = options, Path(folder)
        self.passes, self.stages = passes_of_the_project(), read_stages(options.tool)
        programs = [program.source for program in make_programs(options.programs, options.seed)]
        self.seeds = list(dict.fromkeys([*seed_modules(options.files), *programs]))
        self.derived = {}
        self.found = {}
        self.accepted = self.total = 0

    def execute(self, texts, pipeline, limit):
        """Status and messages of one run; a hang has no status."""
        path = self.folder / "batch.mlir"
        path.write_text(SEPARATOR.join(texts))
        command = [self.options.tool, path, "--split-input-file", "--mlir-disable-threading", "-o", "/dev/null"]
        command += [f"--pass-pipeline=builtin.module({pipeline})"] if pipeline else []
        try:
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=limit,
                                  env=ENVIRONMENT, cwd=self.folder)
        except subprocess.TimeoutExpired:
            return None, ""
        return done.returncode, done.stderr.decode(errors="replace")

    def run(self, texts, pipeline, limit):
        """None, or the Failure of one run on valid `texts`."""
        status, errors = self.execute(texts, pipeline, limit)
        failure = Failure(status, errors)
        bad = status not in (0, 1) or "runtime error:" in errors or "AddressSanitizer" in errors
        bad |= bool(pipeline) and failure.key.startswith("invalid IR")
        return failure if bad and not failure.is_known else None

    def select_valid(self, texts):
        """Those that parse and verify: only these may a pass get. Where that is not told, each for itself."""
        status, errors = self.execute(texts, "", 2 * self.options.limit)
        bad = {int(line) for line in re.findall(r"batch\.mlir:(\d+):\d+: error", errors)}
        if len(texts) == 1:
            return texts if status == 0 else []
        # An operation with a location of its own, such as loc("layer"), does not tell its line.
        if status not in (0, 1) or errors.count(": error: ") != len(re.findall(r"batch\.mlir:\d+:\d+: error: ", errors)):
            return [t for text in texts for t in self.select_valid([text])]
        good, line = [], 1
        for text in texts:
            lines = text.count("\n") + SEPARATOR.count("\n")
            if not any(line <= number < line + lines for number in bad):
                good.append(text)
            line += lines
        return good

    def derive(self, seed, stages):
        """Returns the module after the first stages of the training pipeline: as many as succeed, which may be none."""
        for count in range(stages, 0, -1):
            if (seed, count) not in self.derived:
                path = self.folder / "seed.mlir"
                path.write_text(self.seeds[seed])
                pipeline = ",".join(self.stages[:count])
                try:
                    done = subprocess.run([self.options.tool, path, f"--pass-pipeline=builtin.module({pipeline})"],
                                          capture_output=True, text=True, timeout=self.options.limit, cwd=self.folder)
                    good = done.returncode == 0 and len(done.stdout) < 40000
                except subprocess.TimeoutExpired:
                    good = False
                self.derived[seed, count] = done.stdout if good else None
            if self.derived[seed, count]:
                return self.derived[seed, count]
        return self.seeds[seed]

    def with_options(self, rng, name):
        """A pass with a random choice of its options."""
        options = self.passes.get(name, ["policy", "mode"] if name.startswith("remat-train") else [])
        chosen = [option for option in options if rng.random() < 0.3]
        if name == "remat-annotate" and rng.random() < 0.9:
            chosen = [option for option in chosen if option not in SELECTORS + ACTIONS]
            chosen += [rng.choice(SELECTORS), rng.choice(ACTIONS)]
        values = [OPTIONS.get(f"{name}.{option}") or OPTIONS.get(option, ["true", "false"]) for option in chosen]
        chosen = [f"{option}={rng.choice(choices)}" for option, choices in zip(chosen, values)]
        return f"{name}{{{' '.join(chosen)}}}" if chosen else name

    def random_pipeline(self, rng, stage):
        """Mostly what comes next in the training pipeline, or one pass, or several in any order."""
        kind = rng.random()
        if kind < 0.35:
            return ",".join(self.stages[stage:stage + rng.randint(1, len(self.stages))]) or "remat-train"
        if kind < 0.5:
            return self.with_options(rng, rng.choice(PIPELINES))
        names = list(self.passes) + (UPSTREAM if kind > 0.6 else [])
        return ",".join(self.with_options(rng, rng.choice(names)) for _ in range(1 if kind < 0.75 else rng.randint(2, 5)))

    def batch(self, number):
        """Mutants of one seed and neighbours under one pipeline."""
        rng = random.Random(f"{self.options.seed}/{number}")
        stage = rng.choice([0, 0, 0] + list(range(1, len(self.stages))))
        pipeline = self.random_pipeline(rng, stage)
        texts = []
        for _ in range(min(BATCH, self.options.count - self.total)):
            text = self.derive(rng.randrange(len(self.seeds)), stage)
            texts.append(mutate(rng, text, self.seeds))
        self.total += len(texts)
        return texts, pipeline

    def examine(self, texts, pipeline):
        valid = self.select_valid(texts)
        self.accepted += len(valid)
        if len(valid) < len(texts):  # ours among the parsers and verifiers
            self.isolate(texts, "")
        if valid:
            self.isolate(valid, pipeline)

    def isolate(self, texts, pipeline):
        failure = self.run(texts, pipeline, 2 * self.options.limit)
        if not failure:
            return
        if failure.key in self.found and failure.key.split(" ")[0] != "hang":
            self.found[failure.key] += 1
            return
        for text in texts:
            failure = self.run([text], pipeline, self.options.limit)
            if failure and failure.key not in self.found:
                self.found[failure.key] = 1
                self.report(failure, text, pipeline)

    def report(self, failure, text, pipeline):
        fails = lambda text, pipeline: (f := self.run([text], pipeline, self.options.limit)) and f.key == failure.key
        if failure.is_ours or failure.key.startswith("hang"):
            text, pipeline = reduce(text, pipeline, fails, time.time() + self.options.reduce)
        name = hashlib.sha1(failure.key.encode()).hexdigest()[:8]
        path = self.options.keep / f"{'ours' if failure.is_ours else 'upstream'}-{name}.mlir"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'// {failure.key}\n// RUN: remat-opt %s --pass-pipeline="builtin.module({pipeline})"\n{text}')
        print(f"{failure.key}\n  {path}", flush=True)


def split_pipeline(pipeline):
    parts, depth = [""], 0
    for letter in pipeline:
        depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def shrink(items, fails, deadline):
    """Leaves out as many of `items` as it can, large runs of them first."""
    size = max(1, len(items) // 2)
    while items:
        at = 0
        while at < len(items) and time.time() < deadline:
            rest = items[:at] + items[at + size:]
            if fails(rest):
                items = rest
            else:
                at += size
        if size == 1 or time.time() > deadline:
            break
        size //= 2
    return items


def reduce(text, pipeline, fails, deadline):
    passes = shrink(split_pipeline(pipeline), lambda p: p and fails(text, ",".join(p)), deadline)
    pipeline = ",".join(passes)
    lines = shrink(text.split("\n"), lambda l: fails("\n".join(l), pipeline), deadline)
    return "\n".join(lines), pipeline


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, help="mutants; by default 300, or as many as --minutes allow")
    parser.add_argument("--minutes", type=float, help="stop after so many")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--programs", type=int, default=0, help="random programs among the seeds")
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "remat-fuzz")
    parser.add_argument("--tool", default=os.environ.get("REMAT_OPT") or shutil.which("remat-opt") or ROOT / "build/bin/remat-opt")
    parser.add_argument("--limit", type=float, default=20, help="seconds until a run hangs")
    parser.add_argument("--reduce", type=float, default=60, help="seconds for reducing a failure")
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    options.files = options.files or sorted([*ROOT.glob("test/**/*.mlir"), *ROOT.glob("examples/*.mlir")])
    options.tool = str(Path(options.tool).resolve())
    if options.count is None:
        options.count = 300 if options.minutes is None else sys.maxsize
    deadline = time.time() + 60 * options.minutes if options.minutes is not None else float("inf")
    with tempfile.TemporaryDirectory() as folder:
        fuzzer, number = Fuzzer(options, folder), 0
        while fuzzer.total < options.count and time.time() < deadline:
            fuzzer.examine(*fuzzer.batch(number))
            number += 1
            if number % 50 == 0:
                print(f"... {fuzzer.total} mutants, {fuzzer.accepted} valid", file=sys.stderr, flush=True)
        for key, count in fuzzer.found.items():
            print(f"{count} x {key}")
        print(f"{fuzzer.total} mutants, of which {fuzzer.accepted} are valid, {len(fuzzer.found)} failures")
    return bool(fuzzer.found)


if __name__ == "__main__":
    sys.exit(main())
