#pragma once
// Configs of models that also see or hear, whose text model is described by a part of its own.

#include <string>

#include "base/json.h"
#include "base/status.h"

namespace godwit {

/// The config of the text model: where `config` has a `text_config`, that, with the architectures
/// of the whole and whatever else of tokens, types, tying and quantisation only the whole says;
/// else `config` itself. Errors: kInvalidArgument when text_config is no object.
Result<Json> text_config_of(Json config, const std::string& config_name);

}  // namespace godwit
