#pragma once
// The inner loops of the CPU kernels, one table an instruction set: what the drivers beside this
// file call once they have checked, split and allocated.
//
// Sources of an instruction set are compiled with its flags, so they include nothing with inline
// functions (no std, no base): the linker might pick their copy for the whole program.

#include <cstdint>

namespace godwit::cpu {

enum class WeightKind : std::uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ8_0,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kQ8_K,
  kI4_32,
  kI4_64,
  kI4_128,
  kI8_32,
  kI8_128,
  kMxfp4,
  kF8_32,
  kF8_128
};
inline constexpr int kWeightKinds = 22;
/// Those from kQ8_0 on that are integers times scales.
inline constexpr int kQuantKinds = 17;

/// As many as Activation has; its header may not be included here.
inline constexpr int kActivationKinds = 7;

struct Half {
  std::uint16_t bits;
};
struct BFloat {
  std::uint16_t bits;
};

/// Quantised inputs: 32 bytes and one of each number a place.
struct QuantInputs {
  std::int8_t* q;
  float* scale;
  std::int32_t* sum;
  float* scaled_sum;
  std::int32_t* first_sum;
};

/// Work on one row of activations.
struct RowKernels {
  void (*rms_norm)(const float* x, const float* weight, float* out, std::int64_t width,
                   float epsilon);
  /// `bias` may be null.
  void (*layer_norm)(const float* x, const float* weight, const float* bias, float* out,
                     std::int64_t width, float epsilon);
  /// Indexed by Activation.
  void (*activation[kActivationKinds])(const float* x, float* out, std::int64_t width);
  void (*gated_activation[kActivationKinds])(const float* gate, const float* up, float* out,
                                             std::int64_t width);
  /// out += scale * x.
  void (*add)(const float* x, float scale, float* out, std::int64_t width);
  /// out = softcap(scale * x); a softcap of 0 is none.
  void (*scale)(const float* x, float scale, float softcap, float* out, std::int64_t width);
  /// Rotates the pairs (x[i], x[half + i]); `table` holds half cosines, then half sines.
  void (*rope_halves)(float* x, const float* table, std::int64_t half);
  /// Widens `count` elements (whole blocks of quantised kinds) exactly; indexed by WeightKind.
  void (*widen[kWeightKinds])(const void* from, float* to, std::int64_t count);
  /// Rounds to bf16, to nearest, ties to even.
  void (*to_bfloat)(const float* from, BFloat* to, std::int64_t count);
  /// Rounds to bf16 and widens again.
  void (*round_to_bfloat)(const float* from, float* to, std::int64_t count);
  /// Quantises blocks of 32: q = round(x * 127 / max|x|), scale = max|x| / 127, sum = sum of q,
  /// scaled_sum = scale * sum, first_sum = sum of the first 16 q. A block whose largest magnitude
  /// is below 1e-30 becomes zeros. Blocks are written kQuantTile places apart: see QuantGemm.
  void (*quantize)(const float* x, std::int64_t count, const QuantInputs& to);
};

/// out[r, j] = sum over k of x[r, k] * w[j, k] (+ bias[j]) (+ the old out[r, j]); rows of w are
/// contiguous.
struct FloatGemm {
  const float* x;  ///< Or BFloat, for FloatGemmKernels::bfloat_pairs.
  std::int64_t x_stride;
  std::int64_t rows;
  std::int64_t k;
  const void* w;
  std::int64_t n;
  const float* bias;  ///< Or null.
  float* out;
  std::int64_t out_stride;
  bool accumulate;
};

/// out[r, j] = sum over i of x[r, i] * w[i, j], in the order of i.
struct ColumnGemm {
  const float* x;
  std::int64_t x_stride;
  std::int64_t rows;
  std::int64_t k;
  const void* w;
  std::int64_t w_stride;  ///< Elements from one row of w to the next.
  std::int64_t n;
  float* out;
  std::int64_t out_stride;
};

struct FloatGemmKernels {
  void (*gemm[3])(const FloatGemm& call);      ///< Indexed by WeightKind: f32, f16, bf16.
  void (*columns[3])(const ColumnGemm& call);  ///< Likewise.
  /// x and w both bf16, with the instruction that multiplies pairs; null where there is none.
  void (*bfloat_pairs)(const FloatGemm& call);
};

/// Rows of quantised inputs that lie together, block by block.
inline constexpr std::int64_t kQuantTile = 16;

/// The same with quantised weights and inputs quantised by RowKernels::quantize. Block b of row r
/// is at place (r / 16 * (k / 32) + b) * 16 + r % 16. There is memory for a multiple of 16 rows;
/// the scales and scaled sums past the last row are 0.
struct QuantGemm {
  const std::int8_t* q;  ///< 32 a place.
  const float* scale;    ///< 1 a place, as the next ones.
  const std::int32_t* sum;
  const float* scaled_sum;
  const std::int32_t* first_sum;
  std::int64_t rows;
  std::int64_t k;
  const std::uint8_t* w;
  std::int64_t n;  ///< At least 16.
  const float* bias;
  float* out;
  std::int64_t out_stride;
  bool accumulate;
};

struct QuantGemmKernels {
  /// Computes the columns [begin, end) of out; begin is a multiple of 16. Indexed by WeightKind
  /// less kQ8_0. `scratch` is scratch_bytes(k) bytes, aligned to 64, of this thread alone.
  void (*gemm[kQuantKinds])(const QuantGemm& call, std::int64_t begin, std::int64_t end,
                            void* scratch);
  std::int64_t (*scratch_bytes)(std::int64_t k);
};

/// The queries of some consecutive tokens of one sequence that share one head of keys and values.
struct AttentionItem {
  const float* q;  ///< The first token's first head.
  std::int64_t q_token_stride;
  std::int64_t q_head_stride;
  float* out;
  std::int64_t out_token_stride;
  std::int64_t out_head_stride;
  std::int64_t tokens;
  std::int64_t heads;
  std::int64_t key_dim;
  std::int64_t value_dim;
  std::int64_t first_position;  ///< Of the first token.
  std::int64_t window;          ///< 0 = none.
  std::int64_t chunk;           ///< 0 = none.
  float scale;
  float softcap;               ///< 0 = none.
  const float* alibi_slopes;   ///< Of the first head; or null.
  const float* sinks;          ///< Of the first head; or null.
  const void* k;               ///< The head's rows of block 0.
  const void* v;               ///< Equal to k where values are the keys' first columns.
  const std::int32_t* chosen;  ///< What stands for positions 0, 1, ... of one token; or null.
  const std::int32_t* blocks;
  std::int64_t block_size;
  std::int64_t k_block_stride;  ///< In elements, as all strides here.
  std::int64_t k_row_stride;
  std::int64_t v_block_stride;
  std::int64_t v_row_stride;
};

struct AttentionKernels {
  void (*f32)(const AttentionItem& item, void* scratch);
  void (*bf16)(const AttentionItem& item, void* scratch);
  /// Bytes of scratch, aligned to 64, for an item of this many queries (tokens * heads).
  std::int64_t (*scratch_bytes)(std::int64_t queries, std::int64_t key_dim, std::int64_t value_dim);
};

/// Work on one row of logits, in which NaN counts as -infinity.
struct LogitsKernels {
  float (*max)(const float* logits, std::int64_t count);
  /// The first place of `value`, or -1.
  std::int64_t (*find)(const float* logits, std::int64_t count, float value);
  std::int64_t (*count_above)(const float* logits, std::int64_t count, float value);
  /// exp((logits - largest) / temperature), which goes to `out` unless that is null; returns the
  /// sum in double.
  double (*softmax_terms)(const float* logits, std::int64_t count, float largest, float temperature,
                          float* out);
};

/// Columns of a head's state that are walked together; in scratch, its rows are so far apart.
inline constexpr std::int64_t kHeadColumns = 64;

/// Up to kHeadColumns columns of one head of a linear recurrence, over consecutive tokens. Strides
/// are from a token to the next.
struct HeadItem {
  const float* q;
  std::int64_t q_stride;
  const float* k;
  std::int64_t k_stride;
  const float* v;
  std::int64_t v_stride;
  const float* decay;
  std::int64_t decay_stride;
  bool decay_each_row;
  const float* gain;  ///< Or null: 1.
  std::int64_t gain_stride;
  float skip;
  bool delta_rule;
  float* out;
  std::int64_t out_stride;
  std::int64_t tokens;
  std::int64_t rows;
  std::int64_t columns;
  float* state;  ///< [rows, kHeadColumns]; zeros in the columns past the last.
};

/// One channel of a selective scan, likewise.
struct ChannelItem {
  const float* x;
  std::int64_t x_stride;
  const float* step;
  std::int64_t step_stride;
  const float* rate;
  const float* b;
  std::int64_t b_stride;
  const float* c;
  std::int64_t c_stride;
  float skip;
  float* out;
  std::int64_t out_stride;
  std::int64_t tokens;
  std::int64_t size;
  float* state;  ///< A multiple of 16 numbers; zeros past `size`.
};

struct ScanKernels {
  void (*head)(const HeadItem& item);
  void (*channel)(const ChannelItem& item);
};

struct IsaKernels {
  const RowKernels* rows;
  const FloatGemmKernels* float_gemm;
  const QuantGemmKernels* quant_gemm;
  const AttentionKernels* attention;
  const LogitsKernels* logits;
  const ScanKernels* scan;
};

extern const RowKernels kGenericRows, kAvx2Rows, kAvx512Rows;
extern const FloatGemmKernels kGenericFloatGemm, kAvx2FloatGemm, kAvx512FloatGemm,
    kAvx512Bf16FloatGemm;
extern const QuantGemmKernels kGenericQuantGemm, kAvx2QuantGemm, kAvx512QuantGemm, kAmxQuantGemm;
extern const AttentionKernels kGenericAttention, kAvx2Attention, kAvx512Attention;
extern const LogitsKernels kGenericLogits, kAvx2Logits, kAvx512Logits;
extern const ScanKernels kGenericScan, kAvx2Scan, kAvx512Scan;

}  // namespace godwit::cpu
