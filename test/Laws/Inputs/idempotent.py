"""Every pass of the part on tensors, once and twice, on what the passes before it have made."""

import sys

from pipeline import PASSES, opt, read

failures = []
for file in sys.argv[1:]:
    text = read(file)
    for name in PASSES:
        text = opt(text, name)
        if opt(text, name) != text:
            failures.append(f"{file}: a second {name} changes something")
        text = opt(text, "canonicalize", "cse")
print("\n".join(failures) or "nothing changes")
sys.exit(bool(failures))
