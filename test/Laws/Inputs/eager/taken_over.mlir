// Of two elementwise operations that stand together, one takes over the buffer of an operand and the other one does not: estimates
// of live bytes have to tell which.
opt.optimizer @o = #opt.sgd<lr = 0.01, momentum = 0.9>
remat.train_step @step for @loss optimizer(@o)

func.func @loss(%x0: tensor<3x4xf64> {remat.data = "x0"}, %x1: tensor<3x4xf64> {remat.data = "x1"}, %w0: tensor<3x3xf64> {opt.param = "w0", opt.init = "normal(0.5)"}, %w1: tensor<3x4xf64> {opt.param = "w1", opt.init = "normal(0.5)"}, %w2: tensor<4x3xf64> {opt.param = "w2", opt.init = "normal(0.5)"}) -> tensor<f64> {
  %v1 = arith.mulf %w0, %w0 : tensor<3x3xf64>
  %v2 = math.tanh %v1 : tensor<3x3xf64>
  %r27:4 = remat.region policy(#remat.any_of<#remat.everything_saveable, #remat.dots_saveable>) (%a3 = %w0 : tensor<3x3xf64>, %a4 = %x1 : tensor<3x4xf64>) -> tensor<4x3xf64>, tensor<3x4xf64>, tensor<3x4xf64>, tensor<4x3xf64> {
    %v5 = math.absf %a4 : tensor<3x4xf64>
    %e6 = tensor.empty() : tensor<4x3xf64>
    %t7 = linalg.transpose ins(%v5 : tensor<3x4xf64>) outs(%e6 : tensor<4x3xf64>) permutation = [1, 0]
    %i15 = arith.constant 0 : index
    %i16 = arith.constant 1 : index
    %i17 = arith.constant 2 : index
    %w18:2 = scf.while (%a19 = %t7, %i21 = %i15) : (tensor<4x3xf64>, index) -> (tensor<4x3xf64>, index) {
      %b23 = arith.cmpi slt, %i21, %i17 : index
      scf.condition(%b23) %a19, %i21 : tensor<4x3xf64>, index
    } do {
    ^bb0(%a8: tensor<4x3xf64>, %i22: index):
      %r13:2 = remat.region policy(#remat.every_k<1>) (%a9 = %t7 : tensor<4x3xf64>) -> tensor<4x3xf64>, tensor<4x3xf64> {
        %v10 = arith.negf %a9 : tensor<4x3xf64>
        %v11 = arith.subf %v10, %v10 : tensor<4x3xf64>
        %v12 = math.tanh %v11 : tensor<4x3xf64>
        remat.yield %v12, %a9 : tensor<4x3xf64>, tensor<4x3xf64>
      }
      %v14 = math.absf %r13#1 : tensor<4x3xf64>
      %i24 = arith.addi %i22, %i16 : index
      scf.yield %v14, %i24 : tensor<4x3xf64>, index
    }
    %v25 = arith.mulf %t7, %w18#0 : tensor<4x3xf64>
    %v26 = math.tanh %v25 : tensor<4x3xf64>
    remat.yield %t7, %a4, %a4, %t7 : tensor<4x3xf64>, tensor<3x4xf64>, tensor<3x4xf64>, tensor<4x3xf64>
  }
  %c30 = arith.constant 0.0 : f64
  %e28 = tensor.empty() : tensor<3x3xf64>
  %z29 = linalg.fill ins(%c30 : f64) outs(%e28 : tensor<3x3xf64>) -> tensor<3x3xf64>
  %p31 = linalg.matmul ins(%r27#1, %w2 : tensor<3x4xf64>, tensor<4x3xf64>) outs(%z29 : tensor<3x3xf64>) -> tensor<3x3xf64>
  %v32 = math.sin %p31 : tensor<3x3xf64>
  %v33 = arith.negf %w1 : tensor<3x4xf64>
  %v34 = math.absf %v33 : tensor<3x4xf64>
  %r82:2 = remat.region policy(#remat.any_of<#remat.any_of<#remat.every_k<1>, #remat.nothing_saveable, #remat.offload_dots>, #remat.any_of<#remat.every_k<1>, #remat.dots_with_no_batch_dims_saveable, #remat.any_of<#remat.every_k<2>, #remat.dots_with_no_batch_dims_saveable, #remat.everything_saveable>>, #remat.everything_saveable>) (%a35 = %r27#1 : tensor<3x4xf64>, %a36 = %v32 : tensor<3x3xf64>, %a37 = %w1 : tensor<3x4xf64>, %a38 = %v32 : tensor<3x3xf64>) -> tensor<3x3xf64>, tensor<3x3xf64> {
    %i50 = arith.constant 0 : index
    %i51 = arith.constant 1 : index
    %i52 = arith.constant 3 : index
    %l53:2 = scf.for %i54 = %i50 to %i52 step %i51 iter_args(%a39 = %a38, %a40 = %a36) -> (tensor<3x3xf64>, tensor<3x3xf64>) {
      %r49:2 = remat.region policy(#remat.offload_dots) (%a41 = %a38 : tensor<3x3xf64>, %a42 = %a40 : tensor<3x3xf64>) -> tensor<3x3xf64>, tensor<3x3xf64> {
        %v43 = math.atan %a42 : tensor<3x3xf64>
        %c46 = arith.constant 0.0 : f64
        %e44 = tensor.empty() : tensor<3x3xf64>
        %z45 = linalg.fill ins(%c46 : f64) outs(%e44 : tensor<3x3xf64>) -> tensor<3x3xf64>
        %p47 = linalg.matmul ins(%a42, %a42 : tensor<3x3xf64>, tensor<3x3xf64>) outs(%z45 : tensor<3x3xf64>) -> tensor<3x3xf64>
        %v48 = math.sin %p47 : tensor<3x3xf64>
        remat.yield %v48, %v48 : tensor<3x3xf64>, tensor<3x3xf64>
      }
      scf.yield %r49#1, %r49#1 : tensor<3x3xf64>, tensor<3x3xf64>
    }
    %r81:1 = remat.region policy(#remat.dots_with_no_batch_dims_saveable) (%a55 = %a37 : tensor<3x4xf64>) -> tensor<3x4xf64> {
      %c59 = arith.constant -0.1348 : f64
      %i57 = arith.constant 0 : index
      %x58 = tensor.extract %a55[%i57, %i57] : tensor<3x4xf64>
      %b56 = arith.cmpf ogt, %x58, %c59 : f64
      %f73:2 = scf.if %b56 -> (tensor<3x4xf64>, tensor<3x4xf64>) {
        %r63:3 = remat.region policy(#remat.every_k<1>) (%a60 = %a55 : tensor<3x4xf64>, %a61 = %a55 : tensor<3x4xf64>, %a62 = %a55 : tensor<3x4xf64>) -> tensor<3x4xf64>, tensor<3x4xf64>, tensor<3x4xf64> {
          remat.yield %a61, %a61, %a61 : tensor<3x4xf64>, tensor<3x4xf64>, tensor<3x4xf64>
        }
        scf.yield %r63#1, %r63#1 : tensor<3x4xf64>, tensor<3x4xf64>
      } else {
        %v65 = math.sin %a55 : tensor<3x4xf64>
        %k66 = arith.constant dense<1.5000> : tensor<3x4xf64>
        %v67 = arith.addf %v65, %k66 : tensor<3x4xf64>
        %v64 = math.log1p %v67 : tensor<3x4xf64>
        %r72:2 = remat.region policy(#remat.nothing_saveable) (%a68 = %v64 : tensor<3x4xf64>, %a69 = %v64 : tensor<3x4xf64>, %a70 = %v64 : tensor<3x4xf64>, %a71 = %v64 : tensor<3x4xf64>) -> tensor<3x4xf64>, tensor<3x4xf64> {
          remat.yield %a71, %a70 : tensor<3x4xf64>, tensor<3x4xf64>
        }
        scf.yield %r72#1, %r72#1 : tensor<3x4xf64>, tensor<3x4xf64>
      }
      %r80:3 = remat.region policy(#remat.dots_saveable) (%a74 = %f73#0 : tensor<3x4xf64>, %a75 = %a55 : tensor<3x4xf64>, %a76 = %f73#1 : tensor<3x4xf64>) -> tensor<3x4xf64>, tensor<3x4xf64>, tensor<3x4xf64> {
        %v77 = math.absf %a75 : tensor<3x4xf64>
        %v78 = math.cos %a76 : tensor<3x4xf64>
        %n79 = remat.name "g" %v78 : tensor<3x4xf64>
        remat.yield %a74, %v77, %n79 : tensor<3x4xf64>, tensor<3x4xf64>, tensor<3x4xf64>
      }
      remat.yield %r80#1 : tensor<3x4xf64>
    }
    remat.yield %l53#1, %l53#1 : tensor<3x3xf64>, tensor<3x3xf64>
  }
  %v84 = math.sin %v2 : tensor<3x3xf64>
  %k85 = arith.constant dense<1.5000> : tensor<3x3xf64>
  %v86 = arith.addf %v84, %k85 : tensor<3x3xf64>
  %v83 = math.log1p %v86 : tensor<3x3xf64>
  %v87 = arith.mulf %v83, %r82#0 : tensor<3x3xf64>
  %v88 = math.tanh %v87 : tensor<3x3xf64>
  %c91 = arith.constant 0.0 : f64
  %e89 = tensor.empty() : tensor<f64>
  %z90 = linalg.fill ins(%c91 : f64) outs(%e89 : tensor<f64>) -> tensor<f64>
  %s92 = linalg.generic {indexing_maps = [affine_map<(d0, d1)->(d0, d1)>, affine_map<(d0, d1)->()>], iterator_types = ["reduction", "reduction"]} ins(%v88 : tensor<3x3xf64>) outs(%z90 : tensor<f64>) {
  ^bb0(%u: f64, %a: f64):
    %m = arith.mulf %u, %u : f64
    %o = arith.addf %a, %m : f64
    linalg.yield %o : f64
  } -> tensor<f64>
  %c95 = arith.constant 0.0 : f64
  %e93 = tensor.empty() : tensor<f64>
  %z94 = linalg.fill ins(%c95 : f64) outs(%e93 : tensor<f64>) -> tensor<f64>
  %s96 = linalg.generic {indexing_maps = [affine_map<(d0, d1)->(d0, d1)>, affine_map<(d0, d1)->()>], iterator_types = ["reduction", "reduction"]} ins(%v83 : tensor<3x3xf64>) outs(%z94 : tensor<f64>) {
  ^bb0(%u: f64, %a: f64):
    %m = arith.mulf %u, %u : f64
    %o = arith.addf %a, %m : f64
    linalg.yield %o : f64
  } -> tensor<f64>
  %s97 = arith.addf %s92, %s96 : tensor<f64>
  %c100 = arith.constant 0.0 : f64
  %e98 = tensor.empty() : tensor<f64>
  %z99 = linalg.fill ins(%c100 : f64) outs(%e98 : tensor<f64>) -> tensor<f64>
  %s101 = linalg.generic {indexing_maps = [affine_map<(d0, d1)->(d0, d1)>, affine_map<(d0, d1)->()>], iterator_types = ["reduction", "reduction"]} ins(%x0 : tensor<3x4xf64>) outs(%z99 : tensor<f64>) {
  ^bb0(%u: f64, %a: f64):
    %m = arith.mulf %u, %u : f64
    %o = arith.addf %a, %m : f64
    linalg.yield %o : f64
  } -> tensor<f64>
  %s102 = arith.addf %s97, %s101 : tensor<f64>
  %c105 = arith.constant 0.0 : f64
  %e103 = tensor.empty() : tensor<f64>
  %z104 = linalg.fill ins(%c105 : f64) outs(%e103 : tensor<f64>) -> tensor<f64>
  %s106 = linalg.generic {indexing_maps = [affine_map<(d0, d1)->(d0, d1)>, affine_map<(d0, d1)->()>], iterator_types = ["reduction", "reduction"]} ins(%w1 : tensor<3x4xf64>) outs(%z104 : tensor<f64>) {
  ^bb0(%u: f64, %a: f64):
    %m = arith.mulf %u, %u : f64
    %o = arith.addf %a, %m : f64
    linalg.yield %o : f64
  } -> tensor<f64>
  %s107 = arith.addf %s102, %s106 : tensor<f64>
  return %s107 : tensor<f64>
}
