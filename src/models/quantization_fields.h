#pragma once
// Reading of how a config says that the weights are quantised.

#include "base/status.h"
#include "models/config_reader.h"
#include "weights/quantization.h"

namespace godwit {

/// What `quantization_config` says; without one, no quantisation. Errors: kUnimplemented naming a
/// scheme, or a variant of one, that godwit lacks; kInvalidArgument naming a field that makes no
/// sense.
Result<Quantization> read_quantization(const ConfigReader& reader);

/// Errors: kUnimplemented when the config says that the weights are quantised: for models whose
/// weights are read in an order of their own.
Status refuse_quantization(const ConfigReader& reader);

}  // namespace godwit
