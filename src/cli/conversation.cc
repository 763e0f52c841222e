#include "cli/conversation.h"

#include "text/local_time.h"

namespace godwit {
namespace {

Json make_message(std::string_view role, std::string_view content) {
  return JsonObject{{"role", role}, {"content", content}};
}

}  // namespace

Conversation::Conversation(std::shared_ptr<const ChatTemplate> chat_template, std::string system)
    : template_(std::move(chat_template)), system_(std::move(system)) {
  CHECK(template_ != nullptr);
}

void Conversation::add(std::string_view role, std::string_view content) {
  turns_.push_back(make_message(role, content));
}

Result<std::string> Conversation::render(std::int64_t unix_seconds) const {
  JsonArray all;
  if (!system_.empty()) {
    all.push_back(make_message("system", system_));
  }
  all.insert(all.end(), turns_.begin(), turns_.end());
  const Json messages(std::move(all));
  return template_->render(
      {.messages = &messages, .add_generation_prompt = true, .now = local_time(unix_seconds)});
}

}  // namespace godwit
