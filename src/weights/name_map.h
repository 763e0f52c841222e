#pragma once
// How GGUF files call the tensors that models ask for by their Hugging Face names.

#include <string>
#include <string_view>

namespace godwit {

/// The GGUF name of a tensor of the dense families in a file of this general.architecture:
/// "model.layers.3.self_attn.q_proj.weight" becomes "blk.3.attn_q.weight". A name outside the table
/// is returned unchanged, so that what only GGUF has ("rope_freqs.weight") can be asked for
/// directly.
///
/// GGUF files of architecture "llama" hold the rows of attn_q and attn_k in another order than
/// Hugging Face: rotary pairs are adjacent. The name map does not undo this; models choose the
/// rotary form that fits. Nor does it undo other changes of the converter: fused projections,
/// GPT-2's matrices and some norms are stored in a form that the config of the file tells.
std::string gguf_tensor_name(std::string_view name, std::string_view architecture);

}  // namespace godwit
