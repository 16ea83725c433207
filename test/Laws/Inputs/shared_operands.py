# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shared_operands.py LENGTH PASS...: compiles models with chains of operations that read the one before them twice, in many
places of a model. 2^LENGTH paths lead through such a chain: a walk that goes through all of them does not end."""

import subprocess
import sys

MATRIX = "tensor<8x8xf32>"
ROW = "tensor<1x8xf32>"


def model(body, result="%h", data='%x: tensor<8x8xf32> {remat.data = "x"}, %ids: tensor<8xi64> {remat.data = "ids"}',
          functions=""):
    """A step that trains %w for the sum of the squares of `result`, which `body` computes."""
    return f"""
#m = affine_map<(m, n, d, v) -> (m, d)>
#n = affine_map<(m, n, d, v) -> (n, d)>
#v = affine_map<(m, n, d, v) -> (n, v)>
#o = affine_map<(m, n, d, v) -> (m, v)>
#l = affine_map<(m, n, d, v) -> (m)>
#row = affine_map<(i, j) -> (i)>
#id = affine_map<(i, j) -> (i, j)>
#one = affine_map<(i, j) -> ()>
opt.optimizer @sgd = #opt.sgd<lr = 1.0e-2>
remat.train_step @step for @loss optimizer(@sgd) {{eager, steps = 2}}
{functions}
func.func @loss({data}, %w: {MATRIX} {{opt.param = "w", opt.init = "normal(0.3)"}}) -> tensor<f32> {{
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %low = arith.constant 0xFF800000 : f32
  %true = arith.constant true
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : {MATRIX}
  %zeros = linalg.fill ins(%zero : f32) outs(%e : {MATRIX}) -> {MATRIX}
  %id = tensor.extract %ids[%c0] : tensor<8xi64>
  %first = arith.index_cast %id : i64 to index
  %scalar = tensor.extract %w[%c0, %c0] : tensor<8x8xf32>
  %positive = arith.cmpf ogt, %scalar, %zero : f32
  %large = arith.cmpf ogt, %scalar, %half : f32
{body}
  %none = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%none : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {{indexing_maps = [#id, #one], iterator_types = ["reduction", "reduction"]}}
      ins({result} : {MATRIX}) outs(%start : tensor<f32>) {{
  ^bb0(%u: f32, %sum: f32):
    %square = arith.mulf %u, %u : f32
    %next = arith.addf %sum, %square : f32
    linalg.yield %next : f32
  }} -> tensor<f32>
  return %loss : tensor<f32>
}}
"""


def chain(length, start, *templates):
    """The lines of a chain, in each link of which `{v}` is the value before, `{t}` a name of the link's own and `{k}` its
    result; and that of the last one."""
    lines, value = [], start
    for i in range(length):
        lines += [line.format(v=value, t=f"%t{i}", k=f"%k{i}") for line in templates]
        value = f"%k{i}"
    return "\n".join(lines), value


INDEX = ("{k} = arith.addi {v}, {v} : index",)
WRAPPED = "{t} = arith.addi {v}, {v} : index", "{k} = arith.remui {t}, %c8 : index"


def tensors(*templates, end="%h = math.tanh {v} : tensor<8x8xf32>", start="%w"):
    def build(length):
        lines, value = chain(length, start, *templates)
        return model(lines + "\n" + end.format(v=value))
    return build


def kernel(*templates, start="%u", before="", after="linalg.yield {v} : f32"):
    """A chain in the body of an elementwise kernel."""
    def build(length):
        lines, value = chain(length, start, *templates)
        return model(f"""
  %h = linalg.generic {{indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%w, %ids : {MATRIX}, tensor<8xi64>) outs(%e : {MATRIX}) {{
  ^bb0(%u: f32, %token: i64, %out: f32):
    {before}
{lines}
    {after.format(v=value)}
  }} -> {MATRIX}""")
    return build


def loop(*templates, after, carried="%a = %w", start="%i"):
    """A chain in the body of a loop."""
    def build(length):
        lines, value = chain(length, start, *templates)
        return model(f"""
  %h = scf.for %i = %c0 to %c8 step %c1 iter_args({carried}) -> ({MATRIX}) {{
{lines}
{after.format(v=value)}
  }}""")
    return build


def attention(*templates, start, after, before=""):
    """A chain in the body of an attention."""
    def build(length):
        lines, value = chain(length, start, *templates)
        return model(f"""
  %rows = tensor.empty() : tensor<8xf32>
  %h, %sums = remat.attention ins(%w, %x, %x : {MATRIX}, {MATRIX}, {MATRIX})
      outs(%e, %rows : {MATRIX}, tensor<8xf32>) attributes {{indexing_maps = [#m, #n, #v, #o, #l]}} {{
  ^bb0(%m: index, %n: index, %s: f32):
    {before}
{lines}
{after.format(v=value)}
    remat.yield %masked : f32
  }} -> {MATRIX}, tensor<8xf32>""")
    return build


def reduction(combiner):
    """The last value of a chain is reduced over rows, and read together with the result."""
    return tensors("{t} = math.sin {v} : tensor<8x8xf32>", "{k} = arith.maximumf {t}, {v} : tensor<8x8xf32>", end=f"""
  %rows = tensor.empty() : tensor<8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%rows : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.generic {{{{indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}}}}
      ins({{v}} : {MATRIX}) outs(%init : tensor<8xf32>) {{{{
  ^bb0(%q: f32, %acc: f32):
    %o = arith.{combiner} %q, %acc : f32
    linalg.yield %o : f32
  }}}} -> tensor<8xf32>
  %h = linalg.generic {{{{indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}}}}
      ins({{v}}, %r : {MATRIX}, tensor<8xf32>) outs(%e : {MATRIX}) {{{{
  ^bb0(%q: f32, %b: f32, %acc: f32):
    %d = arith.subf %q, %b : f32
    %o = math.exp %d : f32
    linalg.yield %o : f32
  }}}} -> {MATRIX}""")


def regions(length):
    lines, value = chain(length, "%w", f"""
  {{k}} = remat.region policy(#remat.nothing_saveable) (%a = {{v}} : {MATRIX}, %b = {{v}} : {MATRIX}) -> {MATRIX} {{{{
    %s = math.sin %a : {MATRIX}
    %t = arith.mulf %s, %b : {MATRIX}
    remat.yield %t : {MATRIX}
  }}}}""")
    return model(lines + f"\n%h = math.tanh {value} : {MATRIX}")


def loss_head(length):
    """Numbers for each row of a loss over a vocabulary."""
    lines, value = chain(length, "%weights", "{t} = math.sin {v} : tensor<512xf32>",
                         "{k} = arith.addf {t}, {v} : tensor<512xf32>")
    return model(f"""
  %wide = tensor.empty() : tensor<512x2048xf32>
  %clear = linalg.fill ins(%zero : f32) outs(%wide : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %logits = linalg.matmul ins(%x, %table : tensor<512x8xf32>, tensor<8x2048xf32>)
      outs(%clear : tensor<512x2048xf32>) -> tensor<512x2048xf32>
{lines}
  %scaled = linalg.generic {{indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%logits, {value} : tensor<512x2048xf32>, tensor<512xf32>) outs(%wide : tensor<512x2048xf32>) {{
  ^bb0(%q: f32, %b: f32, %acc: f32):
    %o = arith.mulf %q, %b : f32
    linalg.yield %o : f32
  }} -> tensor<512x2048xf32>
  %none0 = tensor.empty() : tensor<f32>
  %start0 = linalg.fill ins(%zero : f32) outs(%none0 : tensor<f32>) -> tensor<f32>
  %total = linalg.generic {{indexing_maps = [#id, #one], iterator_types = ["reduction", "reduction"]}}
      ins(%scaled : tensor<512x2048xf32>) outs(%start0 : tensor<f32>) {{
  ^bb0(%q: f32, %acc: f32):
    %exp = math.exp %q : f32
    %o = arith.addf %acc, %exp : f32
    linalg.yield %o : f32
  }} -> tensor<f32>
  %number = tensor.extract %total[] : tensor<f32>
  %all = tensor.splat %number : {MATRIX}
  %h = arith.mulf %all, %w : {MATRIX}""", data='%x: tensor<512x8xf32> {remat.data = "x"}, '
        '%weights: tensor<512xf32> {remat.data = "weights"}, %ids: tensor<8xi64> {remat.data = "ids"}, '
        '%table: tensor<8x2048xf32> {opt.param = "table", opt.init = "normal(0.3)"}')


SLICE = f"""    %r = tensor.extract_slice %{{source}}[{{v}}, 0] [1, 8] [1, 1] : {MATRIX} to {ROW}
    %s = math.tanh %r : {ROW}
    %n = tensor.insert_slice %s into %a[{{v}}, 0] [1, 8] [1, 1] : {ROW} into {MATRIX}
    scf.yield %n : {MATRIX}"""

MODELS = {
    "products": tensors("{k} = arith.mulf {v}, {v} : tensor<8x8xf32>"),
    "sums": tensors("{t} = math.sin {v} : tensor<8x8xf32>", "{k} = arith.addf {t}, {v} : tensor<8x8xf32>"),
    "names": tensors('{t} = remat.name "h" {v} : tensor<8x8xf32>', "{t}s = math.sin {t} : tensor<8x8xf32>",
                     "{k} = arith.addf {t}s, {v} : tensor<8x8xf32>"),
    "transpositions": tensors("{t} = linalg.transpose ins({v} : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) permutation = [1, 0]",
                              "{k} = arith.addf {t}, {v} : tensor<8x8xf32>"),
    "matrix products": tensors("{k} = linalg.matmul ins({v}, {v} : tensor<8x8xf32>, tensor<8x8xf32>) "
                               "outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>"),
    "matrix products and sines": tensors("{t} = linalg.matmul ins({v}, %x : tensor<8x8xf32>, tensor<8x8xf32>) "
                                         "outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>",
                                         "{k} = linalg.matmul ins({t}, {v} : tensor<8x8xf32>, tensor<8x8xf32>) "
                                         "outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>"),
    "slices": tensors(f"{{t}} = tensor.extract_slice {{v}}[2, 0] [1, 8] [1, 1] : {MATRIX} to {ROW}",
                      f"{{k}} = tensor.insert_slice {{t}} into {{v}}[5, 0] [1, 8] [1, 1] : {ROW} into {MATRIX}"),
    "softmax": tensors("{t} = math.sin {v} : tensor<8x8xf32>", "{k} = arith.maximumf {t}, {v} : tensor<8x8xf32>",
                       end=f"%h = linalg.softmax dimension(1) ins({{v}} : {MATRIX}) outs(%e : {MATRIX}) -> {MATRIX}"),
    "maximum": reduction("maximumf"),
    "mean": reduction("addf"),
    "regions": regions,
    "loss head": loss_head,
    "scalars": tensors("{t} = math.sin {v} : f32", "{k} = arith.mulf {t}, {v} : f32", start="%scalar",
                               end=f"%all = tensor.splat {{v}} : {MATRIX}\n%h = arith.mulf %all, %w : {MATRIX}"),
    "offset": tensors(*INDEX, start="%first",
                      end=f"%r = tensor.extract_slice %w[{{v}}, 0] [1, 8] [1, 1] : {MATRIX} to {ROW}\n"
                      f"%h = tensor.insert_slice %r into %w[{{v}}, 0] [1, 8] [1, 1] : {ROW} into {MATRIX}"),
    "size": tensors(*INDEX, start="%first",
                    end=f"%d = tensor.extract_slice %w[0, 0] [{{v}}, 8] [1, 1] : {MATRIX} to tensor<?x8xf32>\n"
                    "%s = math.tanh %d : tensor<?x8xf32>\n"
                    f"%h = tensor.insert_slice %s into %w[0, 0] [{{v}}, 8] [1, 1] : tensor<?x8xf32> into {MATRIX}"),
    "bound of a loop": tensors(*INDEX, start="%first",
                               end=f"%h = scf.for %i = %c0 to {{v}} step %c1 iter_args(%a = %w) -> ({MATRIX}) {{{{\n"
                               f"  %s = math.tanh %a : {MATRIX}\n  scf.yield %s : {MATRIX}\n}}}}"),
    "condition": tensors("{t} = arith.xori {v}, %large : i1", "{k} = arith.ori {t}, {v} : i1", start="%positive",
                         end=f"%h = scf.if {{v}} -> ({MATRIX}) {{{{\n  %s = math.tanh %w : {MATRIX}\n"
                         f"  scf.yield %s : {MATRIX}\n}}}} else {{{{\n  scf.yield %w : {MATRIX}\n}}}}"),
    "body": kernel("{k} = arith.mulf {v}, {v} : f32"),
    "maxima in a body": kernel("{t} = math.sin {v} : f32", "{k} = arith.maximumf {t}, {v} : f32"),
    "choices in a body": kernel("{t}c = arith.cmpf ogt, {v}, %half : f32", "{t} = arith.negf {v} : f32",
                                "{k} = arith.select {t}c, {v}, {t} : f32"),
    "conditions in a body": kernel("{t} = arith.xori {v}, %c : i1", "{k} = arith.ori {t}, {v} : i1", start="%d",
                                   before="%c = arith.cmpf ogt, %u, %half : f32\n%d = arith.cmpf olt, %u, %zero : f32",
                                   after="%s = arith.select {v}, %u, %zero : f32\nlinalg.yield %s : f32"),
    "comparison in a body": kernel(*INDEX, start="%i", before="%i = linalg.index 0 : index",
                                   after="%c = arith.cmpi ult, {v}, %c8 : index\n"
                                   "%s = arith.select %c, %u, %zero : f32\nlinalg.yield %s : f32"),
    "index in a body": kernel(*WRAPPED, start="%i", before="%i = linalg.index 0 : index",
                              after=f"%r = tensor.extract %w[{{v}}, %c1] : {MATRIX}\nlinalg.yield %r : f32"),
    "index without bounds": kernel(*INDEX, start="%i", before="%i = linalg.index 0 : index",
                                   after=f"%r = tensor.extract %w[{{v}}, %c1] : {MATRIX}\nlinalg.yield %r : f32"),
    "index of data": kernel(*WRAPPED, start="%g", before="%g = arith.index_cast %token : i64 to index",
                            after=f"%r = tensor.extract %w[{{v}}, %c1] : {MATRIX}\nlinalg.yield %r : f32"),
    "slices in a loop": loop(*INDEX, after=SLICE.replace("{source}", "a")),
    "parts that a loop fills": loop(*INDEX, carried="%a = %zeros", after=SLICE.replace("{source}", "w")),
    "wrapped parts": loop(*WRAPPED, carried="%a = %zeros", after=SLICE.replace("{source}", "w")),
    "branch in a loop": loop(*INDEX, after=f"""    %c = arith.cmpi ult, {{v}}, %c8 : index
    %s = scf.if %c -> ({MATRIX}) {{{{
      %q = math.tanh %a : {MATRIX}
      scf.yield %q : {MATRIX}
    }}}} else {{{{
      scf.yield %a : {MATRIX}
    }}}}
    scf.yield %s : {MATRIX}"""),
    "loop in a loop": loop(*INDEX, after=f"""    %s = scf.for %j = %c0 to {{v}} step %c1 iter_args(%b = %a) -> ({MATRIX}) {{{{
      %q = math.tanh %b : {MATRIX}
      scf.yield %q : {MATRIX}
    }}}}
    scf.yield %s : {MATRIX}"""),
    "rows of a mask": attention("{k} = arith.addi {v}, {v} : index", start="%m",
                                after="%c = arith.cmpi uge, {v}, %n : index\n%masked = arith.select %c, %s, %low : f32"),
    "masked scores": attention("{k} = arith.addf {v}, {v} : f32", start="%s",
                               after="%c = arith.cmpi uge, %m, %n : index\n%masked = arith.select %c, {v}, %low : f32"),
    "conditions of a mask": attention("{t}a = arith.andi {v}, %positive : i1", "{t}b = arith.xori {t}a, %true : i1",
                                      "{t}c = arith.xori {v}, %true : i1", "{t}d = arith.ori {t}b, {t}c : i1",
                                      "{k} = arith.xori {t}d, %true : i1", before="%c = arith.cmpi uge, %m, %n : index",
                                      start="%c", after="%masked = arith.select {v}, %s, %low : f32"),
}




def main(length, *passes):
    for name, build in MODELS.items():
        try:
            done = subprocess.run(["remat-opt", "-", *passes, "-o", "/dev/null"], input=build(length), capture_output=True,
                                  text=True, timeout=900)
        except subprocess.TimeoutExpired:
            sys.exit(f"{name}: {' '.join(passes)} does not end")
        if done.returncode:
            sys.exit(f"{name}: {' '.join(passes)}\n{done.stderr}")
    print(len(MODELS), "models compiled")


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
