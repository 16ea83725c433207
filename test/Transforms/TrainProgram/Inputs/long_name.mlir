opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@o)
func.func private @step(memref<4xf32> {opt.param = "LONG"}, i64 {remat.step}) -> f32
