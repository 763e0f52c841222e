#pragma once
// The kernel tables of the CPU, one an instruction set.

#include <span>
#include <string_view>

#include "base/status.h"
#include "kernels/kernel_table.h"

namespace godwit {

struct CpuKernels {
  std::string_view isa;  ///< "ref", "generic", "avx2", "avx512", ...
  const KernelTable* table = nullptr;
  bool supported = false;  ///< Whether this processor can run it.
};

/// Every table of this build, the fastest first; the last is `ref`, the scalar oracle.
std::span<const CpuKernels> cpu_kernels();

/// The named table, or the fastest supported one when `isa` is empty.
/// Errors: kNotFound naming the tables; kUnimplemented when the processor cannot run it.
Result<const KernelTable*> find_cpu_kernels(std::string_view isa);

}  // namespace godwit
