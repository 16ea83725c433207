"""Every pass of the part on tensors, once and twice, on what the passes before it have made."""

import sys
from pathlib import Path

from pipeline import CLEAN_UP, opt, read_pipeline

failures, passes = [], read_pipeline()
for file in sys.argv[1:]:
    text = Path(file).read_text()
    for name in passes:
        text = opt(text, name)
        if opt(text, name) != text:
            failures.append(f"{file}: a second {name} changes something")
        text = opt(text, *CLEAN_UP)
print("\n".join(failures) or "nothing changes")
sys.exit(bool(failures))
