# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention that a model of PyTorch has as one operation (`scaled_dot_product_attention`, which `nn.MultiheadAttention` and `transformers`
call): a call while torch-mlir lowers the module, and a `remat.attention` in the end. What that cannot say is products and a softmax."""
import math
from typing import Any

import torch
from torch import Tensor
from torch_mlir import ir

from remat.export.attention import KEYS, NONE, Indexed, write as write_attention
from remat.export.scalars import Scalars
from remat.torch import stops

NAME = "attention"
# `shown`: whether `mask`, which is boolean or is added, leaves a key to a row; `factors` are those of dropout. `form` is the sum of the three
# that are there. Of 16-bit numbers the result is in f32.
stops.LIBRARY.define(f"{NAME}(Tensor query, Tensor key, Tensor value, Tensor? mask, Tensor? shown, Tensor? factors, int form, float scale) "
                     "-> Tensor")
CAUSAL, MASKED, DROPPED = 1, 2, 4


def by_parts(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, shown: Tensor | None, factors: Tensor | None, form: int,
             scale: float) -> Tensor:
    """By a softmax in which rows without a key see all keys."""
    query, key, value = (x.to(torch.promote_types(x.dtype, torch.float32)) for x in (query, key, value))
    scores = (query @ key.mT) * scale
    if form & CAUSAL:
        scores = torch.where(torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), scores, -math.inf)
    elif mask is not None and shown is not None:
        scores = torch.where(mask, scores, torch.where(shown, -math.inf, scores)) if mask.dtype == torch.bool \
            else torch.where(shown, scores + mask, scores)
    weights = scores.softmax(-1)
    return (weights if factors is None else weights * factors) @ value


def without_numbers(query: Tensor, key: Tensor, value: Tensor, *rest: Any) -> Tensor:
    return query.new_empty(*query.shape[:-1], value.shape[-1], dtype=torch.promote_types(query.dtype, torch.float32))


stops.LIBRARY.impl(NAME, by_parts, "CompositeExplicitAutograd")
torch.library.register_fake(f"remat::{NAME}", without_numbers, lib=stops.LIBRARY)


def is_whole(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: Any) -> bool:
    """Returns true if `remat.attention` can say it."""
    wide = torch.promote_types(query.dtype, torch.float32)
    if mask is not None and (mask.ndim > query.ndim or mask.dtype != torch.bool and torch.promote_types(mask.dtype, wide) != wide):
        return False
    return isinstance(scale, (int, float)) and math.isfinite(scale) and query.ndim > 1 and query.is_floating_point() and \
        wide in (torch.float32, torch.float64) and all(x.dtype == query.dtype and 0 not in x.shape for x in (query, key, value))


def attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False,
              *, scale: float | None = None, enable_gqa: bool = False) -> Tensor:
    """PyTorch's, whose rows without a key are 0."""
    kind = query.dtype
    # Where PyTorch has a kernel for the CPU, which leaves heads side by side: views that the model makes of the result are of that.
    is_fused = dropout_p == 0 and query.ndim == 4 and query.shape[-1] == value.shape[-1]
    if enable_gqa:
        key, value = (x.repeat_interleave(query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    batch = torch.broadcast_shapes(*(x.shape[:-2] for x in (query, key, value)))
    query, key, value = (x if x.shape[:-2] == batch else x.expand(*batch, -1, -1) for x in (query, key, value))
    shown = factors = None
    if attn_mask is not None:
        shown = (attn_mask if attn_mask.dtype == torch.bool else attn_mask > -math.inf).any(-1, keepdim=True)
    if dropout_p > 0:
        shape = (*query.shape[:-1], key.shape[-2])
        factors = torch.dropout(torch.ones(shape, dtype=torch.promote_types(kind, torch.float32)), dropout_p, True)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    form = CAUSAL * is_causal + MASKED * (attn_mask is not None) + DROPPED * (factors is not None)
    compute = torch.ops.remat.attention if is_whole(query, key, value, attn_mask, scale) else by_parts
    result = compute(query, key, value, attn_mask, shown, factors, form, scale)
    result = (result if shown is None else torch.where(shown, result, 0)).to(kind)
    return result.transpose(1, 2).contiguous().transpose(1, 2) if is_fused else result


TABLE = {torch.ops.aten.scaled_dot_product_attention.default: attention}


def write(name: str, query: ir.RankedTensorType, key: ir.RankedTensorType, value: ir.RankedTensorType, *rest: Any) -> str:
    """The function `name` of these, of a mask and of rows that have a key, and of factors, as the form in `rest` says."""
    *others, form, scale = rest
    batch = [f"b{dim}" for dim in range(query.rank - 2)]
    loops = [*batch, "m", KEYS]

    def indexed(kind: ir.RankedTensorType) -> Indexed:
        return Indexed(str(kind), [NONE if kind.shape[dim] == 1 else loops[dim - kind.rank] for dim in range(kind.rank)])

    def score(s: Scalars, value: str, *elements: str) -> list[str]:
        value = s.add("arith.mulf", value, s.constant(scale))
        if form & CAUSAL:
            value = s.add("arith.select", s.add("arith.cmpi ule,", f"%{KEYS}", "%m", kind="index"), value, s.constant(-math.inf))
        if form & MASKED:
            mask, shown, kind = *elements[:2], str(others[0].element_type)
            if kind == "i1":
                hidden = s.add("arith.select", shown, s.constant(-math.inf), value)
                value = s.add("arith.select", mask, value, hidden)
            else:
                value = s.add("arith.select", shown, s.add("arith.addf", value, s.convert(mask, kind)), value)
        return [value, elements[-1]] if form & DROPPED else [value]

    return write_attention(name, Indexed(str(query), [*batch, "m", "d"]), Indexed(str(key), [*batch, KEYS, "d"]),
                           Indexed(str(value), [*batch, KEYS, "v"]), [indexed(other) for other in others], [*batch, "m"],
                           [*batch, "m", "v"], score)
