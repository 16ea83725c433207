# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every pass of the part on tensors, once and twice, on what the passes before it have made: idempotent.py TARGET MODEL ..."""

import sys
from pathlib import Path

from pipeline import CLEAN_UP, opt, read_pipeline

failures, passes = [], read_pipeline(target=sys.argv[1])
for file in sys.argv[2:]:
    text = Path(file).read_text()
    for name in passes:
        text = opt(text, name)
        if opt(text, name) != text:
            failures.append(f"{file}: a second {name} changes something")
        text = opt(text, *CLEAN_UP)
print("\n".join(failures) or "nothing changes")
sys.exit(bool(failures))
