#pragma once
// Splits a stream of server-sent events, which arrives in pieces cut anywhere, into their data.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace godwit {

class EventReader {
 public:
  /// Takes the next piece of the stream. Errors: kInvalidArgument when one event is longer than
  /// 16 MiB.
  Status add(std::string_view piece);

  /// The data of the next whole event ("data:" lines joined; other fields are dropped); nothing
  /// until more is added.
  std::optional<std::string> next();

 private:
  std::string buffer_;
  std::size_t begin_ = 0;  ///< Where the text begins that next() has not looked at.
  std::string data_;       ///< Of the event that is being read.
  bool has_data_ = false;
};

}  // namespace godwit
