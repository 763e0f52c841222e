#include "server/server_context.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/log.h"

namespace godwit {

bool ServedModel::has_name(std::string_view name) const {
  return std::find(names.begin(), names.end(), name) != names.end();
}

IdSource::IdSource() {
  std::random_device device;
  std::seed_seq seed{device(), device(), device(), device()};
  random_.seed(seed);
}

std::string IdSource::next() {
  const std::lock_guard lock(mutex_);
  std::array<char, 33> digits;
  std::snprintf(digits.data(), digits.size(), "%016llx%016llx",
                static_cast<unsigned long long>(random_()),
                static_cast<unsigned long long>(random_()));
  return digits.data();
}

void UnknownFields::report(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxSeen = 256;
  constexpr std::size_t kMaxLength = 64;
  const std::lock_guard lock(mutex_);
  for (const std::string& name : names) {
    std::string shown = name.substr(0, kMaxLength);
    std::replace_if(shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    if (seen_.size() < kMaxSeen && seen_.insert(shown).second) {
      log::info("requests carry the unknown field \"{}\"; it is ignored", shown);
    }
  }
}

}  // namespace godwit
