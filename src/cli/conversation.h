#pragma once
// The turns of a chat, and the prompt that a chat template makes of them.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"
#include "text/chat_template.h"

namespace godwit {

class Conversation {
 public:
  /// `chat_template` must not be null. An empty `system` stands for no system message.
  Conversation(std::shared_ptr<const ChatTemplate> chat_template, std::string system);

  void set_system(std::string system) { system_ = std::move(system); }
  /// Adds a turn; `role` is "user" or "assistant".
  void add(std::string_view role, std::string_view content);
  void drop_last() { turns_.pop_back(); }
  void clear() { turns_.clear(); }

  /// The prompt for the next answer. Errors: those of ChatTemplate::render().
  [[nodiscard]] Result<std::string> render(std::int64_t unix_seconds) const;

 private:
  std::shared_ptr<const ChatTemplate> template_;
  std::string system_;
  JsonArray turns_;
};

}  // namespace godwit
