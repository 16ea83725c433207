# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of mixtures of experts: each row by the matrix of its group (`torch._grouped_mm`, and what `transformers` has for it).

While torch-mlir lowers the module, they are calls of functions that it does not look into. These get their body in the end: tiles of rows,
each of which is multiplied by the matrix of every group that has rows in it (groups.py).
"""
from typing import Any

import torch
from torch import Tensor
from torch_mlir import ir

from remat.export.groups import choose_tile
from remat.torch import stops

NAME = "grouped_mm"
stops.LIBRARY.define(f"{NAME}(Tensor rows, Tensor matrices, Tensor ends) -> Tensor")


def multiply(rows: Tensor, matrices: Tensor, ends: Tensor) -> Tensor:
    result, start = rows.new_zeros(rows.shape[0], matrices.shape[2]), 0
    for matrix, end in zip(matrices, ends.tolist()):
        result[start:end] = rows[start:end] @ matrix
        start = end
    return result


def multiply_without_numbers(rows: Tensor, matrices: Tensor, ends: Tensor) -> Tensor:
    return rows.new_empty(rows.shape[0], matrices.shape[2])


stops.LIBRARY.impl(NAME, multiply, "CompositeExplicitAutograd")
torch.library.register_fake(f"remat::{NAME}", multiply_without_numbers, lib=stops.LIBRARY)


def grouped_mm(rows: Tensor, matrices: Tensor, ends: Tensor | None = None, bias: Tensor | None = None,
               out_dtype: torch.dtype | None = None) -> Tensor:
    """That of rows, not of parts of a contracted dimension."""
    if (rows.ndim, matrices.ndim) != (2, 3) or ends is None or bias is not None or out_dtype not in (None, rows.dtype) or \
            not all(isinstance(size, int) for size in (*rows.shape, *matrices.shape)) or 0 in (*rows.shape, *matrices.shape):
        return NotImplemented
    return torch.ops.remat.grouped_mm(rows, matrices, ends)


def table() -> dict[Any, Any]:
    """Decompositions, by the operators that there are."""
    operators = [getattr(torch.ops.aten, "_grouped_mm", None)]
    if hasattr(torch.ops.transformers, "grouped_mm_fallback"):
        operators.append(torch.ops.transformers.grouped_mm_fallback)
    return {operator.default: grouped_mm for operator in operators if operator is not None}


def write(name: str, rows: ir.RankedTensorType, matrices: ir.RankedTensorType, ends: ir.RankedTensorType) -> str:
    """The function `name` of rows m x k and matrices g x k x n, of which the ends of groups say who takes which."""
    (m, k), (groups, _, n) = rows.shape, matrices.shape
    kind, end_kind = str(rows.element_type), str(ends.element_type)
    tile = choose_tile(m, groups)
    tiles = -(-m // tile)
    pairs, high, wide = tiles + groups - 1, tiles * tile - m, "f32" if kind in ("bf16", "f16") else kind
    narrow = f"""
      %narrow = tensor.empty() : tensor<{tile}x{n}x{kind}>
      %rounded = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
          iterator_types = ["parallel", "parallel"]}} ins(%product : tensor<{tile}x{n}x{wide}>) outs(%narrow : tensor<{tile}x{n}x{kind}>) {{
      ^bb0(%a: {wide}, %o: {kind}):
        %r = arith.truncf %a : {wide} to {kind}
        linalg.yield %r : {kind}
      }} -> tensor<{tile}x{n}x{kind}>"""
    pad = f"""
    %padded = tensor.pad %rows low[0, 0] high[{high}, 0] {{
    ^bb0(%i: index, %j: index):
      tensor.yield %zero : {kind}
    }} : tensor<{m}x{k}x{kind}> to tensor<{tiles * tile}x{k}x{kind}>"""

    def bounds(result: str, group: str) -> str:
        """Returns operations that compute the first row of a group, the one after its last, and the number of its first tile."""
        return f"""
        %{result}_before = arith.subi {group}, %c1 : index
        %{result}_place = arith.maxsi %{result}_before, %c0 : index
        %{result}_is_first = arith.cmpi eq, {group}, %c0 : index
        %{result}_other = tensor.extract %ends[%{result}_place] : tensor<{groups}x{end_kind}>
        %{result}_otherwise = arith.index_cast %{result}_other : {end_kind} to index
        %{result}_start = arith.select %{result}_is_first, %c0, %{result}_otherwise : index
        %{result}_value = tensor.extract %ends[{group}] : tensor<{groups}x{end_kind}>
        %{result}_end = arith.index_cast %{result}_value : {end_kind} to index
        %{result}_tile = arith.divsi %{result}_start, %tile : index"""
    return f"""
  func.func private @{name}(%rows: tensor<{m}x{k}x{kind}>, %matrices: tensor<{groups}x{k}x{n}x{kind}>, %ends: tensor<{groups}x{end_kind}>)
      -> tensor<{m}x{n}x{kind}> {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %tile = arith.constant {tile} : index
    %last_tile = arith.constant {tiles - 1} : index
    %last_group = arith.constant {groups - 1} : index
    %pairs = arith.constant {pairs} : index
    %zero = arith.constant 0.0 : {kind}
    %wide_zero = arith.constant 0.0 : {wide}
    %none = arith.constant 0 : i64
    // How many pairs of a group and a tile with rows of it there are up to the end of each group.
    %counts = tensor.empty() : tensor<{groups}xi64>
    %no_counts = linalg.fill ins(%none : i64) outs(%counts : tensor<{groups}xi64>) -> tensor<{groups}xi64>
    %behind = linalg.generic {{indexing_maps = [affine_map<(g, h) -> (h)>, affine_map<(g, h) -> (g)>],
        iterator_types = ["parallel", "reduction"]}} ins(%ends : tensor<{groups}x{end_kind}>) outs(%no_counts : tensor<{groups}xi64>) {{
    ^bb0(%end: {end_kind}, %sum: i64):
        %g = linalg.index 0 : index
        %h = linalg.index 1 : index{bounds("h", "%h")}
        %h_last = arith.subi %h_end, %c1 : index
        %h_last_tile = arith.divsi %h_last, %tile : index
        %difference = arith.subi %h_last_tile, %h_tile : index
        %number = arith.addi %difference, %c1 : index
        %has_rows = arith.cmpi sgt, %h_end, %h_start : index
        %is_before = arith.cmpi sle, %h, %g : index
        %counts_here = arith.andi %has_rows, %is_before : i1
        %counted = arith.select %counts_here, %number, %c0 : index
        %added = arith.index_cast %counted : index to i64
        %next = arith.addi %sum, %added : i64
        linalg.yield %next : i64
    }} -> tensor<{groups}xi64>{pad if high else ""}
    %empty = tensor.empty() : tensor<{tiles * tile}x{n}x{kind}>
    %zeros = linalg.fill ins(%zero : {kind}) outs(%empty : tensor<{tiles * tile}x{n}x{kind}>) -> tensor<{tiles * tile}x{n}x{kind}>
    %all = scf.for %pair = %c0 to %pairs step %c1 iter_args(%result = %zeros) -> (tensor<{tiles * tile}x{n}x{kind}>) {{
      %number = arith.index_cast %pair : index to i64
      %start_of_count = tensor.empty() : tensor<i64>
      %no_count = linalg.fill ins(%none : i64) outs(%start_of_count : tensor<i64>) -> tensor<i64>
      %passed = linalg.generic {{indexing_maps = [affine_map<(g) -> (g)>, affine_map<(g) -> ()>], iterator_types = ["reduction"]}}
          ins(%behind : tensor<{groups}xi64>) outs(%no_count : tensor<i64>) {{
      ^bb0(%pairs_behind: i64, %sum: i64):
        %is_passed = arith.cmpi sle, %pairs_behind, %number : i64
        %one = arith.extui %is_passed : i1 to i64
        %next = arith.addi %sum, %one : i64
        linalg.yield %next : i64
      }} -> tensor<i64>
      %group_number = tensor.extract %passed[] : tensor<i64>
      %group_index = arith.index_cast %group_number : i64 to index
      %group = arith.minsi %group_index, %last_group : index{bounds("g", "%group")}
      %pairs_here_number = tensor.extract %behind[%g_place] : tensor<{groups}xi64>
      %pairs_here = arith.index_cast %pairs_here_number : i64 to index
      %pairs_before = arith.select %g_is_first, %c0, %pairs_here : index
      %number_in_group = arith.subi %pair, %pairs_before : index
      %tile_number = arith.addi %g_tile, %number_in_group : index
      %first_row = arith.muli %tile_number, %tile : index
      %tile_that_is = arith.minsi %tile_number, %last_tile : index
      %offset = arith.muli %tile_that_is, %tile : index
      %part = tensor.extract_slice {"%padded" if high else "%rows"}[%offset, 0] [{tile}, {k}] [1, 1]
          : tensor<{tiles * tile}x{k}x{kind}> to tensor<{tile}x{k}x{kind}>
      %masked_empty = tensor.empty() : tensor<{tile}x{k}x{kind}>
      %masked = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
          iterator_types = ["parallel", "parallel"]}} ins(%part : tensor<{tile}x{k}x{kind}>) outs(%masked_empty : tensor<{tile}x{k}x{kind}>) {{
      ^bb0(%a: {kind}, %o: {kind}):
        %i = linalg.index 0 : index
        %row = arith.addi %first_row, %i : index
        %is_behind_start = arith.cmpi sge, %row, %g_start : index
        %is_before_end = arith.cmpi slt, %row, %g_end : index
        %is_inside = arith.andi %is_behind_start, %is_before_end : i1
        %kept = arith.select %is_inside, %a, %zero : {kind}
        linalg.yield %kept : {kind}
      }} -> tensor<{tile}x{k}x{kind}>
      %matrix = tensor.extract_slice %matrices[%group, 0, 0] [1, {k}, {n}] [1, 1, 1]
          : tensor<{groups}x{k}x{n}x{kind}> to tensor<{k}x{n}x{kind}>
      %product_empty = tensor.empty() : tensor<{tile}x{n}x{wide}>
      %product_zero = linalg.fill ins(%wide_zero : {wide}) outs(%product_empty : tensor<{tile}x{n}x{wide}>) -> tensor<{tile}x{n}x{wide}>
      %product = linalg.matmul ins(%masked, %matrix : tensor<{tile}x{k}x{kind}>, tensor<{k}x{n}x{kind}>)
          outs(%product_zero : tensor<{tile}x{n}x{wide}>) -> tensor<{tile}x{n}x{wide}>{narrow if wide != kind else ""}
      %old = tensor.extract_slice %result[%offset, 0] [{tile}, {n}] [1, 1] : tensor<{tiles * tile}x{n}x{kind}> to tensor<{tile}x{n}x{kind}>
      %new = arith.addf %old, {"%rounded" if wide != kind else "%product"} : tensor<{tile}x{n}x{kind}>
      %with = tensor.insert_slice %new into %result[%offset, 0] [{tile}, {n}] [1, 1]
          : tensor<{tile}x{n}x{kind}> into tensor<{tiles * tile}x{n}x{kind}>
      scf.yield %with : tensor<{tiles * tile}x{n}x{kind}>
    }}
    %products = tensor.extract_slice %all[0, 0] [{m}, {n}] [1, 1] : tensor<{tiles * tile}x{n}x{kind}> to tensor<{m}x{n}x{kind}>
    return %products : tensor<{m}x{n}x{kind}>
  }}
"""
