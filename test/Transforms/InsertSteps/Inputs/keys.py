# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The random bits of updates."""
import numpy as np

M64 = 2**64 - 1


def philox(counter, key):
    """The first word for arrays of counters of four words."""
    c, k = [np.asarray(word, "u8") for word in counter], list(key)
    for _ in range(10):
        p0, p1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & 0xffffffff, (p0 >> 32) ^ c[3] ^ k[1], p0 & 0xffffffff]
        k = [(k[0] + 0x9E3779B9) & 0xffffffff, (k[1] + 0xBB67AE85) & 0xffffffff]
    return c[0].astype("u4")


def key_of(name, seed):
    """The key (low and high half) of a parameter's random bits: FNV-1a of its name, then SplitMix64's finalizer."""
    h = 0xcbf29ce484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001b3 & M64
    x = (h + (seed + 1) * 0x9e3779b97f4a7c15) & M64
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9 & M64
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb & M64
    x ^= x >> 31
    return x & 0xffffffff, x >> 32
