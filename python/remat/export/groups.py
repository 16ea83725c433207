# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of groups of rows, each by a matrix of its own, in tiles of rows, as MegaBlocks does (https://arxiv.org/abs/2211.15841): a tile is
multiplied by the matrix of each group that has rows in it, which is one, or one more for each border between groups."""


def choose_tile(rows: int, groups: int) -> int:
    """A power of two: tiles that are much smaller than a group have few borders in them, large ones make fast products."""
    tile = 16
    while tile < 256 and 2 * groups * tile < rows:
        tile *= 2
    return min(tile, max(rows, 1))
