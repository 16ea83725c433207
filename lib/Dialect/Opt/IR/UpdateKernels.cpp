//===- UpdateKernels.cpp - What update rules are built from ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Dialect/Opt/IR/UpdateKernels.h"

#include "Storage.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::opt;

Value mlir::opt::convertFloat(OpBuilder &builder, Location loc, Value value,
                              Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (value.getType() == type)
    return value;
  if (from < to)
    return arith::ExtFOp::create(builder, loc, type, value);
  if (from > to)
    return arith::TruncFOp::create(builder, loc, type, value);
  // f16 to bf16 or back.
  Value wide = arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
  return arith::TruncFOp::create(builder, loc, type, wide);
}

//===----------------------------------------------------------------------===//
// Formula
//===----------------------------------------------------------------------===//

Value Formula::sign(Value a) {
  Value zero = number(0, a.getType());
  auto select = [&](arith::CmpFPredicate predicate, double then, Value or_) {
    Value condition = arith::CmpFOp::create(builder, loc, predicate, a, zero);
    return arith::SelectOp::create(builder, loc, condition,
                                   number(then, a.getType()), or_);
  };
  return select(arith::CmpFPredicate::OGT, 1,
                select(arith::CmpFPredicate::OLT, -1, a));
}

Value Formula::count(Value step) {
  Type f64 = builder.getF64Type();
  return add(arith::SIToFPOp::create(builder, loc, f64, step), number(1, f64));
}

Value Formula::biasCorrection(double base, Value step) {
  Type f64 = builder.getF64Type();
  Value steps = count(step);
  Value power = math::PowFOp::create(builder, loc, number(base, f64), steps);
  return sub(number(1, f64), power);
}

//===----------------------------------------------------------------------===//
// Values that several tensors hold
//===----------------------------------------------------------------------===//

Value mlir::opt::joinStored(OpBuilder &builder, Location loc,
                            RankedTensorType type, ValueRange parts) {
  return UnrealizedConversionCastOp::create(builder, loc, type, parts)
      .getResult(0);
}

/// The operands of the cast that makes `value`, or itself.
static SmallVector<Value> getParts(Value value) {
  if (!isa<BlockwiseType, StochasticType, CompensatedType>(
          getElementTypeOrSelf(value.getType())))
    return {value};
  auto cast = value.getDefiningOp<UnrealizedConversionCastOp>();
  return llvm::to_vector_of<Value>(cast.getInputs());
}

SmallVector<Value> mlir::opt::splitStored(Value value) {
  SmallVector<Value> parts = getParts(value);
  llvm::erase_if(
      parts, [](Value part) { return !isa<RankedTensorType>(part.getType()); });
  return parts;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

namespace {
/// The elements that a kernel goes through: those of tensors of one shape, or
/// of as many blocks, in each `width` elements from the one at `column` on. The
/// tensors are flat then.
struct View {
  SmallVector<int64_t> shape;
  int64_t blockSize = 0;
  int64_t firstBlock = 0, numBlocks = 0, column = 0, width = 0;

  bool isOfBlocks() const { return blockSize != 0; }
  int64_t getRank() const { return isOfBlocks() ? 2 : shape.size(); }
  /// Which bits of their bytes codes are in.
  unsigned getShift() const { return column == 0 ? 0 : 4; }

  /// The view of `tensor`, and `tensor` with another view.
  Value take(OpBuilder &builder, Location loc, Value tensor) const;
  Value put(OpBuilder &builder, Location loc, Value part, Value tensor) const;
  /// Those of codes and of scales, which have a row for each block.
  Value takeBlocks(OpBuilder &builder, Location loc, Value tensor) const;
  Value putBlocks(OpBuilder &builder, Location loc, Value part,
                  Value tensor) const;
  /// The number (i64) of the element at a point of the loops.
  Value emitElement(OpBuilder &builder, Location loc) const;

private:
  SmallVector<int64_t> getBlockSizes(Value tensor) const;
};
} // namespace

static ArrayRef<int64_t> getShape(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}

static SmallVector<Range> getRanges(OpBuilder &builder,
                                    ArrayRef<int64_t> offsets,
                                    ArrayRef<int64_t> sizes) {
  SmallVector<Range> ranges;
  for (auto [offset, size] : llvm::zip_equal(offsets, sizes))
    ranges.push_back({builder.getIndexAttr(offset), builder.getIndexAttr(size),
                      builder.getIndexAttr(1)});
  return ranges;
}

/// Slices that are all of `tensor` are no slices.
static Value takeSlice(OpBuilder &builder, Location loc, Value tensor,
                       ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes) {
  if (getShape(tensor) == sizes)
    return tensor;
  return tensor::ExtractSliceOp::create(builder, loc, tensor,
                                        getRanges(builder, offsets, sizes));
}
static Value putSlice(OpBuilder &builder, Location loc, Value part,
                      Value tensor, ArrayRef<int64_t> offsets) {
  if (getShape(tensor) == getShape(part))
    return part;
  return tensor::InsertSliceOp::create(
      builder, loc, part, tensor, getRanges(builder, offsets, getShape(part)));
}

/// `tensor` in another shape of as many elements, one of which has at most one
/// dimension.
static Value reshapeTensor(OpBuilder &builder, Location loc, Value tensor,
                           ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getShape() == shape)
    return tensor;
  bool isSplit = static_cast<size_t>(type.getRank()) < shape.size();
  int64_t rank = std::max<int64_t>(type.getRank(), shape.size());
  SmallVector<ReassociationIndices> groups;
  if (type.getRank() != 0 && !shape.empty())
    groups.push_back(llvm::to_vector<2>(llvm::seq<int64_t>(rank)));
  if (isSplit)
    return tensor::ExpandShapeOp::create(builder, loc, type.clone(shape),
                                         tensor, groups);
  return tensor::CollapseShapeOp::create(builder, loc, type.clone(shape),
                                         tensor, groups);
}

Value View::take(OpBuilder &builder, Location loc, Value tensor) const {
  if (!isOfBlocks())
    return tensor;
  int64_t start = firstBlock * blockSize + column;
  if (numBlocks == 1)
    return reshapeTensor(builder, loc,
                         takeSlice(builder, loc, tensor, start, width),
                         {1, width});
  Value blocks = takeSlice(builder, loc, tensor, firstBlock * blockSize,
                           numBlocks * blockSize);
  blocks = reshapeTensor(builder, loc, blocks, {numBlocks, blockSize});
  return takeSlice(builder, loc, blocks, {0, column}, {numBlocks, width});
}

Value View::put(OpBuilder &builder, Location loc, Value part,
                Value tensor) const {
  if (!isOfBlocks())
    return part;
  int64_t start = firstBlock * blockSize + column;
  if (numBlocks == 1)
    return putSlice(builder, loc, reshapeTensor(builder, loc, part, width),
                    tensor, start);
  View blocks = *this;
  blocks.column = 0;
  blocks.width = blockSize;
  part = putSlice(builder, loc, part, blocks.take(builder, loc, tensor),
                  {0, column});
  return putSlice(builder, loc,
                  reshapeTensor(builder, loc, part, numBlocks * blockSize),
                  tensor, firstBlock * blockSize);
}

SmallVector<int64_t> View::getBlockSizes(Value tensor) const {
  if (getShape(tensor).size() == 1)
    return {numBlocks};
  return {numBlocks, width};
}

Value View::takeBlocks(OpBuilder &builder, Location loc, Value tensor) const {
  SmallVector<int64_t> sizes = getBlockSizes(tensor);
  return takeSlice(builder, loc, tensor,
                   ArrayRef<int64_t>({firstBlock, 0}).take_front(sizes.size()),
                   sizes);
}

Value View::putBlocks(OpBuilder &builder, Location loc, Value part,
                      Value tensor) const {
  return putSlice(
      builder, loc, part, tensor,
      ArrayRef<int64_t>({firstBlock, 0}).take_front(getShape(tensor).size()));
}

Value View::emitElement(OpBuilder &builder, Location loc) const {
  SmallVector<int64_t> sizes = shape;
  if (isOfBlocks())
    sizes = {numBlocks, blockSize};
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value element = constant(isOfBlocks() ? firstBlock * blockSize + column : 0);
  int64_t stride = 1;
  for (int64_t loop = getRank() - 1; loop >= 0; --loop) {
    Value index = linalg::IndexOp::create(builder, loc, loop);
    if (stride != 1)
      index = arith::MulIOp::create(builder, loc, index, constant(stride));
    element = arith::AddIOp::create(builder, loc, element, index);
    stride *= sizes[loop];
  }
  return arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                    element);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {
/// A number that a kernel reads or overwrites, as the rule knows it, and what
/// holds it.
struct Operand {
  Operand(Value value, std::optional<SmallVector<unsigned>> loops = {})
      : type(value.getType()), loops(std::move(loops)), parts(getParts(value)) {
  }

  Type type;
  std::optional<SmallVector<unsigned>> loops;
  SmallVector<Value> parts;
  /// Of an operand that is overwritten and quantized: its new scales.
  Value newScales;

  Type getElementType() const { return getElementTypeOrSelf(type); }
  BlockwiseType getBlocks() const {
    return dyn_cast<BlockwiseType>(getElementType());
  }
  /// Returns true if it is a tensor over all loops.
  bool isWhole() const {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() != 0 && !loops;
  }
};

/// A linalg.generic in the making: its operands, then its body.
class Kernel {
public:
  /// Where the body finds a number.
  struct Number {
    Type element;
    SmallVector<std::pair<bool, unsigned>, 2> arguments;
    /// Further inputs, for its next value.
    SmallVector<std::pair<bool, unsigned>, 2> inputs;
  };

  Kernel(OpBuilder &builder, Location loc, const View &view, Type type)
      : builder(builder), loc(loc), view(view), type(type) {}

  Number read(const Operand &operand) { return add(operand, false); }
  Number overwrite(const Operand &operand) { return add(operand, true); }
  /// An output that the body has as it is.
  Number addOutput(Value init, AffineMap map) {
    return {
        getElementTypeOrSelf(init.getType()), {addTensor(true, init, map)}, {}};
  }
  AffineMap getMap(ArrayRef<unsigned> loops) const;

  /// Builds the operation around what `emitBody` yields. The body is built in
  /// place: what it refers to by symbols is looked up from there.
  linalg::GenericOp
  create(ArrayRef<utils::IteratorType> iterators,
         function_ref<SmallVector<Value>(Formula &)> emitBody);

  /// In the body: the number in the type of the rule, and what is stored for
  /// its next value.
  Value load(Formula &f, const Number &number);
  SmallVector<Value> store(Formula &f, const Number &number, Value next);
  Value get(const Number &number) { return get(number.arguments[0]); }

private:
  using Reference = std::pair<bool, unsigned>;

  Number add(const Operand &operand, bool isOutput);
  Reference addTensor(bool isOutput, Value value, AffineMap map);
  Value get(Reference reference) const {
    return arguments[(reference.first ? ins.size() : 0) + reference.second];
  }

  OpBuilder &builder;
  Location loc;
  const View &view;
  Type type;
  SmallVector<Value> ins, outs;
  SmallVector<AffineMap> inMaps, outMaps;
  SmallVector<Value> arguments;
};
} // namespace

AffineMap Kernel::getMap(ArrayRef<unsigned> loops) const {
  SmallVector<AffineExpr> exprs;
  for (unsigned loop : loops)
    exprs.push_back(builder.getAffineDimExpr(loop));
  return AffineMap::get(view.getRank(), /*symbolCount=*/0, exprs,
                        builder.getContext());
}

Kernel::Reference Kernel::addTensor(bool isOutput, Value value, AffineMap map) {
  (isOutput ? outs : ins).push_back(value);
  (isOutput ? outMaps : inMaps).push_back(map);
  return {isOutput, (isOutput ? outs : ins).size() - 1};
}

Kernel::Number Kernel::add(const Operand &operand, bool isOutput) {
  Number number{operand.getElementType(), {}, {}};
  AffineMap all = builder.getMultiDimIdentityMap(view.getRank());
  if (operand.getBlocks()) {
    AffineMap rows = getMap(0);
    auto takeScales = [&](Value scales) {
      return addTensor(false, view.takeBlocks(builder, loc, scales), rows);
    };
    number.arguments.push_back(addTensor(
        isOutput, view.takeBlocks(builder, loc, operand.parts[0]), all));
    number.arguments.push_back(takeScales(operand.parts[1]));
    if (isOutput)
      number.inputs.push_back(takeScales(operand.newScales));
    return number;
  }
  for (Value part : operand.parts) {
    auto tensor = dyn_cast<RankedTensorType>(part.getType());
    if (!tensor && tensor != operand.type && operand.parts.size() > 1) {
      // Key and step, which only a new value needs.
      if (isOutput)
        number.inputs.push_back(addTensor(false, part, getMap({})));
      continue;
    }
    bool isWhole = tensor && tensor.getRank() != 0 && !operand.loops;
    AffineMap map = operand.loops ? getMap(*operand.loops)
                    : isWhole     ? all
                                  : getMap({});
    number.arguments.push_back(addTensor(
        isOutput, isWhole ? view.take(builder, loc, part) : part, map));
  }
  return number;
}

linalg::GenericOp
Kernel::create(ArrayRef<utils::IteratorType> iterators,
               function_ref<SmallVector<Value>(Formula &)> emitBody) {
  SmallVector<AffineMap> maps(inMaps);
  llvm::append_range(maps, outMaps);
  auto kernel = linalg::GenericOp::create(
      builder, loc, TypeRange(ValueRange(outs)), ins, outs, maps, iterators);
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Type> types;
  for (Value operand : kernel->getOperands())
    types.push_back(getElementTypeOrSelf(operand.getType()));
  Block *block = builder.createBlock(&kernel.getRegion(), {}, types,
                                     SmallVector<Location>(types.size(), loc));
  arguments = llvm::to_vector_of<Value>(block->getArguments());
  Formula formula{builder, loc};
  linalg::YieldOp::create(builder, loc, emitBody(formula));
  return kernel;
}

Value Kernel::load(Formula &f, const Number &number) {
  auto convert = [&](Reference reference) {
    Value value = get(reference);
    return isa<FloatType>(value.getType())
               ? convertFloat(f.builder, f.loc, value, type)
               : value;
  };
  if (auto blocks = dyn_cast<BlockwiseType>(number.element)) {
    Value value =
        f.mul(emitDecode(f, blocks, get(number.arguments[0]), view.getShift()),
              get(number.arguments[1]));
    return convertFloat(f.builder, f.loc, value, type);
  }
  Value value = convert(number.arguments[0]);
  if (isa<CompensatedType>(number.element))
    value = f.add(value, convert(number.arguments[1]));
  return value;
}

SmallVector<Value> Kernel::store(Formula &f, const Number &number, Value next) {
  OpBuilder &b = f.builder;
  Value old = get(number.arguments[0]);
  if (auto blocks = dyn_cast<BlockwiseType>(number.element)) {
    // A scale is the same for all of a row, and so is what is computed of it.
    Value inverse = f.div(f.number(1, b.getF32Type()), get(number.inputs[0]));
    Value ratio = f.mul(convertFloat(b, f.loc, next, b.getF32Type()), inverse);
    return {emitInsertCode(f, blocks, old, emitEncode(f, blocks, ratio),
                           view.getShift())};
  }
  if (isa<StochasticType>(number.element))
    return {emitRoundStochastically(
        f, convertFloat(b, f.loc, next, b.getF32Type()), get(number.inputs[0]),
        get(number.inputs[1]), view.emitElement(b, f.loc))};
  Value rounded = convertFloat(b, f.loc, next, old.getType());
  if (!isa<CompensatedType>(number.element))
    return {rounded};
  Value lost = f.sub(next, convertFloat(b, f.loc, rounded, type));
  return {rounded, convertFloat(b, f.loc, lost, old.getType())};
}

/// Lets `visit` add up, or overwrite, all elements block by block: whole blocks
/// together, then the rest. `finish` comes after all columns of some blocks.
static void forEachView(int64_t numElements, BlockwiseType blocks,
                        function_ref<void(ArrayRef<View>)> visit) {
  int64_t size = blocks.getBlock();
  int64_t columns = blocks.getBytesPerBlock();
  auto visitBlocks = [&](int64_t first, int64_t count, int64_t length) {
    SmallVector<View> views;
    for (int64_t column = 0; column < length && count > 0; column += columns)
      views.push_back(View{
          {}, size, first, count, column, std::min(columns, length - column)});
    if (!views.empty())
      visit(views);
  };
  int64_t whole = numElements / size;
  visitBlocks(0, whole, size);
  visitBlocks(whole, 1, numElements % size);
}

static SmallVector<utils::IteratorType> getIterators(int64_t rank,
                                                     utils::IteratorType kind) {
  return SmallVector<utils::IteratorType>(rank, kind);
}

namespace {
/// A map, on all elements or part by part.
struct MapEmitter {
  OpBuilder &builder;
  Location loc;
  Type type;
  SmallVector<Operand> inputs, inits;
  UpdateKernels::Body body;

  BlockwiseType findBlocks() const {
    for (const Operand &operand : llvm::concat<const Operand>(inputs, inits))
      if (BlockwiseType blocks = operand.getBlocks())
        return blocks;
    return {};
  }
  void overwrite(const View &view);
  void findScales(const View &view);
  void flatten();
  SmallVector<Value> join();
};
} // namespace

/// One kernel that overwrites the view of all inits.
void MapEmitter::overwrite(const View &view) {
  Kernel kernel(builder, loc, view, type);
  SmallVector<Kernel::Number> numbers, results;
  for (const Operand &input : inputs)
    numbers.push_back(kernel.read(input));
  for (const Operand &init : inits)
    results.push_back(kernel.overwrite(init));
  llvm::append_range(numbers, results);
  linalg::GenericOp op = kernel.create(
      getIterators(view.getRank(), utils::IteratorType::parallel),
      [&](Formula &f) {
        SmallVector<Value> values =
            llvm::map_to_vector(numbers, [&](const Kernel::Number &number) {
              return kernel.load(f, number);
            });
        SmallVector<Value> stored;
        for (auto [number, next] : llvm::zip_equal(results, body(f, values)))
          llvm::append_range(stored, kernel.store(f, number, next));
        return stored;
      });
  unsigned next = 0;
  for (Operand &init : inits) {
    if (init.getBlocks()) {
      init.parts[0] =
          view.putBlocks(builder, loc, op.getResult(next++), init.parts[0]);
      continue;
    }
    for (Value &part : init.parts)
      if (isa<RankedTensorType>(part.getType()))
        part = view.put(builder, loc, op.getResult(next++), part);
  }
}

/// The largest magnitudes of the blocks, beside those that are known.
void MapEmitter::findScales(const View &view) {
  Kernel kernel(builder, loc, view, type);
  SmallVector<Kernel::Number> numbers, scales;
  for (const Operand &operand : llvm::concat<const Operand>(inputs, inits))
    numbers.push_back(kernel.read(operand));
  for (const Operand &init : inits)
    if (init.getBlocks())
      scales.push_back(kernel.addOutput(
          view.takeBlocks(builder, loc, init.newScales), kernel.getMap(0)));
  linalg::GenericOp op = kernel.create(
      {utils::IteratorType::parallel, utils::IteratorType::reduction},
      [&](Formula &f) {
        SmallVector<Value> values =
            llvm::map_to_vector(numbers, [&](const Kernel::Number &number) {
              return kernel.load(f, number);
            });
        SmallVector<Value> largest;
        for (auto [init, next] : llvm::zip_equal(inits, body(f, values))) {
          if (!init.getBlocks())
            continue;
          Value size = math::AbsFOp::create(builder, loc, next);
          size = convertFloat(builder, loc, size, builder.getF32Type());
          largest.push_back(arith::MaximumFOp::create(
              builder, loc, kernel.get(scales[largest.size()]), size));
        }
        return largest;
      });
  unsigned next = 0;
  for (Operand &init : inits)
    if (init.getBlocks())
      init.newScales =
          view.putBlocks(builder, loc, op.getResult(next++), init.newScales);
}

static void flatten(OpBuilder &builder, Location loc, Operand &operand) {
  if (operand.getBlocks())
    return;
  assert(!operand.loops && "has loops of its own beside quantized tensors");
  for (Value &part : operand.parts)
    if (auto tensor = dyn_cast<RankedTensorType>(part.getType());
        tensor && operand.isWhole())
      part = reshapeTensor(builder, loc, part, tensor.getNumElements());
}

/// Returns the new values as the rule knows them, one each.
SmallVector<Value> MapEmitter::join() {
  return llvm::map_to_vector(inits, [&](Operand &init) -> Value {
    auto tensor = cast<RankedTensorType>(init.type);
    if (init.newScales)
      init.parts[1] = init.newScales;
    else if (!init.getBlocks())
      for (Value &part : init.parts)
        if (isa<RankedTensorType>(part.getType()))
          part = reshapeTensor(builder, loc, part, tensor.getShape());
    if (init.parts.size() == 1)
      return init.parts[0];
    return joinStored(builder, loc, tensor, init.parts);
  });
}

static SmallVector<Operand> getOperands(ArrayRef<KernelInput> inputs) {
  return llvm::map_to_vector(inputs, [](const KernelInput &input) {
    return Operand(input.value, input.loops);
  });
}

SmallVector<Value> UpdateKernels::map(ArrayRef<KernelInput> inputs,
                                      ValueRange inits, Body body) {
  MapEmitter emitter{builder, loc, type, getOperands(inputs), {}, body};
  for (Value init : inits)
    emitter.inits.emplace_back(init);
  auto whole = cast<RankedTensorType>(inits.front().getType());
  BlockwiseType blocks = emitter.findBlocks();
  if (!blocks) {
    emitter.overwrite(View{llvm::to_vector(whole.getShape())});
    return emitter.join();
  }
  for (Operand &operand : emitter.inputs)
    flatten(builder, loc, operand);
  bool findsScales = false;
  for (Operand &init : emitter.inits) {
    if (!init.getBlocks()) {
      // A parameter of one element has no dimension, but is no number.
      for (Value &part : init.parts)
        if (isa<RankedTensorType>(part.getType()))
          part = reshapeTensor(builder, loc, part, whole.getNumElements());
      continue;
    }
    findsScales = true;
    Value empty = tensor::EmptyOp::create(builder, loc, getShape(init.parts[1]),
                                          builder.getF32Type());
    Value zero = Formula{builder, loc}.number(0, builder.getF32Type());
    init.newScales =
        linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
  }
  forEachView(whole.getNumElements(), blocks, [&](ArrayRef<View> views) {
    if (findsScales)
      for (const View &view : views)
        emitter.findScales(view);
    for (const View &view : views)
      emitter.overwrite(view);
  });
  return emitter.join();
}

Value UpdateKernels::sum(ArrayRef<KernelInput> inputs, Term term,
                         ArrayRef<unsigned> kept) {
  Value shape = inputs.front().value;
  auto whole = cast<RankedTensorType>(shape.getType());
  Type f64 = builder.getF64Type();
  SmallVector<Operand> operands = getOperands(inputs);
  auto addUp = [&](const View &view, Value sums) {
    SmallVector<utils::IteratorType> iterators =
        getIterators(view.getRank(), utils::IteratorType::reduction);
    for (unsigned loop : kept)
      iterators[loop] = utils::IteratorType::parallel;
    Kernel kernel(builder, loc, view, type);
    SmallVector<Kernel::Number> numbers;
    for (const Operand &operand : operands)
      numbers.push_back(kernel.read(operand));
    Kernel::Number sum = kernel.addOutput(sums, kernel.getMap(kept));
    return kernel
        .create(iterators,
                [&](Formula &f) {
                  Value next =
                      term(f, llvm::map_to_vector(
                                  numbers, [&](const Kernel::Number &number) {
                                    return kernel.load(f, number);
                                  }));
                  next = convertFloat(builder, loc, next, f64);
                  return SmallVector<Value>{f.add(kernel.get(sum), next)};
                })
        .getResult(0);
  };
  SmallVector<OpFoldResult> sizes;
  for (unsigned loop : kept)
    sizes.push_back(tensor::getMixedSize(builder, loc, shape, loop));
  Value zero = Formula{builder, loc}.number(0, f64);
  Value empty = tensor::EmptyOp::create(builder, loc, sizes, f64);
  Value sums = linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
  auto quantized = llvm::find_if(operands, [](const Operand &operand) {
    return static_cast<bool>(operand.getBlocks());
  });
  if (quantized == operands.end()) {
    sums = addUp(View{llvm::to_vector(whole.getShape())}, sums);
  } else {
    assert(kept.empty() && "sums of quantized tensors are scalars");
    for (Operand &operand : operands)
      flatten(builder, loc, operand);
    forEachView(whole.getNumElements(), quantized->getBlocks(),
                [&](ArrayRef<View> views) {
                  for (const View &view : views)
                    sums = addUp(view, sums);
                });
  }
  if (!kept.empty())
    return sums;
  return tensor::ExtractOp::create(builder, loc, sums, ValueRange{});
}

Value UpdateKernels::drawSigns(int64_t rows, int64_t columns, Type element,
                               Value key, Value epoch) {
  int64_t shape[] = {rows, columns};
  Value init = tensor::EmptyOp::create(builder, loc, shape, element);
  View view{llvm::to_vector(shape)};
  Kernel kernel(builder, loc, view, type);
  Kernel::Number keyNumber = kernel.read(Operand(key)),
                 epochNumber = kernel.read(Operand(epoch));
  (void)kernel.addOutput(init, builder.getMultiDimIdentityMap(2));
  return kernel
      .create(getIterators(2, utils::IteratorType::parallel),
              [&](Formula &f) {
                auto getIndex = [&](int64_t loop) -> Value {
                  return arith::IndexCastOp::create(
                      builder, loc, builder.getI64Type(),
                      linalg::IndexOp::create(builder, loc, loop));
                };
                return SmallVector<Value>{emitSign(
                    f, element, kernel.get(keyNumber), kernel.get(epochNumber),
                    getIndex(0), getIndex(1))};
              })
      .getResult(0);
}

Value UpdateKernels::multiply(Value a, Value b, bool transposesA,
                              bool transposesB) {
  AffineExpr i, j, k;
  bindDims(builder.getContext(), i, j, k);
  auto getMap = [&](AffineExpr row, AffineExpr column) {
    return AffineMap::get(3, 0, {row, column}, builder.getContext());
  };
  AffineMap maps[] = {transposesA ? getMap(k, i) : getMap(i, k),
                      transposesB ? getMap(j, k) : getMap(k, j), getMap(i, j)};
  int64_t shape[] = {getShape(a)[transposesA], getShape(b)[!transposesB]};
  Value empty = tensor::EmptyOp::create(builder, loc, shape, type);
  Value zero = Formula{builder, loc}.number(0, type);
  Value init = linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
  SmallVector<utils::IteratorType> iterators =
      getIterators(3, utils::IteratorType::parallel);
  iterators.back() = utils::IteratorType::reduction;
  auto emitBody = [&](OpBuilder &builder, Location loc, ValueRange arguments) {
    Formula f{builder, loc};
    Value term = f.mul(convertFloat(builder, loc, arguments[0], type),
                       convertFloat(builder, loc, arguments[1], type));
    Value sum = f.add(arguments[2], term);
    linalg::YieldOp::create(builder, loc, sum);
  };
  return linalg::GenericOp::create(builder, loc, init.getType(),
                                   ValueRange{a, b}, init, maps, iterators,
                                   emitBody)
      .getResult(0);
}

Value UpdateKernels::reshape(Value tensor, ArrayRef<int64_t> shape) {
  return reshapeTensor(builder, loc, tensor, shape);
}

Value UpdateKernels::count(Value tensor,
                           std::optional<ArrayRef<unsigned>> dims) {
  auto type = cast<RankedTensorType>(tensor.getType());
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, type.getRank()));
  Formula formula{builder, loc};
  Type f64 = builder.getF64Type();
  double constant = 1;
  Value dynamic;
  for (unsigned dim : dims.value_or(all)) {
    if (!type.isDynamicDim(dim)) {
      constant *= static_cast<double>(type.getDimSize(dim));
      continue;
    }
    Value size = arith::IndexCastOp::create(
        builder, loc, builder.getI64Type(),
        tensor::DimOp::create(builder, loc, tensor, dim));
    size = arith::SIToFPOp::create(builder, loc, f64, size);
    dynamic = dynamic ? formula.mul(dynamic, size) : size;
  }
  Value number = formula.number(constant, f64);
  return dynamic ? formula.mul(dynamic, number) : number;
}
