//===- ConvolutionsTest.cpp - Convolutions by cuDNN -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// By the emulated library: its checks fail the test if the runtime describes a
// convolution wrongly, or chooses an algorithm that it must not.
//===----------------------------------------------------------------------===//

#include "SessionTest.h"

#include <cmath>
#include <random>
#include <regex>

using namespace remat;
using namespace remat::cuda;

template <typename T>
using Function = void(const MemRef<T, 4> *, const MemRef<T, 4> *,
                      const MemRef<T, 4> *, const MemRef<char, 1> *, int64_t,
                      int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                      int64_t);
extern "C" {
Function<float> _mlir_ciface_remat_cudnn_conv_2d_f32,
    _mlir_ciface_remat_cudnn_conv_2d_backward_data_f32,
    _mlir_ciface_remat_cudnn_conv_2d_backward_filter_f32;
Function<double> _mlir_ciface_remat_cudnn_conv_2d_f64,
    _mlir_ciface_remat_cudnn_conv_2d_backward_data_f64,
    _mlir_ciface_remat_cudnn_conv_2d_backward_filter_f64;
}

namespace {
template <typename T> struct Functions;
template <> struct Functions<float> {
  static constexpr Function<float> *all[] = {
      _mlir_ciface_remat_cudnn_conv_2d_f32,
      _mlir_ciface_remat_cudnn_conv_2d_backward_data_f32,
      _mlir_ciface_remat_cudnn_conv_2d_backward_filter_f32};
};
template <> struct Functions<double> {
  static constexpr Function<double> *all[] = {
      _mlir_ciface_remat_cudnn_conv_2d_f64,
      _mlir_ciface_remat_cudnn_conv_2d_backward_data_f64,
      _mlir_ciface_remat_cudnn_conv_2d_backward_filter_f64};
};

/// Sizes, window and groups; results have the size that cuDNN derives.
struct Case {
  int64_t n, c, h, w, k, kh, kw, strideH = 1, strideW = 1, dilationH = 1,
                                 dilationW = 1, padH = 0, padW = 0, groups = 1;
  bool channelsFirst = true;

  int64_t oh() const {
    return (h + 2 * padH - dilationH * (kh - 1) - 1) / strideH + 1;
  }
  int64_t ow() const {
    return (w + 2 * padW - dilationW * (kw - 1) - 1) / strideW + 1;
  }
  /// Of (n, c, h, w) or (k, c, h, w) in its layout.
  std::array<int64_t, 4> order(int64_t a, int64_t b, int64_t y,
                               int64_t x) const {
    if (channelsFirst)
      return {a, b, y, x};
    return {a, y, x, b};
  }
  std::array<int64_t, 4> images() const { return order(n, c, h, w); }
  std::array<int64_t, 4> filters() const {
    return order(k, c / groups, kh, kw);
  }
  std::array<int64_t, 4> results() const { return order(n, k, oh(), ow()); }
};

int64_t countOf(std::array<int64_t, 4> s) { return s[0] * s[1] * s[2] * s[3]; }

int64_t indexOf(std::array<int64_t, 4> s, std::array<int64_t, 4> i) {
  return ((i[0] * s[1] + i[1]) * s[2] + i[2]) * s[3] + i[3];
}

/// Calls `visit` with the indices of image, filter and result of each product.
template <typename Visit> void forEachProduct(const Case &x, Visit visit) {
  int64_t inputs = x.c / x.groups, outputs = x.k / x.groups;
  for (int64_t n = 0; n < x.n; ++n)
    for (int64_t k = 0; k < x.k; ++k)
      for (int64_t oy = 0; oy < x.oh(); ++oy)
        for (int64_t ox = 0; ox < x.ow(); ++ox)
          for (int64_t c = 0; c < inputs; ++c)
            for (int64_t ky = 0; ky < x.kh; ++ky)
              for (int64_t kx = 0; kx < x.kw; ++kx) {
                int64_t y = oy * x.strideH + ky * x.dilationH - x.padH;
                int64_t z = ox * x.strideW + kx * x.dilationW - x.padW;
                if (y < 0 || y >= x.h || z < 0 || z >= x.w)
                  continue;
                visit(indexOf(x.images(),
                              x.order(n, k / outputs * inputs + c, y, z)),
                      indexOf(x.filters(), x.order(k, c, ky, kx)),
                      indexOf(x.results(), x.order(n, k, oy, ox)));
              }
}

struct ConvolutionsTest : SessionTest {
  static constexpr int64_t kWorkspaceBytes = 8192;

  void SetUp() override {
    setenv("REMAT_CUDNN", REMAT_EMULATED_CUDNN, 1);
    // The library's code runs on the host with the device's addresses.
    FakeDriver::deviceOffset = 0;
    SessionTest::SetUp();
    workspace = allocate(kWorkspaceBytes);
  }
  void TearDown() override {
    SessionTest::TearDown();
    FakeDriver::deviceOffset = FakeDriver::kFaultingOffset;
    unsetenv("REMAT_CUDNN");
  }

  /// Small whole numbers, whose products and sums are exact in any type.
  template <typename T> std::vector<T> random(int64_t count) {
    std::vector<T> values(count);
    for (T &value : values)
      value = T(int(generator() % 7) - 3);
    return values;
  }
  template <typename T> CUdeviceptr upload(const std::vector<T> &values) {
    size_t bytes = values.size() * sizeof(T);
    CUdeviceptr buffer = allocate(std::max<size_t>(bytes, 1));
    session().upload(buffer, values.data(), bytes);
    return buffer;
  }
  template <typename T>
  static MemRef<T, 4> describe(CUdeviceptr address, std::array<int64_t, 4> s) {
    auto *data = reinterpret_cast<T *>(address);
    return {data,
            data,
            0,
            {s[0], s[1], s[2], s[3]},
            {s[1] * s[2] * s[3], s[2] * s[3], s[3], 1}};
  }
  template <typename T>
  void call(int kind, const Case &x, const std::array<CUdeviceptr, 3> &data,
            int64_t workspaceBytes = kWorkspaceBytes) {
    auto images = describe<T>(data[0], x.images());
    auto filters = describe<T>(data[1], x.filters());
    auto results = describe<T>(data[2], x.results());
    auto *bytes = reinterpret_cast<char *>(workspace);
    MemRef<char, 1> memory = {bytes, bytes, 0, {workspaceBytes}, {1}};
    Functions<T>::all[kind](&images, &filters, &results, &memory,
                            x.channelsFirst, x.strideH, x.strideW, x.dilationH,
                            x.dilationW, x.padH, x.padW, x.groups);
  }

  template <typename T> void compare(const Case &x) {
    // The values that forward, the images' and the filters' gradient write.
    constexpr int written[] = {2, 0, 1};
    for (int kind = 0; kind < 3; ++kind) {
      std::array<std::vector<T>, 3> values = {random<T>(countOf(x.images())),
                                              random<T>(countOf(x.filters())),
                                              random<T>(countOf(x.results()))};
      std::array<CUdeviceptr, 3> data = {upload(values[0]), upload(values[1]),
                                         upload(values[2])};
      call<T>(kind, x, data);
      std::vector<T> &expected = values[written[kind]];
      std::fill(expected.begin(), expected.end(), T(0));
      forEachProduct(x, [&](int64_t image, int64_t filter, int64_t result) {
        if (kind == 0)
          expected[result] += values[0][image] * values[1][filter];
        else if (kind == 1)
          expected[image] += values[1][filter] * values[2][result];
        else
          expected[filter] += values[0][image] * values[2][result];
      });
      std::vector<T> found(expected.size());
      session().download(found.data(), data[written[kind]],
                         found.size() * sizeof(T));
      EXPECT_EQ(found, expected) << "kind " << kind;
    }
  }

  CUdeviceptr workspace = 0;
  std::mt19937 generator{0};
};

const Case kSmall = {1, 1, 3, 3, 1, 2, 2};

TEST_F(ConvolutionsTest, areTheNumbersForAllWindows) {
  for (bool channelsFirst : {false, true})
    for (Case x : {Case{2, 3, 7, 6, 4, 3, 3, 1, 1, 1, 1, 1, 1},
                   Case{1, 5, 6, 9, 2, 3, 2, 2, 3, 1, 2, 2, 1},
                   Case{3, 4, 5, 5, 6, 1, 1}, Case{2, 2, 1, 12, 3, 1, 5},
                   Case{1, 1, 8, 8, 1, 8, 8}}) {
      x.channelsFirst = channelsFirst;
      compare<float>(x);
    }
}

TEST_F(ConvolutionsTest, haveGroups) {
  compare<float>({2, 6, 5, 5, 9, 3, 3, 1, 1, 1, 1, 1, 1, 3});
  compare<float>({2, 4, 5, 5, 4, 3, 3, 2, 2, 1, 1, 1, 1, 4});
  compare<float>({2, 4, 5, 5, 4, 3, 3, 2, 2, 1, 1, 1, 1, 4, false});
}

TEST_F(ConvolutionsTest, haveF64) {
  compare<double>({2, 3, 7, 6, 4, 3, 3, 2, 1, 1, 1, 1, 1});
}

TEST_F(ConvolutionsTest, ofNothingAreZero) {
  compare<float>({0, 3, 7, 6, 4, 3, 3});
  compare<float>({2, 0, 7, 6, 4, 3, 3});
  compare<float>({2, 3, 7, 6, 0, 3, 3});
}

TEST_F(ConvolutionsTest, areReplayed) {
  CUdeviceptr x = upload(std::vector<float>(9, 1)),
              w = upload(std::vector<float>(4, 1)), y = allocate(16);
  for (int i = 0; i < 5; ++i) {
    session().begin(Phase::step);
    call<float>(0, kSmall, {x, w, y});
    launch("add", "ps", {x, bits(1)});
    session().begin(Phase::none);
  }
  EXPECT_EQ(session().segments.getCounts().replays, 3);
  EXPECT_EQ(session().segments.getCounts().libraryCalls, 5);
  // x[0] was 5, and the other three 1.
  EXPECT_EQ(read<float>(y), 8);
  EXPECT_TRUE(std::isnan(read<float>(workspace))) << "algorithms write to it";
}

TEST_F(ConvolutionsTest, sayWhatToInstall) {
  setenv("REMAT_CUDNN", "/nowhere/libcudnn.so.9", 1);
  CUdeviceptr x = allocate(64);
  EXPECT_EXIT(call<float>(0, kSmall, {x, x, x}), testing::ExitedWithCode(1),
              "^remat: error: no cuDNN, which computes convolutions "
              "\\(/nowhere/.*\\); install the PyPI package "
              "nvidia-cudnn-cu13, and name its libcudnn.so.9 in "
              "REMAT_CUDNN\n$");
}

TEST_F(ConvolutionsTest, takeMemoryBesideTheProgramsWhereNoneFits) {
  CUdeviceptr x = upload(std::vector<float>(9, 1)), w = allocate(16),
              y = upload(std::vector<float>(4, 1));
  testing::internal::CaptureStderr();
  call<float>(2, kSmall, {x, w, y}, 16);
  EXPECT_EQ(read<float>(w), 4);
  std::string message = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(std::regex_match(
      message,
      std::regex(
          "remat: warning: no deterministic algorithm of cuDNN "
          "9\\.[0-9]+\\.[0-9]+ for the filters' gradient in a convolution of "
          "images 1x1x3x3 with filters 1x1x2x2 in f32 has room in 16 bytes: "
          "[0-9]+ are taken beside the arena; with conv-workspace=[0-9]+ the "
          "compiler reserves them, and predicts what is needed\n")))
      << message;
}

TEST_F(ConvolutionsTest, nameTheirShapeInErrors) {
  Case x = kSmall;
  x.channelsFirst = false;
  CUdeviceptr buffer = allocate(256);
  EXPECT_EXIT(call<double>(0, x, {buffer, buffer, buffer}),
              testing::ExitedWithCode(1),
              "cudnnGetConvolutionForwardAlgorithm_v7 failed for a "
              "convolution of images 1x1x3x3 with filters 1x1x2x2 in f64, "
              "channels last: CUDNN_STATUS_NOT_SUPPORTED\n$");
}

/// The emulated library refuses what would only be seen on a device.
TEST_F(ConvolutionsTest, mustNotOverlap) {
  CUdeviceptr x = allocate(64), w = allocate(64);
  EXPECT_EXIT(
      {
        call<float>(0, kSmall, {x, w, x});
        session().synchronize();
      },
      testing::ExitedWithCode(1),
      "emulated cuDNN: what is written overlaps another operand\n"
      "remat: error: cudnnConvolutionForward failed for a convolution of "
      "images 1x1x3x3 with filters 1x1x2x2 in f32: CUDNN_STATUS_BAD_PARAM\n$");
}

TEST_F(ConvolutionsTest, mustBeAligned) {
  CUdeviceptr x = allocate(64), w = allocate(64), y = allocate(64);
  EXPECT_EXIT(
      {
        call<float>(0, kSmall, {x + 4, w, y});
        session().synchronize();
      },
      testing::ExitedWithCode(1), "an operand is not at a multiple of 16");
}
} // namespace
