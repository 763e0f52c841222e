#pragma once
// Recurrences as ops. Errors and threading as in ops/dense.h.

#include "base/status.h"
#include "kernels/params/scan.h"

namespace godwit {
class Stream;
}

namespace godwit::ops {

Status step_size(Stream& stream, const StepSizeParams& params);
Status selective_scan(Stream& stream, const SelectiveScanParams& params);
Status linear_recurrence(Stream& stream, const LinearRecurrenceParams& params);

}  // namespace godwit::ops
