//===- BufferizableOpInterfaceImpl.h ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_REMAT_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
#define REMAT_DIALECT_REMAT_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;
namespace remat {
/// Teaches one-shot bufferization the operations of the remat dialect that are
/// left when it runs: barriers.
void registerBufferizableOpInterfaceModels(DialectRegistry &registry);
/// Registers how attention bufferizes: into its destinations.
void registerAttentionBufferization(DialectRegistry &registry);
/// Registers how collectives bufferize: into their destinations.
void registerCollectiveBufferization(DialectRegistry &registry);
/// Registers how convolutions bufferize: into their destinations.
void registerConvBufferization(DialectRegistry &registry);
/// Lets bufferization take linear time for loops inside of each other.
void registerLoopBufferization(DialectRegistry &registry);
/// Registers how remat.scatter_add bufferizes: it adds to its destination.
void registerScatterBufferization(DialectRegistry &registry);
} // namespace remat
} // namespace mlir

#endif // REMAT_DIALECT_REMAT_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
