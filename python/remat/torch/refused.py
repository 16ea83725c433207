# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of PyTorch that have no rule on purpose: what they would need is a library (LAPACK) or series of one's own that no compiled
step has. Each is an error that says what to write instead."""
from collections.abc import Callable
from typing import Any, NoReturn

import torch

from remat.errors import ExportError

aten = torch.ops.aten

# Operators without a rule, by what they are and what to write instead of them.
REFUSED: dict[tuple[str, str], tuple[str, ...]] = {
    ("linear algebra", "a compiled step has no LAPACK. Compute what depends on data alone outside of the model, and pass it with the batch; "
     "let triangular factors be the parameters, whose equations and determinants there are; or solve by a fixed number of steps of "
     "products (conjugate gradients, or x = 2 * x - x @ a @ x for an inverse)"): (
        "linalg_cholesky_ex", "cholesky", "cholesky_inverse", "_linalg_solve_ex", "linalg_inv_ex", "linalg_lu", "linalg_lu_factor_ex", "linalg_lu_solve", "lu_unpack", "linalg_ldl_factor_ex", "linalg_ldl_solve",
        "_linalg_det", "_linalg_slogdet", "linalg_slogdet", "linalg_matrix_exp", "linalg_householder_product", "ormqr", "geqrf", "linalg_qr",
        "_linalg_svd", "_linalg_eigh", "linalg_eig", "linalg_pinv", "linalg_lstsq"),
    ("a special function", "write it by exp, log, erf, erfc, lgamma and digamma if that has enough digits, or as a torch.autograd.Function by an "
     "approximation of your own"): (
        "special_erfcx", "special_ndtri", "i0", "special_i0e", "special_i1", "special_i1e", "polygamma", "igamma", "igammac", "special_zeta"),
    ("a window", "make it where the model is made, and keep it by register_buffer"): (
        "hamming_window", "blackman_window", "kaiser_window", "bartlett_window"),
    ("quantization", "round straight through: y + ((y / scale).round() * scale - y).detach(), with y = x.clamp((low - zero) * scale, "
     "(high - zero) * scale)"): (
        "fake_quantize_per_tensor_affine_cachemask", "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
        "fake_quantize_per_channel_affine_cachemask", "_fused_moving_avg_obs_fq_helper")}


def refuse(name: str, what: str, instead: str) -> Callable[..., NoReturn]:
    def fail(*_: Any, **__: Any) -> NoReturn:
        raise ExportError(f"{name.lstrip('_')} has no rule ({what}): {instead}")
    return fail


TABLE: dict[Any, Callable[..., Any]] = {
    getattr(getattr(aten, name), overload): refuse(name, what, instead)
    for (what, instead), names in REFUSED.items() for name in names for overload in getattr(aten, name).overloads()}
