#pragma once
// The fields of a request that say how tokens are drawn and when an output ends.

#include "base/status.h"
#include "request/sampling_params.h"
#include "server/field_reader.h"
#include "server/server_context.h"

namespace godwit {

/// Reads them into `out`, which holds the defaults. max_tokens and logprobs are left to the
/// endpoints, and ranges that need no model to validate().
Status read_sampling_fields(FieldReader& fields, const EngineLimits& limits,
                            const ServedModel& model, SamplingParams& out);

}  // namespace godwit
