//===- ProductsTest.cpp - Matrix products by cuBLASLt ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The requests, then the emulated library on them: its checks fail the test if
// the runtime describes a product wrongly.
//===----------------------------------------------------------------------===//

#include "SessionTest.h"

#include <cmath>
#include <random>

using namespace remat;
using namespace remat::cuda;

using Descriptor = MemRef<char, 4>;

extern "C" {
void _mlir_ciface_remat_gemm_f32(const Descriptor *, const Descriptor *,
                                 const Descriptor *, int64_t);
void _mlir_ciface_remat_gemm_tf32(const Descriptor *, const Descriptor *,
                                  const Descriptor *, int64_t);
void _mlir_ciface_remat_gemm_f64(const Descriptor *, const Descriptor *,
                                 const Descriptor *, int64_t);
void _mlir_ciface_remat_gemm_bf16(const Descriptor *, const Descriptor *,
                                  const Descriptor *, int64_t);
void _mlir_ciface_remat_gemm_bf16_f32(const Descriptor *, const Descriptor *,
                                      const Descriptor *, int64_t);
void _mlir_ciface_remat_gemm_f16_f32(const Descriptor *, const Descriptor *,
                                     const Descriptor *, int64_t);
void _mlir_ciface_remat_cuda_begin_workspace(const MemRef<char, 1> *memory);
void _mlir_ciface_remat_cuda_end_workspace(const MemRef<char, 1> *memory);

/// As the emulated driver's, on the fake one.
__attribute__((visibility("default"))) CUresult remat_emu_enqueue(
    CUstream, CUresult (*run)(void *), void *data, void (*release)(void *)) {
  std::shared_ptr<void> owned(data, release);
  FakeDriver::get().enqueue([=] { run(owned.get()); });
  return CUDA_SUCCESS;
}
}

namespace {
constexpr ProductTypes kF32 = {CUDA_R_32F, CUDA_R_32F};

Descriptor describe(uint64_t address, std::array<int64_t, 4> sizes,
                    std::array<int64_t, 4> strides, int64_t offset = 0) {
  auto *data = reinterpret_cast<char *>(address);
  Descriptor result = {data, data, offset, {}, {}};
  std::copy_n(sizes.begin(), 4, result.sizes);
  std::copy_n(strides.begin(), 4, result.strides);
  return result;
}

Descriptor dense(uint64_t address, std::array<int64_t, 4> s) {
  return describe(address, s, {s[1] * s[2] * s[3], s[2] * s[3], s[3], 1});
}

TEST(MatrixProductTest, rowMajorIsTheTransposeOfColumnMajor) {
  ProductRequest r =
      makeProduct(kF32, dense(256, {1, 1, 3, 5}), dense(512, {1, 1, 5, 7}),
                  dense(1024, {1, 1, 3, 7}));
  ASSERT_EQ(r.calls.size(), 1u);
  EXPECT_EQ(r.calls[0].a, 512u);
  EXPECT_EQ(r.calls[0].b, 256u);
  EXPECT_EQ(r.calls[0].c, 1024u);
  EXPECT_EQ(r.shape.m, 7);
  EXPECT_EQ(r.shape.n, 3);
  EXPECT_EQ(r.shape.k, 5);
  EXPECT_EQ(r.shape.a.leadingDimension, 7);
  EXPECT_FALSE(r.shape.a.isTransposed);
  EXPECT_FALSE(r.shape.b.isTransposed);
  EXPECT_FALSE(r.shape.c.isTransposed);
  EXPECT_EQ(r.shape.str(), "7x3x5 in f32");
}

TEST(MatrixProductTest, denseBatchesAreOne) {
  ProductRequest r =
      makeProduct(kF32, dense(256, {2, 3, 4, 5}), dense(512, {2, 3, 5, 6}),
                  dense(1024, {2, 3, 4, 6}));
  EXPECT_EQ(r.calls.size(), 1u);
  EXPECT_EQ(r.shape.batch, 6);
  EXPECT_EQ(r.shape.b.batchStride, 20);
}

TEST(MatrixProductTest, anOperandOfAllProductsHasStride0) {
  ProductRequest r = makeProduct(kF32, dense(256, {2, 3, 4, 5}),
                                 describe(512, {2, 3, 5, 6}, {0, 0, 6, 1}),
                                 dense(1024, {2, 3, 4, 6}));
  EXPECT_EQ(r.calls.size(), 1u);
  EXPECT_EQ(r.shape.a.batchStride, 0);
}

TEST(MatrixProductTest, otherBatchesAreALoop) {
  // Heads of a sequence: (batch, head, time, width) in (batch, time, head).
  ProductRequest r = makeProduct(
      kF32, describe(256, {2, 3, 4, 5}, {60, 5, 15, 1}),
      describe(512, {2, 3, 5, 4}, {60, 5, 1, 15}), dense(1024, {2, 3, 4, 4}));
  ASSERT_EQ(r.calls.size(), 2u);
  EXPECT_EQ(r.shape.batch, 3);
  EXPECT_EQ(r.calls[1].b - r.calls[0].b, 240u);
  EXPECT_EQ(r.calls[1].c - r.calls[0].c, 192u);
  EXPECT_TRUE(r.shape.a.isTransposed);
  EXPECT_EQ(r.shape.a.leadingDimension, 15);
}

TEST(MatrixProductTest, alignmentIsThatOfThePlaceInTheBuffer) {
  auto alignmentAt = [](int64_t offset) {
    return makeProduct(kF32, describe(4096, {1, 1, 4, 4}, {0, 0, 8, 1}, offset),
                       dense(256, {1, 1, 4, 4}), dense(512, {1, 1, 4, 4}))
        .shape.b.alignment;
  };
  EXPECT_EQ(alignmentAt(0), 16);
  EXPECT_EQ(alignmentAt(1), 4);
  EXPECT_EQ(alignmentAt(2), 8);
  EXPECT_EQ(alignmentAt(4), 16);
}

TEST(MatrixProductTest, anEmptyResultTakesNoCall) {
  EXPECT_TRUE(makeProduct(kF32, dense(256, {1, 1, 0, 5}),
                          dense(512, {1, 1, 5, 7}), dense(1024, {1, 1, 0, 7}))
                  .calls.empty());
}

//===----------------------------------------------------------------------===//
// By the emulated library
//===----------------------------------------------------------------------===//

struct ProductsTest : SessionTest {
  void SetUp() override {
    setenv("REMAT_CUBLASLT", REMAT_EMULATED_CUBLASLT, 1);
    // The library's code runs on the host with the device's addresses.
    FakeDriver::deviceOffset = 0;
    SessionTest::SetUp();
  }
  void TearDown() override {
    SessionTest::TearDown();
    FakeDriver::deviceOffset = FakeDriver::kFaultingOffset;
    unsetenv("REMAT_CUBLASLT");
  }

  template <typename T> CUdeviceptr upload(const std::vector<T> &values) {
    size_t bytes = values.size() * sizeof(T);
    CUdeviceptr buffer = allocate(std::max<size_t>(bytes, 1));
    session().upload(buffer, values.data(), bytes);
    return buffer;
  }
  template <typename T>
  std::vector<T> download(CUdeviceptr from, size_t count) {
    std::vector<T> values(count);
    session().download(values.data(), from, count * sizeof(T));
    return values;
  }
  /// Small whole numbers, whose products and sums are exact in any type.
  template <typename T> std::vector<T> random(size_t count) {
    std::vector<T> values(count);
    for (T &value : values)
      value = T(int(generator() % 7) - 3);
    return values;
  }
  std::mt19937 generator{0};
};

int64_t at(const Descriptor &x, int64_t i, int64_t j, int64_t row,
           int64_t column) {
  return x.offset + i * x.strides[0] + j * x.strides[1] + row * x.strides[2] +
         column * x.strides[3];
}

template <typename T>
void multiplyHere(const Descriptor &a, const std::vector<T> &aData,
                  const Descriptor &b, const std::vector<T> &bData,
                  const Descriptor &c, std::vector<T> &cData, bool accumulate) {
  for (int64_t i = 0; i < c.sizes[0]; ++i)
    for (int64_t j = 0; j < c.sizes[1]; ++j)
      for (int64_t row = 0; row < c.sizes[2]; ++row)
        for (int64_t column = 0; column < c.sizes[3]; ++column) {
          T sum = accumulate ? cData[at(c, i, j, row, column)] : T(0);
          for (int64_t k = 0; k < a.sizes[3]; ++k)
            sum += aData[at(a, i, j, row, k)] * bData[at(b, i, j, k, column)];
          cData[at(c, i, j, row, column)] = sum;
        }
}

/// A matrix with room around it; transposed and with a shared batch by bits of
/// `flags`.
Descriptor layOut(std::array<int64_t, 4> s, int flags, int64_t padding) {
  bool isTransposed = flags & 1, isShared = flags & 2;
  int64_t lead = (isTransposed ? s[2] : s[3]) + padding;
  int64_t matrix = lead * (isTransposed ? s[3] : s[2]);
  int64_t batch = isShared ? 0 : matrix;
  return describe(
      0, s,
      {batch * s[1], batch, isTransposed ? 1 : lead, isTransposed ? lead : 1},
      padding);
}

TEST_F(ProductsTest, areTheNumbersForAllLayouts) {
  std::array<int64_t, 5> shapes[] = {
      {1, 1, 1, 1, 1}, {1, 1, 4, 5, 6}, {1, 3, 2, 7, 5}, {2, 3, 3, 1, 4},
      {2, 1, 1, 6, 3}, {2, 2, 5, 4, 1}, {1, 2, 3, 4, 0}, {3, 2, 16, 16, 33}};
  for (const auto &[outer, inner, m, n, k] : shapes)
    for (int flags = 0; flags < 64; ++flags) {
      int64_t padding = flags & 32 ? 3 : 0;
      Descriptor a = layOut({outer, inner, m, k}, flags, padding);
      Descriptor b = layOut({outer, inner, k, n}, flags >> 2, 0);
      Descriptor c = layOut({outer, inner, m, n}, flags >> 4 & 1, padding);
      auto aData = random<float>(4000), bData = random<float>(4000),
           cData = random<float>(4000);
      CUdeviceptr cBuffer = upload(cData);
      auto place = [](Descriptor &x, CUdeviceptr buffer) {
        x.allocated = x.aligned = reinterpret_cast<char *>(buffer);
      };
      place(a, upload(aData));
      place(b, upload(bData));
      place(c, cBuffer);
      for (bool accumulate : {false, true}) {
        _mlir_ciface_remat_gemm_f32(&a, &b, &c, accumulate);
        multiplyHere(a, aData, b, bData, c, cData, accumulate);
        ASSERT_EQ(download<float>(cBuffer, cData.size()), cData)
            << outer << " " << inner << " " << m << " " << n << " " << k << " "
            << flags << " " << accumulate;
      }
    }
}

TEST_F(ProductsTest, haveF64) {
  Descriptor a = dense(upload(random<double>(6)), {1, 1, 2, 3});
  Descriptor b = dense(upload(std::vector<double>(3, 1)), {1, 1, 3, 1});
  CUdeviceptr result = allocate(16);
  Descriptor c = dense(result, {1, 1, 2, 1});
  _mlir_ciface_remat_gemm_f64(&a, &b, &c, 0);
  auto values = download<double>(reinterpret_cast<CUdeviceptr>(a.aligned), 6);
  EXPECT_EQ(download<double>(result, 2)[1], values[3] + values[4] + values[5]);
}

TEST_F(ProductsTest, add16BitsInF32AndRoundOnce) {
  // 257 has no bf16, nor have the partial sums; their f32 sum is rounded once.
  constexpr uint16_t one = 0x3f80, oneF16 = 0x3c00;
  CUdeviceptr ones = upload(std::vector<uint16_t>(515, one));
  CUdeviceptr halves = upload(std::vector<uint16_t>(515, oneF16));
  CUdeviceptr wide = allocate(4), narrow = allocate(2);
  auto row = [&](CUdeviceptr x) { return dense(x, {1, 1, 1, 515}); };
  auto column = [&](CUdeviceptr x) { return dense(x, {1, 1, 515, 1}); };
  Descriptor a = row(ones), b = column(ones), aHalf = row(halves),
             bHalf = column(halves);
  Descriptor c = dense(wide, {1, 1, 1, 1}), d = dense(narrow, {1, 1, 1, 1});
  _mlir_ciface_remat_gemm_bf16_f32(&a, &b, &c, 0);
  _mlir_ciface_remat_gemm_bf16_f32(&a, &b, &c, 1);
  EXPECT_EQ(read<float>(wide), 1030);
  _mlir_ciface_remat_gemm_f16_f32(&aHalf, &bHalf, &c, 0);
  EXPECT_EQ(read<float>(wide), 515);
  _mlir_ciface_remat_gemm_bf16(&a, &b, &d, 0);
  EXPECT_EQ(read<uint16_t>(narrow), 0x4401) << "516";
  _mlir_ciface_remat_gemm_bf16(&a, &b, &d, 1);
  EXPECT_EQ(read<uint16_t>(narrow), 0x4481) << "1032, from 1031";
}

TEST_F(ProductsTest, roundFactorsToTF32WhereTheProgramSaysSo) {
  // 10 bits after the leading one: ties go to even, and the product is exact.
  const float step = 1.0f / 1024, nan = std::nanf("");
  CUdeviceptr x = upload(std::vector<float>{1 + step / 2, 3, 1 + step * 3 / 2,
                                            -3, nan, 1 + step / 4}),
              ones = upload(std::vector<float>{1, 1, 1});
  CUdeviceptr result = allocate(8);
  Descriptor a = dense(x, {1, 1, 2, 3}), b = dense(ones, {1, 1, 3, 1}),
             c = dense(result, {1, 1, 2, 1});
  _mlir_ciface_remat_gemm_tf32(&a, &b, &c, 0);
  EXPECT_EQ(read<float>(result), 1 + 3 + (1 + 2 * step));
  EXPECT_TRUE(std::isnan(download<float>(result, 2)[1]));
  _mlir_ciface_remat_gemm_f32(&a, &b, &c, 0);
  EXPECT_EQ(read<float>(result), 1 + step / 2 + 3 + (1 + step * 3 / 2));
}

TEST_F(ProductsTest, areReplayed) {
  CUdeviceptr x = upload(std::vector<float>(4, 1)), y = allocate(16);
  Descriptor a = dense(x, {1, 1, 2, 2}), c = dense(y, {1, 1, 2, 2});
  for (int i = 0; i < 5; ++i) {
    session().begin(Phase::step);
    _mlir_ciface_remat_gemm_f32(&a, &a, &c, 1);
    launch("add", "ps", {x, bits(1)});
    session().begin(Phase::none);
  }
  EXPECT_EQ(counts().replays, 3);
  EXPECT_EQ(counts().libraryCalls, 5);
  // x[0] is 1, 2, ..., 5: the sum of x[0]^2 + 1.
  EXPECT_EQ(read<float>(y), 60);
}

TEST_F(ProductsTest, takeTheProgramsWorkspace) {
  int64_t before = currentMemory(MemoryClass::other);
  CUdeviceptr x = upload(std::vector<float>(4, 1)), y = allocate(16);
  Descriptor a = dense(x, {1, 1, 2, 2}), c = dense(y, {1, 1, 2, 2});
  CUdeviceptr workspace = allocate(8192);
  auto *pointer = static_cast<char *>(toPointer(workspace));
  MemRef<char, 1> memory = {pointer, pointer, 0, {8192}, {1}};
  _mlir_ciface_remat_cuda_begin_workspace(&memory);
  _mlir_ciface_remat_gemm_f32(&a, &a, &c, 0);
  _mlir_ciface_remat_cuda_end_workspace(&memory);
  EXPECT_EQ(read<float>(y), 2);
  EXPECT_EQ(currentMemory(MemoryClass::other) - before, 8192 + 32);
  EXPECT_TRUE(std::isnan(read<float>(workspace))) << "algorithms write to it";
}

TEST_F(ProductsTest, haveAWorkspaceThatIsCounted) {
  int64_t before = currentMemory(MemoryClass::other);
  CUdeviceptr x = upload(std::vector<float>(4, 1)), y = allocate(16);
  Descriptor a = dense(x, {1, 1, 2, 2}), c = dense(y, {1, 1, 2, 2});
  _mlir_ciface_remat_gemm_f32(&a, &a, &c, 0);
  _mlir_ciface_remat_gemm_f32(&a, &a, &c, 0);
  EXPECT_EQ(currentMemory(MemoryClass::other) - before,
            kDefaultWorkspaceBytes + 32);
}

TEST_F(ProductsTest, sayWhatToInstall) {
  setenv("REMAT_CUBLASLT", "/nowhere/libcublasLt.so.13", 1);
  Descriptor a = dense(allocate(16), {1, 1, 2, 2});
  EXPECT_EXIT(_mlir_ciface_remat_gemm_f32(&a, &a, &a, 0),
              testing::ExitedWithCode(1),
              "^remat: error: no cuBLASLt, which multiplies matrices "
              "\\(/nowhere/.*\\); install the PyPI package nvidia-cublas, and "
              "name its libcublasLt.so.13 in REMAT_CUBLASLT\n$");
}

TEST_F(ProductsTest, nameTheirShapeInErrors) {
  // Rows that overlap: what the library refuses.
  CUdeviceptr x = allocate(64);
  Descriptor a = dense(x, {1, 1, 2, 4}), b = dense(x, {1, 1, 4, 4}),
             c = describe(x, {1, 1, 2, 4}, {0, 0, 3, 1});
  EXPECT_EXIT(_mlir_ciface_remat_gemm_f32(&a, &b, &c, 0),
              testing::ExitedWithCode(1),
              "cublasLtMatmulAlgoGetHeuristic failed for a product of 4x2x4 in "
              "f32: CUBLAS_STATUS_INVALID_VALUE\n$");
}
} // namespace
