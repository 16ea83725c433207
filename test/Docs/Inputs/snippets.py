# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executes the snippets of a Markdown page in order, in an empty folder.

    snippets.py PAGE

A block ```mlir NAME or ```python NAME becomes the file NAME (without a name it is only shown); a block ```sh is run by bash
and must succeed, or, if its first line is `# fails`, must not; a block ```text after it shows lines of its
output in their order, where `...` stands for any text.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def blocks(page):
    """(line, language, name, text) of every fenced block."""
    for match in re.finditer(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", page, re.M | re.S):
        yield page.count("\n", 0, match.start()) + 1, *match.groups()


def shows(output, expected):
    """The first expected line that the output does not have where it should, or None."""
    lines = iter(output.splitlines())
    for line in filter(str.strip, expected.splitlines()):
        pattern = re.compile(".*".join(map(re.escape, line.strip().split("..."))))
        if line.strip() != "..." and not any(pattern.fullmatch(found.strip()) for found in lines):
            return line
    return None


def main(path):
    output, count = "", 0
    # `python3` is the one that runs this.
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as folder:
        for line, language, name, text in blocks(Path(path).read_text()):
            where = f"{path}:{line}"
            if language in ("mlir", "python") and name:
                Path(folder, name).write_text(text)
            elif language == "sh":
                done = subprocess.run(["bash", "-eo", "pipefail", "-c", text], cwd=folder, text=True,
                                      env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                output, fails = done.stdout, text.startswith("# fails")
                if (done.returncode != 0) != fails:
                    sys.exit(f"{where}: error: exit code {done.returncode}\n{output}")
            elif language == "text":
                if missing := shows(output, text):
                    sys.exit(f"{where}: error: the output does not show {missing!r}:\n{output}")
            else:
                continue
            count += 1
    print(f"{count} snippets: ok")


main(sys.argv[1])
