// RUN: remat-opt %s -remat-import="params=arg1" -canonicalize | FileCheck %s

// erfc as IREE writes it for JAX, whose exact GELU is made of it.

// CHECK-LABEL: func.func @loss(
// CHECK:         %[[ERFC:.*]] = linalg.generic
// CHECK-NEXT:    ^bb0(%[[X:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT:      %[[Y:.*]] = math.erfc %[[X]] : f32
// CHECK-NEXT:      linalg.yield %[[Y]]
// CHECK:         call @in_kernels_of_their_own
// CHECK:         call @something_else
func.func @loss(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%w : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %cst_0 = arith.constant 1.12837911 : f32
    %cst_1 = arith.constant -0.37612626 : f32
    %cst_2 = arith.constant 0.112835854 : f32
    %cst_3 = arith.constant -0.0268538129 : f32
    %cst_4 = arith.constant 0.00518832775 : f32
    %cst_5 = arith.constant -8.0101937E-4 : f32
    %cst_6 = arith.constant 7.85386146E-5 : f32
    %cst_7 = arith.constant 0.000000e+00 : f32
    %cst_8 = arith.constant -88.7228394 : f32
    %cst_9 = arith.constant 0.564189494 : f32
    %cst_10 = arith.constant -0.282076746 : f32
    %cst_11 = arith.constant 0.42184633 : f32
    %cst_12 = arith.constant -1.01526523 : f32
    %cst_13 = arith.constant 2.92101908 : f32
    %cst_14 = arith.constant -7.49551868 : f32
    %cst_15 = arith.constant 1.297720e+01 : f32
    %cst_16 = arith.constant -10.477664 : f32
    %cst_17 = arith.constant 0.563825965 : f32
    %cst_18 = arith.constant -0.274112701 : f32
    %cst_19 = arith.constant 3.404880e-01 : f32
    %cst_20 = arith.constant -0.494451523 : f32
    %cst_21 = arith.constant 0.621000468 : f32
    %cst_22 = arith.constant -0.582473278 : f32
    %cst_23 = arith.constant 0.368742466 : f32
    %cst_24 = arith.constant -0.138703942 : f32
    %cst_25 = arith.constant 2.326820e-02 : f32
    %cst_26 = arith.constant 2.000000e+00 : f32
    %cst_27 = arith.constant 1.000000e+00 : f32
    %v11 = arith.mulf %in, %in : f32
    %v13 = arith.negf %v11 : f32
    %v15 = math.absf %in : f32
    %v17 = arith.divf %cst_27, %v11 : f32
    %v19 = math.exp %v13 : f32
    %v21 = arith.divf %cst_27, %v15 : f32
    %v23 = arith.mulf %v19, %v21 : f32
    %v25 = arith.cmpf olt, %v15, %cst_26 : f32
    %v27 = arith.mulf %v17, %cst_25 : f32
    %v29 = arith.addf %v27, %cst_24 : f32
    %v31 = arith.mulf %v29, %v17 : f32
    %v33 = arith.addf %v31, %cst_23 : f32
    %v35 = arith.mulf %v33, %v17 : f32
    %v37 = arith.addf %v35, %cst_22 : f32
    %v39 = arith.mulf %v37, %v17 : f32
    %v41 = arith.addf %v39, %cst_21 : f32
    %v43 = arith.mulf %v41, %v17 : f32
    %v45 = arith.addf %v43, %cst_20 : f32
    %v47 = arith.mulf %v45, %v17 : f32
    %v49 = arith.addf %v47, %cst_19 : f32
    %v51 = arith.mulf %v49, %v17 : f32
    %v53 = arith.addf %v51, %cst_18 : f32
    %v55 = arith.mulf %v53, %v17 : f32
    %v57 = arith.addf %v55, %cst_17 : f32
    %v59 = arith.mulf %v17, %cst_16 : f32
    %v61 = arith.addf %v59, %cst_15 : f32
    %v63 = arith.mulf %v61, %v17 : f32
    %v65 = arith.addf %v63, %cst_14 : f32
    %v67 = arith.mulf %v65, %v17 : f32
    %v69 = arith.addf %v67, %cst_13 : f32
    %v71 = arith.mulf %v69, %v17 : f32
    %v73 = arith.addf %v71, %cst_12 : f32
    %v75 = arith.mulf %v73, %v17 : f32
    %v77 = arith.addf %v75, %cst_11 : f32
    %v79 = arith.mulf %v77, %v17 : f32
    %v81 = arith.addf %v79, %cst_10 : f32
    %v83 = arith.mulf %v81, %v17 : f32
    %v85 = arith.addf %v83, %cst_9 : f32
    %v87 = arith.select %v25, %v57, %v85 : f32
    %v89 = arith.mulf %v23, %v87 : f32
    %v91 = arith.cmpf olt, %v13, %cst_8 : f32
    %v93 = arith.select %v91, %cst_7, %v89 : f32
    %v95 = arith.cmpf olt, %in, %cst_7 : f32
    %v97 = arith.subf %cst_26, %v93 : f32
    %v99 = arith.select %v95, %v97, %v93 : f32
    %v101 = arith.mulf %v11, %cst_6 : f32
    %v103 = arith.addf %v101, %cst_5 : f32
    %v105 = arith.mulf %v103, %v11 : f32
    %v107 = arith.addf %v105, %cst_4 : f32
    %v109 = arith.mulf %v107, %v11 : f32
    %v111 = arith.addf %v109, %cst_3 : f32
    %v113 = arith.mulf %v111, %v11 : f32
    %v115 = arith.addf %v113, %cst_2 : f32
    %v117 = arith.mulf %v115, %v11 : f32
    %v119 = arith.addf %v117, %cst_1 : f32
    %v121 = arith.mulf %v119, %v11 : f32
    %v123 = arith.addf %v121, %cst_0 : f32
    %v125 = arith.mulf %in, %v123 : f32
    %v127 = arith.subf %cst_27, %v125 : f32
    %v129 = arith.cmpf olt, %v15, %cst_27 : f32
    %y = arith.select %v129, %v127, %v99 : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  %1 = call @in_kernels_of_their_own(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = call @something_else(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.reduce { arith.addf } ins(%2 : tensor<4xf32>) outs(%zero : tensor<f32>) dimensions = [0]
  return %loss : tensor<f32>
}

// CHECK-LABEL: func.func private @in_kernels_of_their_own(
// CHECK-SAME:      %[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT:    %[[Y:.*]] = math.erfc %[[X]] : tensor<4xf32>
// CHECK-NEXT:    return %[[Y]]
func.func private @in_kernels_of_their_own(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %b = tensor.empty() : tensor<4xi1>
  %cst_0 = arith.constant dense<1.12837911> : tensor<4xf32>
  %cst_1 = arith.constant dense<-0.37612626> : tensor<4xf32>
  %cst_2 = arith.constant dense<0.112835854> : tensor<4xf32>
  %cst_3 = arith.constant dense<-0.0268538129> : tensor<4xf32>
  %cst_4 = arith.constant dense<0.00518832775> : tensor<4xf32>
  %cst_5 = arith.constant dense<-8.0101937E-4> : tensor<4xf32>
  %cst_6 = arith.constant dense<7.85386146E-5> : tensor<4xf32>
  %cst_7 = arith.constant dense<0.000000e+00> : tensor<4xf32>
  %cst_8 = arith.constant dense<-88.7228394> : tensor<4xf32>
  %cst_9 = arith.constant dense<0.564189494> : tensor<4xf32>
  %cst_10 = arith.constant dense<-0.282076746> : tensor<4xf32>
  %cst_11 = arith.constant dense<0.42184633> : tensor<4xf32>
  %cst_12 = arith.constant dense<-1.01526523> : tensor<4xf32>
  %cst_13 = arith.constant dense<2.92101908> : tensor<4xf32>
  %cst_14 = arith.constant dense<-7.49551868> : tensor<4xf32>
  %cst_15 = arith.constant dense<1.297720e+01> : tensor<4xf32>
  %cst_16 = arith.constant dense<-10.477664> : tensor<4xf32>
  %cst_17 = arith.constant dense<0.563825965> : tensor<4xf32>
  %cst_18 = arith.constant dense<-0.274112701> : tensor<4xf32>
  %cst_19 = arith.constant dense<3.404880e-01> : tensor<4xf32>
  %cst_20 = arith.constant dense<-0.494451523> : tensor<4xf32>
  %cst_21 = arith.constant dense<0.621000468> : tensor<4xf32>
  %cst_22 = arith.constant dense<-0.582473278> : tensor<4xf32>
  %cst_23 = arith.constant dense<0.368742466> : tensor<4xf32>
  %cst_24 = arith.constant dense<-0.138703942> : tensor<4xf32>
  %cst_25 = arith.constant dense<2.326820e-02> : tensor<4xf32>
  %cst_26 = arith.constant dense<2.000000e+00> : tensor<4xf32>
  %cst_27 = arith.constant dense<1.000000e+00> : tensor<4xf32>
  %v11 = linalg.map { arith.mulf } ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v13 = linalg.map { arith.negf } ins(%v11 : tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v15 = linalg.map { math.absf } ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v17 = linalg.map { arith.divf } ins(%cst_27, %v11 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v19 = linalg.map { math.exp } ins(%v13 : tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v21 = linalg.map { arith.divf } ins(%cst_27, %v15 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v23 = linalg.map { arith.mulf } ins(%v19, %v21 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v25 = linalg.map ins(%v15, %cst_26 : tensor<4xf32>, tensor<4xf32>) outs(%b : tensor<4xi1>) (%l: f32, %r: f32, %out: i1) {
    %c = arith.cmpf olt, %l, %r : f32
    linalg.yield %c : i1
  }
  %v27 = linalg.map { arith.mulf } ins(%v17, %cst_25 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v29 = linalg.map { arith.addf } ins(%v27, %cst_24 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v31 = linalg.map { arith.mulf } ins(%v29, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v33 = linalg.map { arith.addf } ins(%v31, %cst_23 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v35 = linalg.map { arith.mulf } ins(%v33, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v37 = linalg.map { arith.addf } ins(%v35, %cst_22 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v39 = linalg.map { arith.mulf } ins(%v37, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v41 = linalg.map { arith.addf } ins(%v39, %cst_21 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v43 = linalg.map { arith.mulf } ins(%v41, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v45 = linalg.map { arith.addf } ins(%v43, %cst_20 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v47 = linalg.map { arith.mulf } ins(%v45, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v49 = linalg.map { arith.addf } ins(%v47, %cst_19 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v51 = linalg.map { arith.mulf } ins(%v49, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v53 = linalg.map { arith.addf } ins(%v51, %cst_18 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v55 = linalg.map { arith.mulf } ins(%v53, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v57 = linalg.map { arith.addf } ins(%v55, %cst_17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v59 = linalg.map { arith.mulf } ins(%v17, %cst_16 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v61 = linalg.map { arith.addf } ins(%v59, %cst_15 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v63 = linalg.map { arith.mulf } ins(%v61, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v65 = linalg.map { arith.addf } ins(%v63, %cst_14 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v67 = linalg.map { arith.mulf } ins(%v65, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v69 = linalg.map { arith.addf } ins(%v67, %cst_13 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v71 = linalg.map { arith.mulf } ins(%v69, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v73 = linalg.map { arith.addf } ins(%v71, %cst_12 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v75 = linalg.map { arith.mulf } ins(%v73, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v77 = linalg.map { arith.addf } ins(%v75, %cst_11 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v79 = linalg.map { arith.mulf } ins(%v77, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v81 = linalg.map { arith.addf } ins(%v79, %cst_10 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v83 = linalg.map { arith.mulf } ins(%v81, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v85 = linalg.map { arith.addf } ins(%v83, %cst_9 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v87 = linalg.map { arith.select } ins(%v25, %v57, %v85 : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v89 = linalg.map { arith.mulf } ins(%v23, %v87 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v91 = linalg.map ins(%v13, %cst_8 : tensor<4xf32>, tensor<4xf32>) outs(%b : tensor<4xi1>) (%l: f32, %r: f32, %out: i1) {
    %c = arith.cmpf olt, %l, %r : f32
    linalg.yield %c : i1
  }
  %v93 = linalg.map { arith.select } ins(%v91, %cst_7, %v89 : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v95 = linalg.map ins(%x, %cst_7 : tensor<4xf32>, tensor<4xf32>) outs(%b : tensor<4xi1>) (%l: f32, %r: f32, %out: i1) {
    %c = arith.cmpf olt, %l, %r : f32
    linalg.yield %c : i1
  }
  %v97 = linalg.map { arith.subf } ins(%cst_26, %v93 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v99 = linalg.map { arith.select } ins(%v95, %v97, %v93 : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v101 = linalg.map { arith.mulf } ins(%v11, %cst_6 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v103 = linalg.map { arith.addf } ins(%v101, %cst_5 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v105 = linalg.map { arith.mulf } ins(%v103, %v11 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v107 = linalg.map { arith.addf } ins(%v105, %cst_4 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v109 = linalg.map { arith.mulf } ins(%v107, %v11 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v111 = linalg.map { arith.addf } ins(%v109, %cst_3 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v113 = linalg.map { arith.mulf } ins(%v111, %v11 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v115 = linalg.map { arith.addf } ins(%v113, %cst_2 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v117 = linalg.map { arith.mulf } ins(%v115, %v11 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v119 = linalg.map { arith.addf } ins(%v117, %cst_1 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v121 = linalg.map { arith.mulf } ins(%v119, %v11 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v123 = linalg.map { arith.addf } ins(%v121, %cst_0 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v125 = linalg.map { arith.mulf } ins(%x, %v123 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v127 = linalg.map { arith.subf } ins(%cst_27, %v125 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v129 = linalg.map ins(%v15, %cst_27 : tensor<4xf32>, tensor<4xf32>) outs(%b : tensor<4xi1>) (%l: f32, %r: f32, %out: i1) {
    %c = arith.cmpf olt, %l, %r : f32
    linalg.yield %c : i1
  }
  %y = linalg.map { arith.select } ins(%v129, %v127, %v99 : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  return %y : tensor<4xf32>
}

// One coefficient is another.
// CHECK-LABEL: func.func private @something_else(
// CHECK-NOT:     math.erfc
// CHECK:         return
func.func private @something_else(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %b = tensor.empty() : tensor<4xi1>
  %cst_0 = arith.constant dense<1.12837911> : tensor<4xf32>
  %cst_1 = arith.constant dense<-0.37612626> : tensor<4xf32>
  %cst_2 = arith.constant dense<0.112835854> : tensor<4xf32>
  %cst_3 = arith.constant dense<-0.0268538129> : tensor<4xf32>
  %cst_4 = arith.constant dense<0.00518832775> : tensor<4xf32>
  %cst_5 = arith.constant dense<-8.0101937E-4> : tensor<4xf32>
  %cst_6 = arith.constant dense<7.85386146E-5> : tensor<4xf32>
  %cst_7 = arith.constant dense<0.000000e+00> : tensor<4xf32>
  %cst_8 = arith.constant dense<-88.7228394> : tensor<4xf32>
  %cst_9 = arith.constant dense<0.564189494> : tensor<4xf32>
  %cst_10 = arith.constant dense<-0.282076746> : tensor<4xf32>
  %cst_11 = arith.constant dense<0.4878> : tensor<4xf32>
  %cst_12 = arith.constant dense<-1.01526523> : tensor<4xf32>
  %cst_13 = arith.constant dense<2.92101908> : tensor<4xf32>
  %cst_14 = arith.constant dense<-7.49551868> : tensor<4xf32>
  %cst_15 = arith.constant dense<1.297720e+01> : tensor<4xf32>
  %cst_16 = arith.constant dense<-10.477664> : tensor<4xf32>
  %cst_17 = arith.constant dense<0.563825965> : tensor<4xf32>
  %cst_18 = arith.constant dense<-0.274112701> : tensor<4xf32>
  %cst_19 = arith.constant dense<3.404880e-01> : tensor<4xf32>
  %cst_20 = arith.constant dense<-0.494451523> : tensor<4xf32>
  %cst_21 = arith.constant dense<0.621000468> : tensor<4xf32>
  %cst_22 = arith.constant dense<-0.582473278> : tensor<4xf32>
  %cst_23 = arith.constant dense<0.368742466> : tensor<4xf32>
  %cst_24 = arith.constant dense<-0.138703942> : tensor<4xf32>
  %cst_25 = arith.constant dense<2.326820e-02> : tensor<4xf32>
  %cst_26 = arith.constant dense<2.000000e+00> : tensor<4xf32>
  %cst_27 = arith.constant dense<1.000000e+00> : tensor<4xf32>
  %v11 = linalg.map { arith.mulf } ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v13 = linalg.map { arith.negf } ins(%v11 : tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v15 = linalg.map { math.absf } ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v17 = linalg.map { arith.divf } ins(%cst_27, %v11 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v19 = linalg.map { math.exp } ins(%v13 : tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v21 = linalg.map { arith.divf } ins(%cst_27, %v15 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v23 = linalg.map { arith.mulf } ins(%v19, %v21 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v25 = linalg.map ins(%v15, %cst_26 : tensor<4xf32>, tensor<4xf32>) outs(%b : tensor<4xi1>) (%l: f32, %r: f32, %out: i1) {
    %c = arith.cmpf olt, %l, %r : f32
    linalg.yield %c : i1
  }
  %v27 = linalg.map { arith.mulf } ins(%v17, %cst_25 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v29 = linalg.map { arith.addf } ins(%v27, %cst_24 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v31 = linalg.map { arith.mulf } ins(%v29, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v33 = linalg.map { arith.addf } ins(%v31, %cst_23 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v35 = linalg.map { arith.mulf } ins(%v33, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v37 = linalg.map { arith.addf } ins(%v35, %cst_22 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v39 = linalg.map { arith.mulf } ins(%v37, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v41 = linalg.map { arith.addf } ins(%v39, %cst_21 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v43 = linalg.map { arith.mulf } ins(%v41, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v45 = linalg.map { arith.addf } ins(%v43, %cst_20 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v47 = linalg.map { arith.mulf } ins(%v45, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v49 = linalg.map { arith.addf } ins(%v47, %cst_19 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v51 = linalg.map { arith.mulf } ins(%v49, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v53 = linalg.map { arith.addf } ins(%v51, %cst_18 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v55 = linalg.map { arith.mulf } ins(%v53, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v57 = linalg.map { arith.addf } ins(%v55, %cst_17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v59 = linalg.map { arith.mulf } ins(%v17, %cst_16 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v61 = linalg.map { arith.addf } ins(%v59, %cst_15 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v63 = linalg.map { arith.mulf } ins(%v61, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v65 = linalg.map { arith.addf } ins(%v63, %cst_14 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v67 = linalg.map { arith.mulf } ins(%v65, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v69 = linalg.map { arith.addf } ins(%v67, %cst_13 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v71 = linalg.map { arith.mulf } ins(%v69, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v73 = linalg.map { arith.addf } ins(%v71, %cst_12 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v75 = linalg.map { arith.mulf } ins(%v73, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v77 = linalg.map { arith.addf } ins(%v75, %cst_11 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v79 = linalg.map { arith.mulf } ins(%v77, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v81 = linalg.map { arith.addf } ins(%v79, %cst_10 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v83 = linalg.map { arith.mulf } ins(%v81, %v17 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v85 = linalg.map { arith.addf } ins(%v83, %cst_9 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v87 = linalg.map { arith.select } ins(%v25, %v57, %v85 : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v89 = linalg.map { arith.mulf } ins(%v23, %v87 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v91 = linalg.map ins(%v13, %cst_8 : tensor<4xf32>, tensor<4xf32>) outs(%b : tensor<4xi1>) (%l: f32, %r: f32, %out: i1) {
    %c = arith.cmpf olt, %l, %r : f32
    linalg.yield %c : i1
  }
  %v93 = linalg.map { arith.select } ins(%v91, %cst_7, %v89 : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v95 = linalg.map ins(%x, %cst_7 : tensor<4xf32>, tensor<4xf32>) outs(%b : tensor<4xi1>) (%l: f32, %r: f32, %out: i1) {
    %c = arith.cmpf olt, %l, %r : f32
    linalg.yield %c : i1
  }
  %v97 = linalg.map { arith.subf } ins(%cst_26, %v93 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v99 = linalg.map { arith.select } ins(%v95, %v97, %v93 : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v101 = linalg.map { arith.mulf } ins(%v11, %cst_6 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v103 = linalg.map { arith.addf } ins(%v101, %cst_5 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v105 = linalg.map { arith.mulf } ins(%v103, %v11 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v107 = linalg.map { arith.addf } ins(%v105, %cst_4 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v109 = linalg.map { arith.mulf } ins(%v107, %v11 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v111 = linalg.map { arith.addf } ins(%v109, %cst_3 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v113 = linalg.map { arith.mulf } ins(%v111, %v11 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v115 = linalg.map { arith.addf } ins(%v113, %cst_2 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v117 = linalg.map { arith.mulf } ins(%v115, %v11 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v119 = linalg.map { arith.addf } ins(%v117, %cst_1 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v121 = linalg.map { arith.mulf } ins(%v119, %v11 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v123 = linalg.map { arith.addf } ins(%v121, %cst_0 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v125 = linalg.map { arith.mulf } ins(%x, %v123 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v127 = linalg.map { arith.subf } ins(%cst_27, %v125 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  %v129 = linalg.map ins(%v15, %cst_27 : tensor<4xf32>, tensor<4xf32>) outs(%b : tensor<4xi1>) (%l: f32, %r: f32, %out: i1) {
    %c = arith.cmpf olt, %l, %r : f32
    linalg.yield %c : i1
  }
  %y = linalg.map { arith.select } ins(%v129, %v127, %v99 : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
  return %y : tensor<4xf32>
}
