#pragma once
// Golden files that are stored as what differs from another file (tools/make_gguf_gpt.py).

#include <string>
#include <string_view>

namespace godwit::test {

/// The file of which `delta` is what differs from `original`. CHECKs that the two belong together.
std::string apply_delta(std::string_view delta, std::string_view original);

}  // namespace godwit::test
