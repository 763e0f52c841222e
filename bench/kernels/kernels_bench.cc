// Measures the CPU kernels on the shapes of SmolLM2-135M, latent attention on those of DeepSeek-V3
// and, for the roofline, the memory bandwidth.
//
//   godwit_kernels_bench [isa] [threads] [memory | model | gemm | attention | latent | rows]
//
// With one thread it counts processor time, so that other work on the machine shows less.
//
// Weights are as many as the model has, so that a step finds them where it would find the model's.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <time.h>
#include <vector>

#include "base/thread_pool.h"
#include "device/device.h"
#include "kernels/kernel_table.h"

namespace godwit {
namespace {

constexpr std::int64_t kLayers = 30;
constexpr std::int64_t kHidden = 576;
constexpr std::int64_t kIntermediate = 1536;
constexpr std::int64_t kHeads = 9;
constexpr std::int64_t kKvHeads = 3;
constexpr std::int64_t kHeadDim = 64;
constexpr std::int64_t kVocab = 49152;

struct Runner {
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::vector<Buffer> buffers;
  int threads = 1;

  [[nodiscard]] double now() const {
    timespec time = {};
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }
  /// The best of some calls, in seconds: other work on the machine only ever adds.
  template <class Function>
  double seconds(const Function& function) const {
    double best = 1e30;
    double total = 0.0;
    for (int i = 0; i < 200 && (i < 3 || total < 0.3); ++i) {
      const double start = now();
      function();
      const double elapsed = now() - start;
      best = std::min(best, elapsed);
      total += elapsed;
    }
    return best;
  }
  Tensor tensor(DType dtype, std::initializer_list<std::int64_t> shape) {
    Tensor view = Tensor::contiguous(nullptr, dtype, shape);
    buffers.push_back(device->allocate(view.bytes(), MemoryPurpose::kWeights).value());
    view.data = buffers.back().data();
    return view;
  }
  /// Filled with small numbers: f32, or blocks with sensible scales.
  Tensor filled(DType dtype, std::initializer_list<std::int64_t> shape) {
    const Tensor view = tensor(dtype, shape);
    std::uint32_t state = 1;
    auto* bytes = static_cast<std::uint8_t*>(view.data);
    const std::size_t step = block_bytes(dtype);
    for (std::size_t i = 0; i < view.bytes(); ++i) {
      state = state * 1664525 + 1013904223;
      bytes[i] = static_cast<std::uint8_t>(state >> 24);
      const std::size_t place = i % step;
      const bool exponent = dtype == DType::kF32 ? place == 3 : place == 1;
      if (exponent || (dtype == DType::kQ4_1 && place == 3)) {
        bytes[i] = dtype == DType::kF32 ? 0x3f : 0x20;
      }
    }
    return view;
  }
  template <class Params>
  void run(Kernel<Params> KernelTable::* kernel, const Params& params) {
    if (!(device->kernels().*kernel)(*stream, params).ok()) {
      std::abort();
    }
  }
};

void bench_memory(Runner& runner) {
  auto& threads = *static_cast<ThreadPool*>(runner.stream->native());
  for (const std::int64_t megabytes : {96, 1024}) {
    const std::int64_t words = megabytes * 1000000 / 8;
    const Tensor data = runner.tensor(DType::kI64, {words});
    auto* values = static_cast<std::int64_t*>(data.data);
    std::fill(values, values + words, 1);
    std::vector<std::int64_t> sums(static_cast<std::size_t>(threads.size()) * 8);
    const double time = runner.seconds([&] {
      threads.run([&](int thread) {
        std::int64_t sum[8] = {};
        const std::int64_t end = words * (thread + 1) / threads.size() / 8 * 8;
        for (std::int64_t i = words * thread / threads.size() / 8 * 8; i < end; i += 8) {
          for (int j = 0; j < 8; ++j) {
            sum[j] += values[i + j];
          }
        }
        for (const std::int64_t part : sum) {
          sums[static_cast<std::size_t>(thread) * 8] += part;
        }
      });
    });
    std::printf("read %5ld MB                     %8.3f ms  %7.1f GB/s\n",
                static_cast<long>(megabytes), time * 1e3,
                static_cast<double>(data.bytes()) / time * 1e-9);
    runner.buffers.pop_back();
  }
}

struct Matrix {
  const char* name;
  std::int64_t n;
  std::int64_t k;
  std::int64_t copies;
  DType dtype;
};

double bench_gemm(Runner& runner, const Matrix& matrix, std::int64_t rows, Precision precision) {
  const std::size_t kept = runner.buffers.size();
  std::vector<Tensor> weights;
  for (std::int64_t i = 0; i < matrix.copies; ++i) {
    weights.push_back(runner.filled(matrix.dtype, {matrix.n, matrix.k}));
  }
  const Tensor x = runner.filled(DType::kF32, {rows, matrix.k});
  const Tensor out = runner.tensor(DType::kF32, {rows, matrix.n});
  const double time = runner.seconds([&] {
    for (const Tensor& weight : weights) {
      runner.run(&KernelTable::gemm,
                 {.x = x, .weight = weight, .bias = {}, .out = out, .precision = precision});
    }
  });
  const double copies = static_cast<double>(matrix.copies);
  const double bytes = static_cast<double>(weights[0].bytes()) * copies;
  const double ops = 2.0 * static_cast<double>(rows * matrix.n * matrix.k) * copies;
  std::printf("gemm %-8s %-5s rows %4ld       %8.3f ms  %7.1f GB/s %8.1f GOP/s\n", matrix.name,
              std::string(to_string(matrix.dtype)).c_str(), static_cast<long>(rows), time * 1e3,
              bytes / time * 1e-9, ops / time * 1e-9);
  runner.buffers.resize(kept);
  return time;
}

void bench_model(Runner& runner, std::int64_t rows, DType layers, DType head) {
  const Matrix matrices[] = {
      {"q", kHidden, kHidden, kLayers, layers},
      {"k and v", kKvHeads * kHeadDim, kHidden, 2 * kLayers, layers},
      {"o", kHidden, kHidden, kLayers, layers},
      {"gate, up", kIntermediate, kHidden, 2 * kLayers, layers},
      {"down", kHidden, kIntermediate, kLayers, layers},
  };
  double total = 0.0;
  for (const Matrix& matrix : matrices) {
    total += bench_gemm(runner, matrix, rows, Precision::kFast);
  }
  total += bench_gemm(runner, {"lm_head", kVocab, kHidden, 1, head},
                      std::min<std::int64_t>(rows, 16), Precision::kFast);
  std::printf("all of these                        %8.3f ms\n", total * 1e3);
}

/// Tables of sequences whose last `queries` tokens are computed; pages follow each other.
AttentionParams paged_params(Runner& runner, std::int64_t sequences, std::int64_t queries,
                             std::int64_t context) {
  const std::int64_t blocks = (context + 15) / 16;
  const Tensor tables = runner.tensor(DType::kI32, {sequences, blocks});
  const Tensor starts = runner.tensor(DType::kI32, {sequences + 1});
  const Tensor lens = runner.tensor(DType::kI32, {sequences});
  for (std::int64_t i = 0; i <= sequences; ++i) {
    static_cast<std::int32_t*>(starts.data)[i] = static_cast<std::int32_t>(i * queries);
  }
  for (std::int64_t i = 0; i < sequences * blocks; ++i) {
    static_cast<std::int32_t*>(tables.data)[i] = static_cast<std::int32_t>(i);
  }
  std::fill_n(static_cast<std::int32_t*>(lens.data), sequences, static_cast<std::int32_t>(context));
  AttentionParams params;
  params.block_tables = tables;
  params.query_start = starts;
  params.context_lens = lens;
  return params;
}

/// Pairs of a query and a position that it sees, in all sequences.
double pairs_of(std::int64_t sequences, std::int64_t queries, std::int64_t context) {
  double pairs = 0.0;
  for (std::int64_t i = 0; i < queries; ++i) {
    pairs += static_cast<double>(context - i);
  }
  return pairs * static_cast<double>(sequences);
}

void bench_attention(Runner& runner, std::int64_t sequences, std::int64_t queries,
                     std::int64_t context, DType dtype) {
  const std::size_t kept = runner.buffers.size();
  const std::int64_t blocks = (context + 15) / 16;
  AttentionParams params = paged_params(runner, sequences, queries, context);
  params.q = runner.filled(DType::kF32, {sequences * queries, kHeads, kHeadDim});
  params.k_cache = runner.tensor(dtype, {sequences * blocks, kKvHeads, 16, kHeadDim});
  params.v_cache = runner.tensor(dtype, {sequences * blocks, kKvHeads, 16, kHeadDim});
  params.out = runner.tensor(DType::kF32, {sequences * queries, kHeads, kHeadDim});
  params.scale = 0.125F;
  const double time = runner.seconds([&] {
    for (std::int64_t layer = 0; layer < kLayers; ++layer) {
      runner.run(&KernelTable::attention, params);
    }
  });
  const double ops =
      pairs_of(sequences, queries, context) * static_cast<double>(kHeads * kHeadDim * 4 * kLayers);
  std::printf("attention %2ld x %3ld of %4ld %-4s x 30 %8.3f ms           %8.1f GOP/s\n",
              static_cast<long>(sequences), static_cast<long>(queries), static_cast<long>(context),
              std::string(to_string(dtype)).c_str(), time * 1e3, ops / time * 1e-9);
  runner.buffers.resize(kept);
}

/// One layer of latent attention: queries into the latent space, attention there, values out of it.
void bench_latent(Runner& runner, std::int64_t sequences, std::int64_t queries,
                  std::int64_t context, DType dtype) {
  constexpr std::int64_t kLatentHeads = 128;
  constexpr std::int64_t kHeadWidth = 128;  // Of a query without rope, and of a value.
  constexpr std::int64_t kRank = 512;
  constexpr std::int64_t kRope = 64;
  const std::size_t kept = runner.buffers.size();
  const std::int64_t tokens = sequences * queries;
  AttentionParams params = paged_params(runner, sequences, queries, context);
  params.q = runner.filled(DType::kF32, {tokens, kLatentHeads, kRank + kRope});
  params.k_cache = runner.tensor(dtype, {sequences * ((context + 15) / 16), 1, 16, kRank + kRope});
  params.v_cache = params.k_cache.slice(3, 0, kRank);
  params.out = runner.tensor(DType::kF32, {tokens, kLatentHeads, kRank});
  params.scale = 0.07F;
  const double time = runner.seconds([&] { runner.run(&KernelTable::attention, params); });
  const double ops = pairs_of(sequences, queries, context) *
                     static_cast<double>(kLatentHeads * (2 * kRank + kRope) * 2);
  const Tensor weight = runner.filled(DType::kBF16, {kLatentHeads, kHeadWidth, kRank});
  const Tensor narrow = runner.filled(DType::kF32, {tokens, kLatentHeads, kHeadWidth});
  const double in = runner.seconds([&] {
    runner.run(&KernelTable::head_gemm,
               {.x = narrow, .weight = weight, .out = params.out, .transposed = true});
  });
  const double back = runner.seconds([&] {
    runner.run(&KernelTable::head_gemm, {.x = params.out, .weight = weight, .out = narrow});
  });
  const double products = 2.0 * static_cast<double>(tokens * kLatentHeads * kHeadWidth * kRank);
  std::printf(
      "latent %2ld x %3ld of %5ld %-4s        %8.3f ms %8.1f GOP/s, in %7.3f ms %6.1f GOP/s, out "
      "%7.3f ms %6.1f GOP/s\n",
      static_cast<long>(sequences), static_cast<long>(queries), static_cast<long>(context),
      std::string(to_string(dtype)).c_str(), time * 1e3, ops / time * 1e-9, in * 1e3,
      products / in * 1e-9, back * 1e3, products / back * 1e-9);
  runner.buffers.resize(kept);
}

void bench_rows(Runner& runner, std::int64_t rows) {
  const std::size_t kept = runner.buffers.size();
  const Tensor x = runner.filled(DType::kF32, {rows, kHidden});
  const Tensor wide = runner.filled(DType::kF32, {rows, kIntermediate});
  const Tensor weight = runner.filled(DType::kF32, {kHidden});
  const Tensor table = runner.tensor(DType::kF32, {rows, kHeadDim});
  for (std::int64_t r = 0; r < rows; ++r) {  // Cosines 1, sines 0: values stay as they are.
    std::fill_n(static_cast<float*>(table.data) + r * kHeadDim, kHeadDim / 2, 1.0F);
  }
  const Tensor positions = runner.tensor(DType::kI32, {rows});
  const auto print = [&](const char* name, double time) {
    std::printf("%-9s rows %4ld               %8.4f ms\n", name, static_cast<long>(rows),
                time * 1e3);
  };
  print("rms_norm", runner.seconds([&] {
    runner.run(&KernelTable::rms_norm, {.x = x, .weight = weight, .out = x, .epsilon = 1e-5F});
  }));
  print("silu * up", runner.seconds([&] {
    runner.run(&KernelTable::gated_activation, {.gate = wide, .up = wide, .out = wide});
  }));
  print("rope", runner.seconds([&] {
    runner.run(&KernelTable::rope,
               {.x = x.split_last(kHeadDim), .positions = positions, .cos_sin = table});
  }));
  runner.buffers.resize(kept);
}

int bench(const std::string& isa, int threads, const std::string& part) {
  Runner runner;
  auto device = create_device("cpu", {.threads = threads, .isa = isa});
  if (!device.ok()) {
    std::printf("%s\n", device.status().message().c_str());
    return 1;
  }
  runner.device = std::move(device).value();
  runner.threads = threads;
  runner.stream = runner.device->create_stream().value();
  std::printf("%s\n", runner.device->description().c_str());
  const auto wanted = [&](const char* name) { return part.empty() || part == name; };
  if (wanted("memory")) {
    bench_memory(runner);
  }
  if (wanted("model")) {
    for (const std::int64_t rows : {1, 4, 16, 512}) {
      bench_model(runner, rows, DType::kQ4_1, DType::kQ8_0);
    }
  }
  if (wanted("gemm")) {
    for (const DType dtype : {DType::kBF16, DType::kF32, DType::kQ8_0, DType::kQ4_0}) {
      for (const std::int64_t rows : {1, 16, 512}) {
        bench_gemm(runner, {"gate, up", kIntermediate, kHidden, 2 * kLayers, dtype}, rows,
                   Precision::kFast);
      }
    }
  }
  if (wanted("attention")) {
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      bench_attention(runner, 1, 512, 512, dtype);
      bench_attention(runner, 1, 1, 576, dtype);
      bench_attention(runner, 16, 1, 576, dtype);
    }
  }
  if (wanted("latent")) {
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      bench_latent(runner, 1, 1, 4096, dtype);
      bench_latent(runner, 16, 1, 4096, dtype);
      bench_latent(runner, 1, 64, 1024, dtype);
    }
  }
  if (wanted("rows")) {
    bench_rows(runner, 1);
    bench_rows(runner, 512);
  }
  return 0;
}

}  // namespace
}  // namespace godwit

int main(int argc, char** argv) {
  return godwit::bench(argc > 1 ? argv[1] : "", argc > 2 ? std::atoi(argv[2]) : 0,
                       argc > 3 ? argv[3] : "");
}
