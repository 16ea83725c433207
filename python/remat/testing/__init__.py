# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""For tests, benchmarks and tools alone, and in no wheel: compiled functions called from Python, random programs, exported models
with what is recorded beside them, and the random numbers of a step in NumPy."""
