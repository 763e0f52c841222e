// Attention of some queries over one head of the paged cache: an online softmax over groups of 16
// positions that start at multiples of 16, so that what a query computes depends on its own
// position alone. Included after a simd/ header.
//
// A score is the dot product of the matrix products (16 partial sums, one tree), whether it is
// computed from rows of keys (few queries) or from a transposed group (lane = position).

#include "kernels/cpu/simd/exp.h"
// After what it is written over:
#include "kernels/cpu/simd/soft_cap.h"

namespace godwit::cpu {
namespace {

constexpr float kMasked = -__builtin_inff();
/// With fewer queries than this the keys are not worth a transposition.
constexpr std::int64_t kTransposedQueries = 9;

/// Scratch of one item; widths are padded to 16 with zeros.
struct AttentionScratch {
  float* q;       ///< [queries, key_width]
  float* sums;    ///< [queries, value_width]: weighted values so far
  float* keys;    ///< [key_width, 16]: the group's keys transposed, or [16, key_width]: as they are
  float* values;  ///< [16, value_width]
  float* largest;  ///< [queries]: largest score so far
  float* totals;   ///< [queries]: sum of weights so far
  std::int64_t key_width;
  std::int64_t value_width;
};

inline std::int64_t padded(std::int64_t count) {
  return (count + 15) / 16 * 16;
}

std::int64_t attention_scratch_bytes(std::int64_t queries, std::int64_t key_dim,
                                     std::int64_t value_dim) {
  return 4 * ((queries + 16) * (padded(key_dim) + padded(value_dim)) + 2 * padded(queries));
}

inline AttentionScratch attention_scratch(void* memory, const AttentionItem& item) {
  const std::int64_t queries = item.tokens * item.heads;
  AttentionScratch s;
  s.key_width = padded(item.key_dim);
  s.value_width = padded(item.value_dim);
  s.q = static_cast<float*>(memory);
  s.sums = s.q + queries * s.key_width;
  s.keys = s.sums + queries * s.value_width;
  s.values = s.keys + 16 * s.key_width;
  s.largest = s.values + 16 * s.value_width;
  s.totals = s.largest + padded(queries);
  return s;
}

/// The positions [base + begin, base + end) of a group that a query attends to.
struct Span {
  std::int64_t begin;
  std::int64_t end;
};

inline std::int64_t clamp16(std::int64_t value) {
  return value < 0 ? 0 : value > 16 ? 16 : value;
}

/// The first position that the one at `position` attends to; never negative.
inline std::int64_t oldest_of(const AttentionItem& item, std::int64_t position) {
  const std::int64_t of_window = item.window > 0 ? position - item.window + 1 : 0;
  const std::int64_t of_chunk = item.chunk > 0 ? position / item.chunk * item.chunk : 0;
  return of_window > of_chunk ? of_window : of_chunk;
}

inline Span span_of(const AttentionItem& item, std::int64_t query, std::int64_t base) {
  const std::int64_t position = item.first_position + query / item.heads;
  return {clamp16(oldest_of(item, position) - base), clamp16(position + 1 - base)};
}

/// One group: where its rows are. Rows that no query attends to are never read; their pointers
/// repeat a row that is.
template <class T>
struct Group {
  const T* k[16];
  const T* v[16];
};

template <class T>
inline Group<T> find_group(const AttentionItem& item, std::int64_t base) {
  Span span = span_of(item, 0, base);
  span.end = clamp16(item.first_position + item.tokens - base);
  Group<T> group;
  for (std::int64_t i = 0; i < 16; ++i) {
    const std::int64_t in = i < span.begin ? span.begin : i >= span.end ? span.end - 1 : i;
    const std::int64_t position = item.chosen == nullptr ? base + in : item.chosen[base + in];
    const std::int64_t block = item.blocks[position / item.block_size];
    const std::int64_t row = position % item.block_size;
    group.k[i] =
        static_cast<const T*>(item.k) + block * item.k_block_stride + row * item.k_row_stride;
    group.v[i] =
        static_cast<const T*>(item.v) + block * item.v_block_stride + row * item.v_row_stride;
  }
  return group;
}

template <class T>
inline F32x16 load_chunk(const T* row, std::int64_t d, std::int64_t count) {
  return d + 16 <= count ? load(row + d) : load(row + d, count - d);
}

template <class T>
void transpose_keys(const Group<T>& group, std::int64_t key_dim, const AttentionScratch& s) {
  for (std::int64_t d = 0; d < s.key_width; d += 16) {
    F32x16 rows[16];
    for (int i = 0; i < 16; ++i) {
      rows[i] = load_chunk(group.k[i], d, key_dim);
    }
    transpose(rows);
    for (int i = 0; i < 16; ++i) {
      store(s.keys + (d + i) * 16, rows[i]);
    }
  }
}

/// Rows of a group as f32, padded: the cache's own where it already is that, else copies in
/// `memory`.
template <class T>
inline void widen_rows(const T* const (&from)[16], std::int64_t count, std::int64_t width,
                       float* memory, const float* (&rows)[16]) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (count == width) {
      for (int i = 0; i < 16; ++i) {
        rows[i] = from[i];
      }
      return;
    }
  }
  for (int i = 0; i < 16; ++i) {
    rows[i] = memory + i * width;
    for (std::int64_t d = 0; d < width; d += 16) {
      store(memory + i * width + d, load_chunk(from[i], d, count));
    }
  }
}

/// Scores of kQueries consecutive queries from transposed keys. Lane j of the dot product is
/// computed for all positions at once; parts are added as sum() adds lanes.
template <int kQueries>
inline void transposed_scores(const AttentionScratch& s, const float* q,
                              F32x16 (&scores)[kQueries]) {
  const auto lanes_from = [&](int j, F32x16(&parts)[kQueries]) __attribute__((always_inline)) {
    F32x16 sums[4][kQueries];
    for (int i = 0; i < 4; ++i) {
      for (int r = 0; r < kQueries; ++r) {
        sums[i][r] = splat(0.0F);
      }
    }
    for (std::int64_t d = j; d < s.key_width; d += 16) {
      for (int i = 0; i < 4; ++i) {
        const F32x16 keys = load(s.keys + (d + 4 * i) * 16);
        for (int r = 0; r < kQueries; ++r) {
          sums[i][r] = fma(splat(q[r * s.key_width + d + 4 * i]), keys, sums[i][r]);
        }
      }
    }
    for (int r = 0; r < kQueries; ++r) {
      parts[r] = (sums[0][r] + sums[2][r]) + (sums[1][r] + sums[3][r]);
    }
  };
  F32x16 even[kQueries];
  F32x16 odd[kQueries];
  F32x16 parts[kQueries];
  lanes_from(0, even);
  lanes_from(2, parts);
  for (int r = 0; r < kQueries; ++r) {
    even[r] = even[r] + parts[r];
  }
  lanes_from(1, odd);
  lanes_from(3, parts);
  for (int r = 0; r < kQueries; ++r) {
    scores[r] = even[r] + (odd[r] + parts[r]);
  }
}

/// The same scores from rows of keys.
template <int kQueries>
inline void dot_scores(const float* const (&keys)[16], const AttentionScratch& s, const float* q,
                       F32x16 (&scores)[kQueries]) {
  for (int r = 0; r < kQueries; ++r) {
    F32x16 sums[16];
    for (F32x16& v : sums) {
      v = splat(0.0F);
    }
    for (std::int64_t d = 0; d < s.key_width; d += 16) {
      const F32x16 inputs = load(q + r * s.key_width + d);
      for (int i = 0; i < 16; ++i) {
        sums[i] = fma(inputs, load(keys[i] + d), sums[i]);
      }
    }
    scores[r] = sum_each(sums);
  }
}

/// sums[r, d ..] += weights[r, i] * values[i, d ..] for the positions of `span`, in order.
template <int kQueries, int kChunks>
inline void add_values(const AttentionScratch& s, const float* const (&rows)[16], const Span& span,
                       const float* weights, float* sums, std::int64_t d) {
  F32x16 total[kQueries][kChunks];
  for (int r = 0; r < kQueries; ++r) {
    for (int c = 0; c < kChunks; ++c) {
      total[r][c] = load(sums + r * s.value_width + d + 16 * c);
    }
  }
  for (std::int64_t i = span.begin; i < span.end; ++i) {
    F32x16 value[kChunks];
    for (int c = 0; c < kChunks; ++c) {
      value[c] = load(rows[i] + d + 16 * c);
    }
    for (int r = 0; r < kQueries; ++r) {
      const F32x16 weight = splat(weights[r * 16 + i]);
      for (int c = 0; c < kChunks; ++c) {
        total[r][c] = fma(weight, value[c], total[r][c]);
      }
    }
  }
  for (int r = 0; r < kQueries; ++r) {
    for (int c = 0; c < kChunks; ++c) {
      store(sums + r * s.value_width + d + 16 * c, total[r][c]);
    }
  }
}

template <int kQueries>
void add_all_values(const AttentionScratch& s, const float* const (&rows)[16], const Span& span,
                    const float* weights, float* sums) {
  if (span.begin >= span.end) {
    return;
  }
  std::int64_t d = 0;
  for (; d + 64 <= s.value_width; d += 64) {
    add_values<kQueries, 4>(s, rows, span, weights, sums, d);
  }
  for (; d < s.value_width; d += 16) {
    add_values<kQueries, 1>(s, rows, span, weights, sums, d);
  }
}

/// The bias of the group's positions, of which `first` is the first one's distance to the query.
inline F32x16 alibi(float slope, std::int64_t first) {
  alignas(64) static constexpr float kLanes[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                   8, 9, 10, 11, 12, 13, 14, 15};
  return splat(slope) * (load(kLanes) + splat(static_cast<float>(first)));
}

/// Scores from dot products: scaled, capped, biased, and -infinity outside `span`.
inline F32x16 finish_scores(const AttentionItem& item, std::int64_t query, std::int64_t base,
                            const Span& span, const F32x16& dots) {
  F32x16 scores = dots * splat(item.scale);
  if (item.softcap != 0.0F) {
    scores = soft_cap(scores, item.softcap);
  }
  if (item.alibi_slopes != nullptr) {
    const std::int64_t position = item.first_position + query / item.heads;
    scores = scores + alibi(item.alibi_slopes[query % item.heads], base - position);
  }
  return select_range(scores, span.begin, span.end, splat(kMasked));
}

/// Turns the scores of one query into weights and rescales what it has so far.
inline void weigh(const AttentionScratch& s, std::int64_t query, const F32x16& scores,
                  float* weights) {
  const float before = s.largest[query];
  const float here = max_lane(scores);
  const float largest = here > before ? here : before;
  const F32x16 w = exp(scores - splat(largest));
  store(weights, w);
  if (largest == before) {  // The factor is exp(0) = 1.
    s.totals[query] = s.totals[query] + sum(w);
    return;
  }
  float factors[16];
  store(factors, exp(splat(before - largest)));
  s.largest[query] = largest;
  s.totals[query] = s.totals[query] * factors[0] + sum(w);
  float* sums = s.sums + query * s.value_width;
  for (std::int64_t d = 0; d < s.value_width; d += 16) {
    store(sums + d, load(sums + d) * splat(factors[0]));
  }
}

/// A group ready for use.
struct ReadyGroup {
  std::int64_t base;
  bool transposed;  ///< Keys are in AttentionScratch::keys, transposed; else use `keys`.
  bool whole;       ///< All queries attend to all of it.
  const float* keys[16];
  const float* values[16];
};

/// One group for kQueries consecutive queries.
template <int kQueries>
void attend_group(const AttentionItem& item, const AttentionScratch& s, const ReadyGroup& group,
                  std::int64_t query) {
  Span spans[kQueries];
  Span common = {0, 16};
  bool any = false;
  bool all = true;
  for (int r = 0; r < kQueries; ++r) {
    spans[r] = group.whole ? Span{0, 16} : span_of(item, query + r, group.base);
    common.begin = spans[r].begin > common.begin ? spans[r].begin : common.begin;
    common.end = spans[r].end < common.end ? spans[r].end : common.end;
    any = any || spans[r].begin < spans[r].end;
    all = all && spans[r].begin < spans[r].end;
  }
  if (!any) {
    return;
  }
  F32x16 scores[kQueries];
  if (group.transposed) {
    transposed_scores<kQueries>(s, s.q + query * s.key_width, scores);
  } else {
    dot_scores<kQueries>(group.keys, s, s.q + query * s.key_width, scores);
  }
  alignas(64) float weights[kQueries * 16];
  for (int r = 0; r < kQueries; ++r) {
    if (spans[r].begin < spans[r].end) {
      weigh(s, query + r, finish_scores(item, query + r, group.base, spans[r], scores[r]),
            weights + r * 16);
    }
  }
  // Positions that all attend to go together, the others one query at a time: a masked value is not
  // even multiplied by zero, for it may be infinite.
  float* sums = s.sums + query * s.value_width;
  if (!all || common.begin >= common.end) {
    for (int r = 0; r < kQueries; ++r) {
      add_all_values<1>(s, group.values, spans[r], weights + r * 16, sums + r * s.value_width);
    }
    return;
  }
  for (int r = 0; r < kQueries; ++r) {
    add_all_values<1>(s, group.values, {spans[r].begin, common.begin}, weights + r * 16,
                      sums + r * s.value_width);
  }
  add_all_values<kQueries>(s, group.values, common, weights, sums);
  for (int r = 0; r < kQueries; ++r) {
    add_all_values<1>(s, group.values, {common.end, spans[r].end}, weights + r * 16,
                      sums + r * s.value_width);
  }
}

inline void load_queries(const AttentionItem& item, const AttentionScratch& s) {
  for (std::int64_t i = 0; i < item.tokens * item.heads; ++i) {
    const float* q =
        item.q + i / item.heads * item.q_token_stride + i % item.heads * item.q_head_stride;
    for (std::int64_t d = 0; d < s.key_width; d += 16) {
      store(s.q + i * s.key_width + d, load_chunk(q, d, item.key_dim));
    }
    for (std::int64_t d = 0; d < s.value_width; d += 16) {
      store(s.sums + i * s.value_width + d, splat(0.0F));
    }
    // A sink is a score without a value that was there first.
    s.largest[i] = item.sinks != nullptr ? item.sinks[i % item.heads] : kMasked;
    s.totals[i] = item.sinks != nullptr ? 1.0F : 0.0F;
  }
}

inline void store_results(const AttentionItem& item, const AttentionScratch& s) {
  for (std::int64_t i = 0; i < item.tokens * item.heads; ++i) {
    float* out =
        item.out + i / item.heads * item.out_token_stride + i % item.heads * item.out_head_stride;
    const F32x16 total = splat(s.totals[i]);
    for (std::int64_t d = 0; d < s.value_width; d += 16) {
      const std::int64_t count = item.value_dim - d < 16 ? item.value_dim - d : 16;
      store(out + d, load(s.sums + i * s.value_width + d) / total, 0, count);
    }
  }
}

template <class T>
void attend(const AttentionItem& item, void* memory) {
  const std::int64_t queries = item.tokens * item.heads;
  const AttentionScratch s = attention_scratch(memory, item);
  load_queries(item, s);
  const std::int64_t oldest = oldest_of(item, item.first_position);
  for (std::int64_t base = oldest / 16 * 16; base < item.first_position + item.tokens; base += 16) {
    const Group<T> rows = find_group<T>(item, base);
    ReadyGroup group;
    group.base = base;
    group.transposed = queries >= kTransposedQueries;
    group.whole = item.window == 0 && item.chunk == 0 && base + 15 <= item.first_position;
    if (group.transposed) {
      transpose_keys(rows, item.key_dim, s);
    } else {
      widen_rows(rows.k, item.key_dim, s.key_width, s.keys, group.keys);
    }
    if (item.v == item.k && !group.transposed) {
      for (int i = 0; i < 16; ++i) {
        group.values[i] = group.keys[i];
      }
    } else {
      widen_rows(rows.v, item.value_dim, s.value_width, s.values, group.values);
    }
    std::int64_t query = 0;
    for (; query + 4 <= queries; query += 4) {
      attend_group<4>(item, s, group, query);
    }
    for (; query < queries; ++query) {
      attend_group<1>(item, s, group, query);
    }
  }
  store_results(item, s);
}

constexpr AttentionKernels kAttention = {
    .f32 = attend<float>, .bf16 = attend<BFloat>, .scratch_bytes = attention_scratch_bytes};

}  // namespace
}  // namespace godwit::cpu
