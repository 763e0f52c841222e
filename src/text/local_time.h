#pragma once
// The wall clock as chat templates print it.

#include <cstdint>

#include "text/jinja/template.h"

namespace godwit {

/// Breaks seconds since 1970 down in this process's time zone.
jinja::LocalTime local_time(std::int64_t unix_seconds);

}  // namespace godwit
