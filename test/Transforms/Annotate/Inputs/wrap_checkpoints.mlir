module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op) {
    %f = transform.structured.match ops{["func.func"]} in %module : (!transform.any_op) -> !transform.any_op
    %ops, %labels = transform.remat.match_checkpoints in %f : (!transform.any_op) -> (!transform.any_op, !transform.any_param)
    %regions = transform.remat.wrap %ops labels(%labels) policy(#remat.dots_saveable)
        : (!transform.any_op, !transform.any_param) -> !transform.any_op
    transform.yield
  }
}
