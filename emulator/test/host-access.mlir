// The host reads a pointer to the device as if it were its own.

// RUN: not mlir-runner %s -e main --entry-point-result=void --shared-libs=%cuda_emulator,%emulator_launch 2>&1 | FileCheck %s
// CHECK: remat: error: emulator: the host touches device memory at allocation #2 of 1000 bytes + 12
// CHECK-NOT: Stack dump

llvm.func @emulator_touch_device_memory()
llvm.func @main() {
  llvm.call @emulator_touch_device_memory() : () -> ()
  llvm.return
}
