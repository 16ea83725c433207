//===- RematAttentionOps.td - Attention -------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_REMAT_IR_REMATATTENTIONOPS_TD
#define REMAT_DIALECT_REMAT_IR_REMATATTENTIONOPS_TD

include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "remat/Dialect/Remat/IR/RematScatterOps.td"

class Remat_AttentionBase<string mnemonic, list<Trait> traits = []>
    : Op<Remat_Dialect, mnemonic, !listconcat(traits, [
    DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    RecursiveMemoryEffects, DeclareOpInterfaceMethods<ConditionallySpeculatable>,
    SingleBlockImplicitTerminator<"::mlir::remat::YieldOp">])> {
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  code commonDeclaration = [{
    /// Returns the values that `indexing_maps` are for, in their order.
    ::llvm::SmallVector<::mlir::Value> getIndexedValues();
    ::mlir::AffineMap getMap(unsigned index) {
      return ::llvm::cast<::mlir::AffineMapAttr>(getIndexingMaps()[index]).getValue();
    }
    /// The loops, by what they do.
    ::mlir::remat::AttentionDims getDims();
    /// Returns the values that the body yields.
    ::mlir::OperandRange getYielded() {
      return getBody().front().getTerminator()->getOperands();
    }
    /// Of scores, results and sums.
    ::mlir::FloatType getSumType() {
      return ::llvm::cast<::mlir::FloatType>(::mlir::getElementTypeOrSelf(getLogSum()));
    }
  }];
}

def Remat_AttentionOp : Remat_AttentionBase<"attention"> {
  let summary = "softmax of products with keys, times values";
  let description = [{
    For each row m (batch, head, position, ...), over the keys n:

        score[m, n] = sum over d of query[m, d] * key[n, d]
        t[m, n], f[m, n] = body(indices, score[m, n], operands...)
        log_sum[m] = log(sum over n of exp(t[m, n]))
        result[m, v] = sum over n of exp(t[m, n] - log_sum[m]) * f[m, n] * value[n, v]

    so that an array of a number for each pair of positions never exists: kernels
    hold a few rows of it. The backward (`remat.attention_backward`) recomputes
    scores from `query` and `key`; its residuals are the result and one number
    for each row.

    `indexing_maps` say which loops index `query`, `key`, `value`, each of the
    `operands`, the result and `log_sum`: projected permutations, in which
    operands may also have constants 0 for dimensions of size 1. By them, a loop
    is one of
    - rows: those of `log_sum`. Rows that index `key` or `value` are a batch; heads
      that share keys (grouped queries) are rows that do not;
    - keys: one loop, in `key` and `value`, not in `query` nor in the result;
    - *depth*: loops of `query` and `key` alone, over which scores are summed;
    - *columns*: loops of `value` and of the result alone.

    The body gets one index for each row and key loop (in the loops' order), the
    score, and the operands' elements; it says what is scale, bias, mask, soft
    capping or dropout, and may read scalars from around. It yields t and
    f; without f, that is 1. f may not depend on the score. A mask is a t of
    -inf; a row in which all are masked has NaN as its result, as a softmax has.
    Where the largest t is -2^25 or less in f32 (-2^54 in f64), as in a row that
    finite numbers mask as a whole, log_sum is 2^60 (1 + log(sum of exp(t - largest))), and
    all finite t of the row count alike in the backward.

    Scores and sums are f32, or f64 where `query` is. The result is of that type or,
    rounded once, of that of `query`. `init` and `log_sum` are overwritten.

    `remat-raise-attention` makes it of what exporters print. A target that has
    no kernel for it gets it as products and a softmax
    (`convert-linalg-aggregates-to-structured`).

    Example: causal attention of 4 heads that lie side by side (b, position,
    head, depth).

    ```mlir
    %y, %l = remat.attention ins(%q, %k, %v : tensor<2x9x4x8xf32>, tensor<2x9x4x8xf32>, tensor<2x9x4x8xf32>)
        outs(%e, %r : tensor<2x9x4x8xf32>, tensor<2x4x9xf32>)
        attributes {indexing_maps = [affine_map<(b, h, m, n, d, v) -> (b, m, h, d)>,
                                     affine_map<(b, h, m, n, d, v) -> (b, n, h, d)>,
                                     affine_map<(b, h, m, n, d, v) -> (b, n, h, v)>,
                                     affine_map<(b, h, m, n, d, v) -> (b, m, h, v)>,
                                     affine_map<(b, h, m, n, d, v) -> (b, h, m)>]} {
    ^bb0(%b: index, %h: index, %m: index, %n: index, %score: f32):
      %scaled = arith.mulf %score, %scale : f32
      %seen = arith.cmpi ule, %n, %m : index
      %t = arith.select %seen, %scaled, %ninf : f32
      remat.yield %t : f32
    } -> tensor<2x9x4x8xf32>, tensor<2x4x9xf32>
    ```
  }];
  let arguments = (ins Remat_TensorOrBuffer:$query, Remat_TensorOrBuffer:$key,
                       Remat_TensorOrBuffer:$value,
                       Variadic<Remat_TensorOrBuffer>:$score_operands,
                       Remat_TensorOrBuffer:$init, Remat_TensorOrBuffer:$log_sum,
                       AffineMapArrayAttr:$indexing_maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` type($value) `)`
    (`scores` `(` $score_operands^ `:` type($score_operands) `)`)?
    `outs` `(` $init `,` $log_sum `:` type($init) `,` type($log_sum) `)`
    attr-dict-with-keyword $body (`->` type($results)^)?
  }];
  let extraClassDeclaration = commonDeclaration # [{
    ::mlir::MutableOperandRange getDpsInitsMutable();
    ::mlir::Value getModifiedScore() { return getYielded()[0]; }
    /// Null if it is 1.
    ::mlir::Value getFactor() {
      return getYielded().size() > 1 ? getYielded()[1] : ::mlir::Value();
    }
  }];
}

def Remat_AttentionBackwardOp : Remat_AttentionBase<"attention_backward", [
    AttrSizedOperandSegments]> {
  let summary = "cotangents of the operands of an attention";
  let description = [{
    `log_sum` is that of the forward, `delta` the sum over its columns of
    result * cotangent, with the same map. Over the loops of the forward:

        score[m, n] = sum over d of query[m, d] * key[n, d]
        g[m, n] = sum over v of cotangent[m, v] * value[n, v]
        ds, w, de... = body(indices, score, operands..., log_sum[m], delta[m], g)
        d_query[m, d] += sum over n of ds[m, n] * key[n, d]
        d_key[n, d] += sum over m of ds[m, n] * query[m, d]
        d_value[n, v] += sum over m of w[m, n] * cotangent[m, v]
        d_operand += sum of de over the loops that do not index it

    `inits` are d_query, d_key, d_value and d_operand for each operand that
    `differentiated` lists; each is added to, and its map is that of the operand.
    The cotangent and the first three may be of the type of `query` instead of that
    of the sums: the sum with what was there is then rounded once.
    `indexing_maps` are those of the forward, that of the result being the
    cotangent's.

    The derivative of `remat.attention` makes it; its body is the derivative of the
    forward's body, with w = exp(t - log_sum) * f.
  }];
  let arguments = (ins Remat_TensorOrBuffer:$query, Remat_TensorOrBuffer:$key,
                       Remat_TensorOrBuffer:$value,
                       Variadic<Remat_TensorOrBuffer>:$score_operands,
                       Remat_TensorOrBuffer:$cotangent, Remat_TensorOrBuffer:$log_sum,
                       Remat_TensorOrBuffer:$delta,
                       Variadic<Remat_TensorOrBuffer>:$inits,
                       AffineMapArrayAttr:$indexing_maps,
                       DenseI64ArrayAttr:$differentiated);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` type($value) `)`
    (`scores` `(` $score_operands^ `:` type($score_operands) `)`)?
    `cotangent` `(` $cotangent `,` $log_sum `,` $delta `:` type($cotangent) `,` type($log_sum) `,` type($delta) `)`
    `outs` `(` $inits `:` type($inits) `)`
    attr-dict-with-keyword $body (`->` type($results)^)?
  }];
  let extraClassDeclaration = commonDeclaration # [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitsMutable(); }
    /// The index in `indexing_maps` of the map of an init.
    unsigned getMapOfInit(unsigned index) {
      return index < 3 ? index : 3 + getDifferentiated()[index - 3];
    }
  }];
}

#endif // REMAT_DIALECT_REMAT_IR_REMATATTENTIONOPS_TD
