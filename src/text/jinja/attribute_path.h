#pragma once
// The `attribute` argument of filters: "a.b.0" or an index, looked up as subscripts one by one.

#include <vector>

#include "base/status.h"
#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace godwit::jinja {

class AttributePath {
 public:
  /// Reads one path.
  static Result<AttributePath> parse(Budget& budget, const Value& attribute);
  /// Reads paths separated by commas.
  static Result<std::vector<AttributePath>> parse_list(Budget& budget, const Value& attribute);

  /// Follows the path from `object`.
  [[nodiscard]] Result<Value> get(Runtime& runtime, const Value& object) const;

 private:
  std::vector<Value> parts_;
};

}  // namespace godwit::jinja
