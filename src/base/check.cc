#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace godwit {

void check_failed(const char* condition, std::source_location where) {
  std::fprintf(stderr, "%s:%u: in %s: CHECK failed: %s\n", where.file_name(), where.line(),
               where.function_name(), condition);
  std::abort();
}

void check_failed(const char* condition, long long left, long long right,
                  std::source_location where) {
  std::fprintf(stderr, "%s:%u: in %s: CHECK failed: %s (%lld and %lld)\n", where.file_name(),
               where.line(), where.function_name(), condition, left, right);
  std::abort();
}

}  // namespace godwit
