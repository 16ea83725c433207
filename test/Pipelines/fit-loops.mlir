// A loop keeps what its backward reads of each iteration where that fits, and so many states otherwise as fit.
// RUN: remat-opt %s --remat-train="budget=64KiB budget-of=arena" -mlir-print-ir-after=remat-fit-loops -o /dev/null 2>&1 | FileCheck %s --check-prefix=TAPES
// RUN: remat-opt %s --remat-train="budget=8KiB budget-of=arena report=%t.json" -mlir-print-ir-after=remat-fit-loops -o /dev/null 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: remat-opt %s --remat-train="budget=4500 budget-of=arena report=%t.json" -mlir-print-ir-after=remat-fit-loops -o /dev/null 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: %python -c "import json; assert json.load(open('%t.json'))['functions'][0]['arena'] <= 4500"
// A fraction is one of the whole with tapes, and stays so when loops keep fewer states.
// RUN: remat-opt %s --remat-train="budget=0.1 budget-of=arena" -mlir-print-ir-after=remat-fit-loops -o /dev/null 2>&1 | FileCheck %s --check-prefix=FRACTION
// RUN: not remat-opt %s --remat-train="budget=256 budget-of=arena" -o /dev/null 2>&1 | FileCheck %s --check-prefix=MISS
// Without a budget, and in regions of the model's own, nothing changes.
// RUN: remat-opt %s --remat-train -mlir-print-ir-after=remat-fit-loops -o /dev/null 2>&1 | FileCheck %s --check-prefix=TAPES

// TAPES-NOT: remat.snapshots
// MANY: remat.region policy(#remat.snapshots<{{[1-9][0-9]}}>)
// MANY-NOT: remat.snapshots
// FEW: remat.region policy(#remat.snapshots<{{[1-9]}}>)
// FRACTION: remat.region policy(#remat.snapshots<
// FRACTION: remat.train_step {{.*}}budget = "{{[0-9]+}}"
// MISS: error: 'step' does not fit a budget of 256 bytes; the smallest that was found is

#map = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
opt.optimizer @adam = #opt.adam<lr = 1.0e-2>
remat.generator @generator seed(3)
func.func @loss(%w: tensor<16x16xf32> {opt.param = "w", opt.init = "normal(0.3)"}, %u: tensor<16x16xf32> {opt.param = "u", opt.init = "normal(0.3)"},
                %input: tensor<60x4x16xf32> {remat.data = "input"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 60 : index
  %e = tensor.empty() : tensor<4x16xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %s = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %i0 = arith.constant dense<3> : tensor<4xi32>
  
  %r:3 = scf.for %t = %c0 to %n step %c1 iter_args(%h = %start, %total = %f, %count = %i0) -> (tensor<4x16xf32>, tensor<f32>, tensor<4xi32>) {
    %x = tensor.extract_slice %input[%t, 0, 0] [1, 4, 16] [1, 1, 1] : tensor<60x4x16xf32> to tensor<4x16xf32>
    %rng = remat.get_rng @generator
    %mask, %next = remat.random_bernoulli %rng {p = 0.5 : f64} : tensor<4x16xi1>
    remat.set_rng @generator, %next
    %new = remat.region policy(#remat.dots_saveable) (%a = %h : tensor<4x16xf32>, %v = %w : tensor<16x16xf32>, %q = %u : tensor<16x16xf32>,
                                                      %xs = %x : tensor<4x16xf32>, %m = %mask : tensor<4x16xi1>) -> tensor<4x16xf32> {
      %z = arith.constant 0.0 : f32
      %g = arith.constant 2.0 : f32
      %o = tensor.empty() : tensor<4x16xf32>
      %fill = linalg.fill ins(%z : f32) outs(%o : tensor<4x16xf32>) -> tensor<4x16xf32>
      %p = linalg.matmul ins(%a, %v : tensor<4x16xf32>, tensor<16x16xf32>) outs(%xs : tensor<4x16xf32>) -> tensor<4x16xf32>
      %d = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}
          ins(%p, %m : tensor<4x16xf32>, tensor<4x16xi1>) outs(%o : tensor<4x16xf32>) {
      ^bb0(%b: f32, %k: i1, %out: f32):
        %y = math.tanh %b : f32
        %grown = arith.mulf %y, %g : f32
        %kept = arith.select %k, %grown, %z : f32
        linalg.yield %kept : f32
      } -> tensor<4x16xf32>
      %l = linalg.matmul ins(%d, %q : tensor<4x16xf32>, tensor<16x16xf32>) outs(%fill : tensor<4x16xf32>) -> tensor<4x16xf32>
      %y = math.tanh %l : tensor<4x16xf32>
      remat.yield %y : tensor<4x16xf32>
    }
    %one = arith.constant dense<1> : tensor<4xi32>
    %more = arith.addi %count, %one : tensor<4xi32>
    %sum = linalg.generic {indexing_maps = [#map, affine_map<(d0, d1) -> (d0)>, #none], iterator_types = ["reduction", "reduction"]}
        ins(%new, %more : tensor<4x16xf32>, tensor<4xi32>) outs(%total : tensor<f32>) {
    ^bb0(%b: f32, %k: i32, %acc: f32):
      %scale = arith.sitofp %k : i32 to f32
      %square = arith.mulf %b, %b : f32
      %part = arith.divf %square, %scale : f32
      %y = arith.addf %acc, %part : f32
      linalg.yield %y : f32
    } -> tensor<f32>
    scf.yield %new, %sum, %more : tensor<4x16xf32>, tensor<f32>, tensor<4xi32>
  }
  %loss = tensor.cast %r#1 : tensor<f32> to tensor<f32>
  return %loss : tensor<f32>
}
remat.train_step @step for @loss optimizer(@adam)
