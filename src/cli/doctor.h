#pragma once
// `godwit doctor [MODEL]`: what this machine has, and what a model would need, without loading it.

#include <cstdio>

#include "base/status.h"
#include "cli/options.h"

namespace godwit {

/// Errors: what keeps the model from being served, after the report.
Status run_doctor(const DoctorCommand& command, std::FILE* out);

}  // namespace godwit
