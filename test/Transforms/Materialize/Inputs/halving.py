# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a chain of n calls of a pure function, nested in regions by recursive halving.

The top level is no region; a chain of one call is just the call. `d` stands for the derivative, which needs the
call's input. Usage: halving.py N
"""
import itertools
import sys

names = (f"%v{i}" for i in itertools.count())


def forward(n, x, indent):
    """Prints the chain of n from value x; returns its result and what its backward needs from here."""
    if n == 1:
        y = next(names)
        print(f"{indent}{y} = func.call @p({x}) : (f32) -> f32")
        return y, [x]
    h, first = half(n // 2, x, indent)
    y, second = half(n // 2, h, indent)
    return y, first + second


def half(n, x, indent):
    if n == 1:
        return forward(1, x, indent)
    y, residual, argument = next(names), next(names), next(names)
    lines = capture(lambda: region(n, x, y, residual, argument, indent))
    print(lines, end="")
    return y, [f"{residual}#{i}" for i in range(n)]


def region(n, x, y, residual, argument, indent):
    types = ", ".join(["f32"] * n)
    print(f"{indent}{y}, {residual}:{n} = remat.region ({argument} = {x} : f32) -> f32 residuals({types}) {{")
    out, needed = forward(n, argument, indent + "  ")
    print(f"{indent}  remat.yield {out} : f32 residuals({', '.join(needed)} : {types})")
    print(f"{indent}}}")


def backward(n, needed, ct, indent):
    if n == 1:
        d, product = next(names), next(names)
        print(f"{indent}{d} = func.call @d({needed[0]}) : (f32) -> f32")
        print(f"{indent}{product} = arith.mulf {d}, {ct} : f32")
        return product
    ct = half_backward(n // 2, needed[n // 2:], ct, indent)
    return half_backward(n // 2, needed[:n // 2], ct, indent)


def half_backward(n, needed, ct, indent):
    if n == 1:
        return backward(1, needed, ct, indent)
    result, inner_ct = next(names), next(names)
    arguments = [next(names) for _ in needed]
    residuals = ", ".join(f"{a} = {v} : f32" for a, v in zip(arguments, needed))
    print(f"{indent}{result} = remat.backward residuals({residuals}) cotangents({inner_ct} = {ct} : f32) -> f32 {{")
    out = backward(n, arguments, inner_ct, indent + "  ")
    print(f"{indent}  remat.yield {out} : f32")
    print(f"{indent}}}")
    return result


def capture(run):
    import contextlib
    import io
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        run()
    return text.getvalue()


n = int(sys.argv[1])
print("func.func private @p(f32) -> f32 attributes {remat.pure}")
print("func.func private @d(f32) -> f32 attributes {remat.pure}")
print("func.func @chain(%x: f32, %ct: f32) -> (f32, f32) {")
y, needed = forward(n, "%x", "  ")
dx = backward(n, needed, "%ct", "  ")
print(f"  return {y}, {dx} : f32, f32")
print("}")
