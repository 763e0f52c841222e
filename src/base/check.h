#pragma once
// Invariants. CHECK is always on: a broken invariant must stop the process before it serves a wrong
// token. DCHECK is for hot paths and is on in debug and sanitizer builds.

#include <source_location>

namespace godwit {

/// Prints the failed condition with its place and aborts.
[[noreturn]] void check_failed(const char* condition,
                               std::source_location where = std::source_location::current());

/// As check_failed, and prints both sides of a comparison.
[[noreturn]] void check_failed(const char* condition, long long left, long long right,
                               std::source_location where = std::source_location::current());

}  // namespace godwit

#define CHECK(condition)                  \
  do {                                    \
    if (!(condition)) [[unlikely]] {      \
      ::godwit::check_failed(#condition); \
    }                                     \
  } while (false)

/// Compares two integers and prints both when the comparison does not hold.
#define CHECK_OP(left, op, right)                                                           \
  do {                                                                                      \
    const auto godwit_left = (left);                                                        \
    const auto godwit_right = (right);                                                      \
    if (!(godwit_left op godwit_right)) [[unlikely]] {                                      \
      ::godwit::check_failed(#left " " #op " " #right, static_cast<long long>(godwit_left), \
                             static_cast<long long>(godwit_right));                         \
    }                                                                                       \
  } while (false)

#define CHECK_EQ(left, right) CHECK_OP(left, ==, right)
#define CHECK_LE(left, right) CHECK_OP(left, <=, right)
#define CHECK_LT(left, right) CHECK_OP(left, <, right)
#define CHECK_GE(left, right) CHECK_OP(left, >=, right)
#define CHECK_GT(left, right) CHECK_OP(left, >, right)

#ifdef NDEBUG
#define DCHECK(condition) static_cast<void>(0)
#else
#define DCHECK(condition) CHECK(condition)
#endif
