  func.func private @printI64(i64)
  func.func private @printNewline()
  func.func @print(%v: f32) {
    %b = arith.bitcast %v : f32 to i32
    %w = arith.extui %b : i32 to i64
    call @printI64(%w) : (i64) -> ()
    call @printNewline() : () -> ()
    return
  }
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %w = arith.constant dense<[0.1, -0.7, 0.3, 0.9]> : tensor<4xf32>
    %x = arith.constant dense<[1.5, 0.2, -0.4, 0.6]> : tensor<4xf32>
    %l, %g = call @loss_grad(%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
    %s = tensor.extract %l[] : tensor<f32>
    call @print(%s) : (f32) -> ()
    scf.for %i = %c0 to %c4 step %c1 {
      %d = tensor.extract %g[%i] : tensor<4xf32>
      func.call @print(%d) : (f32) -> ()
    }
    return
  }
}
