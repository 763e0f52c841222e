#pragma once
// Which distributed trace a request belongs to: the headers traceparent and tracestate of W3C's
// Trace Context. Records no spans: it lets log lines be found from a trace.

#include <optional>
#include <string>

#include "server/http.h"

namespace godwit {

struct TraceContext {
  std::string trace_id;   ///< 32 hexadecimal digits, as are the next two 16 and 2.
  std::string parent_id;  ///< The caller's span.
  std::string flags;
  std::string state;  ///< What other systems told of the trace; empty when none or malformed.
};

/// The context that a request carries; nothing when it carries none or one that W3C Trace Context
/// (level 1, sections 3.2 and 3.3) says to ignore.
std::optional<TraceContext> read_trace_context(const HttpRequest& request);

}  // namespace godwit
