//===- remat-c/Export.h - A step as an object file and a header ---*- C -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For programs that train without this library, without LLVM and without
// Python: docs/ship.md.
//===----------------------------------------------------------------------===//

#ifndef REMAT_C_EXPORT_H
#define REMAT_C_EXPORT_H

#include "remat-c/Step.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum RematExportKind {
  /** `NAME.o` */
  RematExportObject,
  /** `NAME.a` */
  RematExportArchive,
  /** `libNAME.so`, which the C compiler `cc` of this machine links. */
  RematExportShared
} RematExportKind;

/** Where a step goes, and what runs it. Strings that are empty say nothing. */
typedef struct RematExportOptions {
  /** A folder, which is made if it is not there. */
  MlirStringRef folder;
  /** The beginning of all names: an identifier of C. */
  MlirStringRef name;
  RematExportKind kind;
  /** As LLVM has them, such as `x86_64-linux-gnu`, `haswell` and
   *  `+avx2,+fma`. Without a triple, all of this machine; with one, by default
   *  the processor that all of its kind can do. */
  MlirStringRef triple, processor, features;
  /** A step of the same model whose values and number of steps are written;
   *  null for what the model starts from. */
  RematStep values;
  /** A batch on the host for the files that test the step; null for one that
   *  is made up: zeros as integers, random floating-point numbers. */
  const RematInput *batch;
  intptr_t numBatch;
} RematExportOptions;

/** This machine's processor, and an object file. */
MLIR_CAPI_EXPORTED RematExportOptions rematExportOptionsGetDefault(void);

/** Compiles the step of a model for the CPU and writes it, its header, its
 *  values, an example with a test, a makefile and licenses to a folder.
 *  `callback` gets errors, warnings and remarks. */
MLIR_CAPI_EXPORTED MlirLogicalResult rematExport(
    const RematStepOptions *options, const RematExportOptions *exportOptions,
    RematDiagnosticCallback callback, void *userData);

#ifdef __cplusplus
}
#endif

#endif /* REMAT_C_EXPORT_H */
