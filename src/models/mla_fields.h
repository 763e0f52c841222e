#pragma once
// Reading of the config fields that describe latent attention and its indexer.

#include "models/config_reader.h"
#include "models/decoder.h"

namespace godwit {

/// Reads DeepSeek's fields of latent attention into `config`: mla, and the rope and the size of a
/// head in the cache that follow from it. `head_dim` says nothing here: in some files it is the
/// width of the rope, in others 0. Errors: kInvalidArgument naming a field that is missing, wrong
/// or contradicts another. Where the family has no positions, no rope is read.
Status read_latent_attention(const ConfigReader& reader, DecoderConfig& config,
                             bool has_rope = true);

/// Adds the indexer of sparse attention to config.mla: index_n_heads, index_head_dim, index_topk.
Status read_indexer(const ConfigReader& reader, DecoderConfig& config);

}  // namespace godwit
