# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the training data of chargpt.mlir: the help texts that come with Python, as windows of characters.

    chargpt_data.py OUTPUT.npz

`pydoc_data.topics` (package libpython3-stdlib in Debian) holds Python's reference manual, 0.47 million
characters. Writes `windows` (int32, N x 129) and prints the text's unigram entropy: what a model that knows
how frequent every character is, and nothing else, would reach as its loss.
"""
import sys
from pydoc_data import topics

import numpy as np

CHARACTERS = "\n" + "".join(map(chr, range(32, 127)))
LENGTH = 128
PLAIN = str.maketrans({"–": "-", "—": "-", "‘": "'", "’": "'", "“": '"', "”": '"', "…": "."})


def encode(text):
    code = {character: i for i, character in enumerate(CHARACTERS)}
    return np.array([code.get(c, code["?"]) for c in text.translate(PLAIN)], np.int32)


def decode(tokens):
    return "".join(CHARACTERS[t] for t in tokens)


def tokens():
    return encode("\n\n".join(text for _, text in sorted(topics.topics.items())))


def windows(stream):
    """Windows of 129: the last character of one is the first of the next."""
    count = (len(stream) - 1) // LENGTH
    return np.stack([stream[i * LENGTH:(i + 1) * LENGTH + 1] for i in range(count)])


def unigram_entropy(stream):
    frequency = np.bincount(stream, minlength=len(CHARACTERS)) / len(stream)
    frequency = frequency[frequency > 0]
    return -(frequency * np.log(frequency)).sum()


if __name__ == "__main__":
    stream = tokens()
    np.savez(sys.argv[1], windows=windows(stream))
    print(f"{len(stream)} characters, {len(windows(stream))} windows, unigram entropy {unigram_entropy(stream):.4f}")
