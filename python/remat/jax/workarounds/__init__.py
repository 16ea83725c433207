# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Work-arounds for errors of IREE's way from StableHLO to linalg, and for nothing else. Each has a program in test/Upstream/iree that
shows the error; its test fails once IREE is mended, and then the work-around goes."""
