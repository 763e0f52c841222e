// Layer norm and the activations against the oracle, which computes in double precision, and the
// oracle's activations against values worked out elsewhere.

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/kernel_rig.h"

namespace godwit {
namespace {

constexpr std::array<Activation, kActivations> kAll = {
    Activation::kSilu,        Activation::kGeluTanh,  Activation::kGelu,   Activation::kRelu,
    Activation::kReluSquared, Activation::kQuickGelu, Activation::kSigmoid};

TEST(LayerNormKernel, EqualsTheOracle) {
  KernelRig oracle("ref", 1);
  for (const std::string& isa : fast_tables()) {
    for (const int threads : {1, 3}) {
      KernelRig rig(isa, threads);
      for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
        for (const std::int64_t width : {1, 2, 15, 16, 17, 33, 64, 576}) {
          RandomData random(static_cast<std::uint32_t>(width));
          std::vector<float> x = random.numbers(8 * 3 * (width + 1));
          for (float& value : x) {
            value = value * 2.0F + 3.0F;  // A mean that is not small.
          }
          std::vector<std::byte> weight = random.weights(type, width);
          std::vector<std::byte> bias = random.weights(type, width);
          std::vector<float> expected(x.size(), 5.0F);
          std::vector<float> got = expected;
          const auto part = [&](std::vector<float>& data) {
            return view(data, DType::kF32, {8, 3, width + 1}).slice(2, 0, width);
          };
          LayerNormParams params{.x = part(x),
                                 .weight = view(weight, type, {width}),
                                 .bias = {},
                                 .out = part(expected),
                                 .epsilon = 1e-5F};
          if (width % 3 != 0) {
            params.bias = view(bias, type, {width});
          }
          params.weight_offset = width % 2 == 0 ? 1.0F : 0.0F;
          oracle.run(&KernelTable::layer_norm, params);
          params.out = part(got);
          rig.run(&KernelTable::layer_norm, params);
          // Roundings are relative to the mean and to the shift, not to what is left of their sums.
          double largest = 1.0;
          for (const float value : expected) {
            largest = std::max(largest, std::fabs(static_cast<double>(value)));
          }
          ASSERT_TRUE(close(got, expected, 2e-6 * largest)) << isa << " width " << width;
          params.out = params.x;
          rig.run(&KernelTable::layer_norm, params);
          for (std::size_t i = 0; i < x.size(); ++i) {
            ASSERT_TRUE(static_cast<std::int64_t>(i) % (width + 1) == width || x[i] == got[i]);
          }
        }
      }
    }
  }
}

TEST(ActivationKernel, OracleEqualsPublishedValues) {
  // To 10 digits, by another program's exp, tanh and erfc: at -2, -0.5, 0, 1 and 3.
  constexpr std::array<std::array<double, 5>, kActivations> kExpected = {{
      {-0.2384058440, -0.1887703344, 0.0, 0.7310585786, 2.8577223804},
      {-0.0454023059, -0.1542859862, 0.0, 0.8411919906, 2.9963626079},
      {-0.0455002639, -0.1542687694, 0.0, 0.8413447461, 2.9959503059},
      {0.0, 0.0, 0.0, 1.0, 3.0},
      {0.0, 0.0, 0.0, 1.0, 9.0},
      {-0.0643413769, -0.1496115634, 0.0, 0.8457957659, 2.9819286903},
      {0.1192029220, 0.3775406688, 0.5, 0.7310585786, 0.9525741268},
  }};
  KernelRig oracle("ref", 1);
  std::vector<float> x = {-2.0F, -0.5F, 0.0F, 1.0F, 3.0F};
  for (const Activation activation : kAll) {
    std::vector<float> out(5);
    oracle.run(&KernelTable::activation, ActivationParams{.x = view(x, DType::kF32, {1, 5}),
                                                          .out = view(out, DType::kF32, {1, 5}),
                                                          .activation = activation});
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_NEAR(out[i], kExpected[static_cast<std::size_t>(activation)][i], 3e-7)
          << static_cast<int>(activation) << " at " << x[i];
    }
  }
}

/// |got - expected| <= 5e-7 * |x|, or 5e-7, as kernels/params/dense.h states it.
void expect_stated_error(Activation activation, const std::vector<float>& x,
                         const std::vector<float>& got, const std::vector<float>& expected) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double size =
        activation == Activation::kSigmoid ? 1.0 : std::fabs(static_cast<double>(x[i]));
    const double limit = 5e-7 * size + static_cast<double>(std::numeric_limits<float>::min());
    ASSERT_NEAR(got[i], expected[i], limit) << "at " << x[i];
  }
}

TEST(ActivationKernel, KeepsToTheStatedError) {
  // From deep in the left tail to where all of them are straight.
  std::vector<float> x;
  for (std::int64_t i = -160000; i <= 160000; ++i) {
    x.push_back(static_cast<float>(i) * 1.25e-4F);
  }
  for (float magnitude = 1e-38F; magnitude < 1e15F; magnitude *= 7.3F) {
    x.push_back(magnitude);
    x.push_back(-magnitude);
  }
  const auto count = static_cast<std::int64_t>(x.size());
  KernelRig oracle("ref", 1);
  for (const Activation activation : kAll) {
    std::vector<float> expected(x.size());
    ActivationParams params{.x = view(x, DType::kF32, {1, count}),
                            .out = view(expected, DType::kF32, {1, count}),
                            .activation = activation};
    oracle.run(&KernelTable::activation, params);
    for (const std::string& isa : fast_tables()) {
      SCOPED_TRACE(isa + " activation " + std::to_string(static_cast<int>(activation)));
      KernelRig rig(isa, 2);
      std::vector<float> got(x.size());
      params.out = view(got, DType::kF32, {1, count});
      rig.run(&KernelTable::activation, params);
      if (activation == Activation::kReluSquared) {
        ASSERT_TRUE(same_bits(got, expected));
      } else {
        expect_stated_error(activation, x, got, expected);
      }
    }
  }
}

TEST(ActivationKernel, GatedEqualsTheOracle) {
  KernelRig oracle("ref", 1);
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 2);
    for (const Activation activation : kAll) {
      for (std::int64_t width = 1; width < 2100; width += width < 34 ? 1 : 517) {
        RandomData random(static_cast<std::uint32_t>(width));
        std::vector<float> both = random.numbers(6 * 2 * width);
        for (float& value : both) {
          value *= 8.0F;
        }
        both[0] = 200.0F;
        both[static_cast<std::size_t>(2 * width)] = -200.0F;
        std::vector<float> expected(static_cast<std::size_t>(6 * width));
        std::vector<float> got(expected.size());
        GatedActivationParams params{
            .gate = view(both, DType::kF32, {6, 2 * width}).slice(1, 0, width),
            .up = view(both, DType::kF32, {6, 2 * width}).slice(1, width, width),
            .out = view(expected, DType::kF32, {6, width}),
            .form = {.activation = activation,
                     .limit = width % 2 == 0 ? 7.0F : 0.0F,
                     .up_offset = width % 3 == 0 ? 1.0F : 0.0F}};
        oracle.run(&KernelTable::gated_activation, params);
        params.out = view(got, DType::kF32, {6, width});
        rig.run(&KernelTable::gated_activation, params);
        ASSERT_TRUE(close(got, expected, 3e-6)) << isa << " width " << width;
      }
    }
  }
}

TEST(ActivationKernel, AnElementDoesNotDependOnItsPlace) {
  RandomData random(3);
  std::vector<float> x = random.numbers(1100);
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 3);
    for (const Activation activation : kAll) {
      std::vector<float> whole(x.size());
      rig.run(&KernelTable::activation, ActivationParams{.x = view(x, DType::kF32, {1, 1100}),
                                                         .out = view(whole, DType::kF32, {1, 1100}),
                                                         .activation = activation});
      for (const std::int64_t width : {1, 11, 20, 275, 550}) {
        std::vector<float> parts(x.size());
        rig.run(&KernelTable::activation,
                ActivationParams{.x = view(x, DType::kF32, {1100 / width, width}),
                                 .out = view(parts, DType::kF32, {1100 / width, width}),
                                 .activation = activation});
        ASSERT_TRUE(same_bits(parts, whole)) << isa << " width " << width;
      }
    }
  }
}

TEST(ActivationKernel, NotANumberStaysSoAndInfinitiesSettle) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> x = {std::numeric_limits<float>::quiet_NaN(), kInfinity};
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 1);
    for (const Activation activation : kAll) {
      std::vector<float> out(2);
      rig.run(&KernelTable::activation, ActivationParams{.x = view(x, DType::kF32, {1, 2}),
                                                         .out = view(out, DType::kF32, {1, 2}),
                                                         .activation = activation});
      EXPECT_TRUE(std::isnan(out[0])) << isa << " " << static_cast<int>(activation);
      EXPECT_EQ(out[1], activation == Activation::kSigmoid ? 1.0F : kInfinity)
          << isa << " " << static_cast<int>(activation);
    }
  }
}

TEST(AddAndScaleKernels, EqualTheOracle) {
  KernelRig oracle("ref", 1);
  for (const std::string& isa : fast_tables()) {
    KernelRig rig(isa, 3);
    for (const std::int64_t width : {1, 15, 16, 17, 1030, 2100}) {
      RandomData random(static_cast<std::uint32_t>(width));
      std::vector<float> x = random.numbers(3 * width);
      std::vector<float> start = random.numbers(3 * width);
      x[0] = 80.0F;
      const auto both = [&](const auto& run) {
        std::vector<float> expected = start;
        std::vector<float> got = start;
        run(oracle, view(expected, DType::kF32, {3, width}));
        run(rig, view(got, DType::kF32, {3, width}));
        EXPECT_TRUE(close(got, expected, 2e-5)) << isa << " width " << width;
      };
      const Tensor input = view(x, DType::kF32, {3, width});
      for (const float factor : {1.0F, 0.3F}) {
        both([&](KernelRig& on, const Tensor& out) {
          on.run(&KernelTable::add, {.x = input, .out = out, .scale = factor});
        });
        for (const float cap : {0.0F, 2.5F, 30.0F}) {
          both([&](KernelRig& on, const Tensor& out) {
            on.run(&KernelTable::scale, {.x = input, .out = out, .scale = factor, .softcap = cap});
          });
        }
      }
    }
  }
}

}  // namespace
}  // namespace godwit
