#include "kernels/cpu/cpu_kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <array>
#include <string>

#include "kernels/cpu/drivers.h"
#include "kernels/ref/ref_kernels.h"

namespace godwit {
namespace {

using cpu::IsaKernels;

constexpr IsaKernels kGeneric = {.rows = &cpu::kGenericRows,
                                 .float_gemm = &cpu::kGenericFloatGemm,
                                 .quant_gemm = &cpu::kGenericQuantGemm,
                                 .attention = &cpu::kGenericAttention,
                                 .logits = &cpu::kGenericLogits,
                                 .scan = &cpu::kGenericScan};

#if defined(__x86_64__)
constexpr IsaKernels kAvx2 = {.rows = &cpu::kAvx2Rows,
                              .float_gemm = &cpu::kAvx2FloatGemm,
                              .quant_gemm = &cpu::kAvx2QuantGemm,
                              .attention = &cpu::kAvx2Attention,
                              .logits = &cpu::kAvx2Logits,
                              .scan = &cpu::kAvx2Scan};

constexpr IsaKernels kAvx512 = {.rows = &cpu::kAvx512Rows,
                                .float_gemm = &cpu::kAvx512FloatGemm,
                                .quant_gemm = &cpu::kAvx512QuantGemm,
                                .attention = &cpu::kAvx512Attention,
                                .logits = &cpu::kAvx512Logits,
                                .scan = &cpu::kAvx512Scan};

constexpr IsaKernels kAvx512Bf16 = {.rows = &cpu::kAvx512Rows,
                                    .float_gemm = &cpu::kAvx512Bf16FloatGemm,
                                    .quant_gemm = &cpu::kAvx512QuantGemm,
                                    .attention = &cpu::kAvx512Attention,
                                    .logits = &cpu::kAvx512Logits,
                                    .scan = &cpu::kAvx512Scan};

constexpr IsaKernels kAmx = {.rows = &cpu::kAvx512Rows,
                             .float_gemm = &cpu::kAvx512Bf16FloatGemm,
                             .quant_gemm = &cpu::kAmxQuantGemm,
                             .attention = &cpu::kAvx512Attention,
                             .logits = &cpu::kAvx512Logits,
                             .scan = &cpu::kAvx512Scan};

bool has_avx2() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
         __builtin_cpu_supports("f16c") != 0;
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
}

bool has_avx512_bf16() {
  return has_avx512() && __builtin_cpu_supports("avx512bf16") != 0;
}

/// Also asks the kernel for the right to use tiles, which it grants to the whole process.
bool has_amx() {
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM of <asm/prctl.h>
  constexpr int kTileData = 18;
  constexpr unsigned kAmxTileAndInt8 = 3U << 24;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return has_avx512_bf16() && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
         (d & kAmxTileAndInt8) == kAmxTileAndInt8 &&
         ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

template <const IsaKernels& kIsa, class Params,
          Status (*kDriver)(const IsaKernels&, Stream&, const Params&)>
Status bound(Stream& stream, const Params& params) {
  return kDriver(kIsa, stream, params);
}

template <const IsaKernels& kIsa>
constexpr KernelTable table(const char* name) {
  return {
      .name = name,
      .embedding = bound<kIsa, EmbeddingParams, cpu::embedding>,
      .rms_norm = bound<kIsa, RmsNormParams, cpu::rms_norm>,
      .layer_norm = bound<kIsa, LayerNormParams, cpu::layer_norm>,
      .gemm = bound<kIsa, GemmParams, cpu::gemm>,
      .activation = bound<kIsa, ActivationParams, cpu::activation>,
      .gated_activation = bound<kIsa, GatedActivationParams, cpu::gated_activation>,
      .add = bound<kIsa, AddParams, cpu::add>,
      .scale = bound<kIsa, ScaleParams, cpu::scale>,
      .clamp = bound<kIsa, ClampParams, cpu::clamp>,
      .gather_rows = bound<kIsa, GatherRowsParams, cpu::gather_rows>,
      .mix_streams = bound<kIsa, MixStreamsParams, cpu::mix_streams>,
      .match_size = bound<kIsa, MatchSizeParams, cpu::match_size>,
      .scale_channels = bound<kIsa, ScaleChannelsParams, cpu::scale_channels>,
      .keep_largest = bound<kIsa, KeepLargestParams, cpu::keep_largest>,
      .causal_conv = bound<kIsa, CausalConvParams, cpu::causal_conv>,
      .step_size = bound<kIsa, StepSizeParams, cpu::step_size>,
      .selective_scan = bound<kIsa, SelectiveScanParams, cpu::selective_scan>,
      .linear_recurrence = bound<kIsa, LinearRecurrenceParams, cpu::linear_recurrence>,
      .route = bound<kIsa, RouteParams, cpu::route>,
      .experts = bound<kIsa, ExpertsParams, cpu::experts>,
      .combine_experts = bound<kIsa, CombineExpertsParams, cpu::combine_experts>,
      .rope = bound<kIsa, RopeParams, cpu::rope>,
      .kv_write = bound<kIsa, KvWriteParams, cpu::kv_write>,
      .attention = bound<kIsa, AttentionParams, cpu::attention>,
      .head_gemm = bound<kIsa, HeadGemmParams, cpu::head_gemm>,
      .choose_positions = bound<kIsa, ChoosePositionsParams, cpu::choose_positions>,
      .gather_tokens = bound<kIsa, GatherTokensParams, cpu::gather_tokens>,
      .scatter_tokens = bound<kIsa, ScatterTokensParams, cpu::scatter_tokens>,
      .process_logits = bound<kIsa, ProcessLogitsParams, cpu::process_logits>,
      .mask_logits = bound<kIsa, MaskLogitsParams, cpu::mask_logits>,
      .sample = bound<kIsa, SampleParams, cpu::sample>,
      .token_logprobs = bound<kIsa, TokenLogprobsParams, cpu::token_logprobs>,
  };
}

constexpr KernelTable kGenericTable = table<kGeneric>("generic");
#if defined(__x86_64__)
constexpr KernelTable kAvx2Table = table<kAvx2>("avx2");
constexpr KernelTable kAvx512Table = table<kAvx512>("avx512");
constexpr KernelTable kAvx512Bf16Table = table<kAvx512Bf16>("avx512bf16");
constexpr KernelTable kAmxTable = table<kAmx>("amx");
#endif

}  // namespace

std::span<const CpuKernels> cpu_kernels() {
  static const std::array kTables = {
#if defined(__x86_64__)
      CpuKernels{.isa = "amx", .table = &kAmxTable, .supported = has_amx()},
      CpuKernels{.isa = "avx512bf16", .table = &kAvx512Bf16Table, .supported = has_avx512_bf16()},
      CpuKernels{.isa = "avx512", .table = &kAvx512Table, .supported = has_avx512()},
      CpuKernels{.isa = "avx2", .table = &kAvx2Table, .supported = has_avx2()},
#endif
      CpuKernels{.isa = "generic", .table = &kGenericTable, .supported = true},
      CpuKernels{.isa = "ref", .table = &ref::kernel_table(), .supported = true},
  };
  return kTables;
}

Result<const KernelTable*> find_cpu_kernels(std::string_view isa) {
  std::string names;
  for (const CpuKernels& row : cpu_kernels()) {
    if (isa.empty() ? row.supported : row.isa == isa) {
      if (!row.supported) {
        return unimplemented("this processor cannot run the kernels '" + std::string(isa) + "'",
                             "leave the instruction set to godwit");
      }
      return row.table;
    }
    names += names.empty() ? "" : ", ";
    names += row.isa;
  }
  return not_found("there are no kernels for the instruction set '" + std::string(isa) + "'",
                   "choose one of " + names);
}

}  // namespace godwit
