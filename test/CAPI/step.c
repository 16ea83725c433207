// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/*===- step.c - The C interface, from C
--------------------------------------===*\
|* Trains y = 2 x by gradient descent, and makes every kind of mistake. *|
\*===------------------------------------------------------------------------===*/

#include "remat-c/Dialects.h"
#include "remat-c/Step.h"
#include "remat-c/Version.h"

#include <stdio.h>
#include <string.h>

static const char *const kModel =
    "#id = affine_map<(i) -> (i)>\n"
    "#scalar = affine_map<(i) -> ()>\n"
    "func.func @loss(%x: tensor<4xf32> {remat.data = \"x\"},\n"
    "                %y: tensor<4xf32> {remat.data = \"y\"},\n"
    "                %w: tensor<f32> {opt.param = \"w\", opt.init = "
    "\"zeros\"})\n"
    "    -> (tensor<f32>, tensor<4xf32>) {\n"
    "  %zero = arith.constant 0.0 : f32\n"
    "  %empty = tensor.empty() : tensor<4xf32>\n"
    "  %p = linalg.generic {indexing_maps = [#id, #scalar, #id],\n"
    "                       iterator_types = [\"parallel\"]}\n"
    "      ins(%x, %w : tensor<4xf32>, tensor<f32>)\n"
    "      outs(%empty : tensor<4xf32>) {\n"
    "  ^bb0(%a: f32, %b: f32, %o: f32):\n"
    "    %m = arith.mulf %a, %b : f32\n"
    "    linalg.yield %m : f32\n"
    "  } -> tensor<4xf32>\n"
    "  %scalar = tensor.empty() : tensor<f32>\n"
    "  %start = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>)\n"
    "      -> tensor<f32>\n"
    "  %loss = linalg.generic {indexing_maps = [#id, #id, #scalar],\n"
    "                          iterator_types = [\"reduction\"]}\n"
    "      ins(%p, %y : tensor<4xf32>, tensor<4xf32>)\n"
    "      outs(%start : tensor<f32>) {\n"
    "  ^bb0(%a: f32, %b: f32, %sum: f32):\n"
    "    %d = arith.subf %a, %b : f32\n"
    "    %s = arith.mulf %d, %d : f32\n"
    "    %r = arith.addf %sum, %s : f32\n"
    "    linalg.yield %r : f32\n"
    "  } -> tensor<f32>\n"
    "  return %loss, %p : tensor<f32>, tensor<4xf32>\n"
    "}\n";

static void print(MlirStringRef text, void *userData) {
  (void)userData;
  printf("%.*s\n", (int)text.length, text.data);
}

static void printDiagnostic(const RematDiagnostic *diagnostic, void *userData) {
  (void)userData;
  printf("%.*s:%d:%d: ", (int)diagnostic->file.length, diagnostic->file.data,
         (int)diagnostic->line, (int)diagnostic->column);
  if (diagnostic->code.length)
    printf("[%.*s] ", (int)diagnostic->code.length, diagnostic->code.data);
  print(diagnostic->message, NULL);
}

static RematStepOptions getOptions(const char *optimizer) {
  RematStepOptions options = rematStepOptionsGetDefault();
  options.text = mlirStringRefCreate(kModel, strlen(kModel));
  options.fileName = mlirStringRefCreate("line.mlir", strlen("line.mlir"));
  options.optimizer = mlirStringRefCreate(optimizer, strlen(optimizer));
  return options;
}

static void compile(RematStepOptions options) {
  RematStep step = rematStepCompile(&options, printDiagnostic, NULL);
  printf("%s\n", rematStepIsNull(step) ? "refused" : "compiled");
  if (!rematStepIsNull(step))
    rematStepDestroy(step);
}

static void printArgument(RematArgument argument) {
  printf("role %d, type %d, rank %d, %d bytes, %s: ", argument.role,
         argument.type, (int)argument.rank, (int)argument.numBytes,
         argument.data ? "owned" : "passed");
  print(argument.name, NULL);
}

static void train(void) {
  RematStepOptions options = getOptions("#opt.sgd<lr = 0.01, momentum = 0.5>");
  RematStep step = rematStepCompile(&options, printDiagnostic, NULL);
  for (intptr_t i = 0; i < rematStepGetNumArguments(step); ++i)
    printArgument(rematStepGetArgument(step, i));
  printf("%d results\n", (int)rematStepGetNumResults(step));
  float x[4] = {1, 2, 3, 4}, y[4] = {2, 4, 6, 8};
  RematInput data[] = {{x, false}, {y, false}};
  for (int i = 0; i < 40; ++i)
    if (mlirLogicalResultIsFailure(rematStepRun(step, 2, data, print, NULL)))
      printf("failed\n");
  printf("after %d steps, w = %.3f\n", (int)rematStepGetNumber(step),
         *(const float *)rematStepGetArgument(step, 2).data);
  const float *p = rematStepGetArgument(step, rematStepGetResult(step, 1)).data;
  printf("p = %.2f %.2f\n", p[0], p[3]);

  rematStepRun(step, 1, data, print, NULL);
  RematInput odd[] = {{(const char *)x + 1, false}, {y, false}};
  rematStepRun(step, 2, odd, print, NULL);
  printf("still step %d\n", (int)rematStepGetNumber(step));
  rematStepDestroy(step);
}

/* The loss itself, in a module of its own, and on the arguments of the step. */
static void evaluate(void) {
  RematStepOptions options = getOptions("#opt.sgd<lr = 0.01>");
  options.evalText = options.text;
  options.evalFileName = mlirStringRefCreate("eval.mlir", 9);
  RematStep step = rematStepCompile(&options, printDiagnostic, NULL);
  for (intptr_t i = 0; i < rematStepGetNumArguments(step); ++i)
    if (rematStepGetArgument(step, i).role == RematRoleEvaluationData)
      printArgument(rematStepGetArgument(step, i));
  float x[4] = {1, 2, 3, 4}, y[4] = {2, 4, 6, 8};
  RematInput data[] = {{x, false}, {y, false}};
  rematStepEvaluate(step, 2, data, print, NULL);
  intptr_t loss = rematStepGetEvaluationResult(step, 0);
  printf("loss %.1f of %d results, step %d\n",
         *(const float *)rematStepGetArgument(step, loss).data,
         (int)rematStepGetNumEvaluationResults(step),
         (int)rematStepGetNumber(step));
  rematStepDestroy(step);

  options = getOptions("#opt.sgd<lr = 0.01>");
  step = rematStepCompile(&options, printDiagnostic, NULL);
  rematStepEvaluate(step, 2, data, print, NULL);
  rematStepDestroy(step);
}

/* On an emulated GPU; x of one step is the prediction of the one before. */
static void trainOnDevice(void) {
  RematStepOptions options = getOptions("#opt.sgd<lr = 0.01>");
  options.trainOptions = mlirStringRefCreate("target=cuda emulate", 19);
  RematStep step = rematStepCompile(&options, printDiagnostic, NULL);
  RematDevice device = rematStepGetDevice(step);
  printf("kind %d, number %d, %s\n", device.kind, device.number,
         device.isEmulated ? "emulated" : "a GPU");
  rematStepDescribeDevice(step, print, NULL);
  float x[4] = {1, 2, 3, 4}, y[4] = {2, 4, 6, 8}, w = 1, p[4];
  RematArgument prediction =
      rematStepGetArgument(step, rematStepGetResult(step, 1));
  printf("the prediction is on the %s\n",
         prediction.isOnDevice ? "device" : "host");
  rematStepWrite(step, 2, &w, print, NULL);
  RematInput data[] = {{x, false}, {y, false}};
  RematInput own[] = {{prediction.data, true}, {y, false}};
  for (int i = 0; i < 4; ++i) {
    rematStepRun(step, 2, i == 0 ? data : own, print, NULL);
    rematStepRead(step, 2, &w, print, NULL);
    rematStepRead(step, rematStepGetResult(step, 1), p, print, NULL);
    printf("w = %.4f, p = %.4f\n", w, p[3]);
  }
  rematStepRead(step, 0, x, print, NULL);
  rematStepDestroy(step);
}

static bool count(MlirStringRef stage, void *stages) {
  (void)stage;
  return --*(int *)stages > 0;
}

/* Ends a compilation before a stage. */
static void stop(int stages) {
  RematStepOptions options = getOptions("#opt.sgd<lr = 0.01>");
  options.progress = count;
  options.progressData = &stages;
  compile(options);
  if (stages <= 0)
    printf("asked %d times more\n", -stages);
}

int main(void) {
  MlirStringRef version = rematGetVersion();
  printf("version %.*s\n", (int)version.length, version.data);
  // CHECK: version {{[0-9]+\.[0-9]+\.[0-9]+$}}
  rematDescribeDialects(print, NULL);
  // CHECK-NEXT: {"mnemonic":"nothing_saveable","parameters":"none"}
  // CHECK-SAME: {"mnemonic":"save_only_names","parameters":"names"}
  // CHECK-SAME: "rules":[{"class":"SGD",
  // CHECK-SAME: {"kind":"learning_rate","name":"lr"}
  // CHECK-SAME: {"default":0,"kind":"real","name":"momentum"}
  // CHECK-SAME: "schedules":[{"class":"Constant",
  // CHECK: role 4, type 7, rank 1, 16 bytes, passed: x
  // CHECK-NEXT: role 4, type 7, rank 1, 16 bytes, passed: y
  // CHECK-NEXT: role 0, type 7, rank 0, 4 bytes, owned: w
  // CHECK-NEXT: role 1, type 7, rank 0, 4 bytes, owned: w.momentum
  // CHECK: role 5, type 7, rank 0, 4 bytes, owned: loss
  // CHECK: role 5, type 7, rank 1, 16 bytes, owned: result1
  // CHECK: 2 results
  // CHECK-NEXT: after 40 steps, w = 2.000
  // CHECK-NEXT: p = 2.00 8.00
  // CHECK-NEXT: there must be 2 arrays of data, but got 1
  // CHECK-NEXT: the address of 'x' must be a multiple of 4
  // CHECK-NEXT: still step 40
  train();

  // CHECK-NEXT: role 7, type 7, rank 1, 16 bytes, passed: x
  // CHECK-NEXT: role 7, type 7, rank 1, 16 bytes, passed: y
  // CHECK-NEXT: loss 120.0 of 2 results, step 0
  // CHECK-NEXT: the step was compiled without an evaluation
  evaluate();

  // CHECK-NEXT: kind 2, number 0, emulated
  // CHECK-NEXT: remat emulated device (sm_90), driver for CUDA 13.0
  // CHECK-NEXT: the prediction is on the device
  // CHECK-NEXT: w = 1.6000, p = 4.0000
  // CHECK-NEXT: w = 1.8400, p = 6.4000
  // CHECK-NEXT: w = 0.9338, p = 11.7760
  // CHECK-NEXT: w = -0.3893, p = 10.9960
  // CHECK-NEXT: 'x' is data
  trainOnDevice();

  // CHECK-NEXT: refused
  // CHECK-NEXT: asked 0 times more
  // CHECK-NEXT: refused
  // CHECK-NEXT: asked 0 times more
  // CHECK-NEXT: refused
  // CHECK-NEXT: asked 0 times more
  // CHECK-NEXT: compiled
  stop(1);
  stop(30);
  stop(150);
  stop(100000);

  // CHECK-NEXT: line.mlir:0:0: the module does not say how it is trained: name
  // an optimizer, or add a remat.train_step CHECK-NEXT: refused
  compile(getOptions(""));
  // CHECK-NEXT: train step:1:{{[0-9]+}}: {{.*}}momentun{{.*}}
  // CHECK: refused
  compile(getOptions("#opt.sgd<lr = 0.1, momentun = 0.9>"));

  RematStepOptions options = getOptions("#opt.sgd<lr = 0.1>");
  options.text.length /= 2;
  // CHECK: line.mlir:{{[0-9]+}}:{{[0-9]+}}: {{.*}}
  // CHECK: refused
  compile(options);

  options = getOptions("#opt.sgd<lr = 0.1>");
  options.function = mlirStringRefCreate("los", 3);
  // CHECK: the module has no public function @los with a body
  // CHECK-NEXT: line.mlir:3:1: @loss
  // CHECK-NEXT: refused
  compile(options);

  options = getOptions("#opt.sgd<lr = 0.1>");
  options.trainOptions = mlirStringRefCreate("polizy=none", 11);
  // CHECK: options 'polizy=none' of remat-train: {{.*}}polizy
  // CHECK-NEXT: refused
  compile(options);

  options = getOptions("#opt.sgd<lr = 0.1>");
  options.trainOptions = mlirStringRefCreate("target=tpu", 10);
  // CHECK: options 'target=tpu' of remat-train
  // CHECK: refused
  compile(options);

  options = getOptions("#opt.sgd<lr = 0.1>");
  options.trainOptions = mlirStringRefCreate("budget=16", 9);
  // CHECK: line.mlir:3:1: [budget-missed] 'step' does not fit a budget of 16
  // CHECK: refused
  compile(options);

  options = getOptions("#opt.sgd<lr = 0.1>");
  options.passes = mlirStringRefCreate("remat-anotate", 13);
  // CHECK: passes 'remat-anotate': {{.*}}
  // CHECK: refused
  compile(options);

  options = getOptions("#opt.sgd<lr = 0.1>");
  options.optimizationLevel = 4;
  // CHECK: the optimization level must be 0, 1, 2 or 3, but got 4
  // CHECK-NEXT: refused
  compile(options);

  options = getOptions("#opt.sgd<lr = 0.1>");
  // CHECK: all that its backward reads
  rematExplain(&options, printDiagnostic, NULL, print, NULL);

  // CHECK: {"step":"{{.*}}","evaluation":"","arguments":{{\[\["}}data","x","f32",[4],16],
  // CHECK-SAME: ["parameter","w","f32",[],4]
  // CHECK-SAME: ["result","loss","f32",[],4]
  // CHECK-SAME: "memory":"{\n  \"functions\": [
  rematReportMemory(&options, printDiagnostic, NULL, print, NULL);
  // CHECK-NEXT: line.mlir:0:0: the module does not say how it is trained
  options = getOptions("");
  rematReportMemory(&options, printDiagnostic, NULL, print, NULL);

  // CHECK: 1536 bytes
  // CHECK-NEXT: '0.5' is a fraction, but a number of bytes is needed
  // CHECK-NEXT: budget 'much' is neither a number of bytes
  int64_t bytes = 0;
  rematParseBytes(mlirStringRefCreate("1.5KiB", 6), &bytes, print, NULL);
  printf("%d bytes\n", (int)bytes);
  rematParseBytes(mlirStringRefCreate("0.5", 3), &bytes, print, NULL);
  rematParseBytes(mlirStringRefCreate("much", 4), &bytes, print, NULL);
  return 0;
}
