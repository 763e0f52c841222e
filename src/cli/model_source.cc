#include "cli/model_source.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

#include "base/clock.h"
#include "hub/fetch_model.h"

namespace godwit {
namespace {

/// The hub's name, when `text` is one and no path.
Result<std::optional<HubName>> as_hub_name(const std::string& text, const HubFlags& flags) {
  std::error_code error;
  if (text.empty() || std::filesystem::exists(text, error)) {
    return std::optional<HubName>();
  }
  std::optional<HubName> name = parse_hub_name(text);
  if (name && !flags.revision.empty()) {
    if (!is_revision(flags.revision)) {
      return invalid_argument("--revision is \"" + printable(flags.revision) + "\"",
                              "give a branch, a tag or a commit");
    }
    if (!name->revision.empty() && name->revision != flags.revision) {
      return invalid_argument(
          "--revision is " + flags.revision + ", and " + text + " names another one",
          "give one of them");
    }
    name->revision = flags.revision;
  }
  return name;
}

Result<HubSettings> settings_of(const HubFlags& flags) {
  return read_hub_settings([](const char* name) { return std::getenv(name); }, flags.download_dir);
}

/// A wrong path may look like a hub's name: then the hub's answer alone would mislead.
Status neither(const std::string& text, const Status& status) {
  if (status.code() != StatusCode::kNotFound) {
    return status;
  }
  return not_found("there is no file or folder " + text +
                       ", and as a name on the hub: " + std::string(status.cause()),
                   std::string(status.remedy()));
}

Result<std::string> fetch(const std::string& text, const HubName& name, const HubFlags& flags,
                          FetchScope scope) {
  const SystemClock clock;
  StreamProgress progress(stderr, ::isatty(STDERR_FILENO) == 1, clock);
  const Result<std::filesystem::path> path =
      fetch_model(name, scope, TRY(settings_of(flags)), progress);
  if (!path.ok()) {
    return neither(text, path.status());
  }
  return path->string();
}

Result<std::string> locate(const std::string& text, const HubFlags& flags, FetchScope scope) {
  const std::optional<HubName> name = TRY(as_hub_name(text, flags));
  return name ? fetch(text, *name, flags, scope) : text;
}

}  // namespace

Result<ModelOptions> locate_model(ModelOptions options) {
  options.model = TRY(locate(options.model, options.hub, FetchScope::kModel));
  // The revision is the model's; a tokenizer of its own may name one with '@'.
  const HubFlags flags{.revision = "", .download_dir = options.hub.download_dir};
  options.tokenizer = TRY(locate(options.tokenizer, flags, FetchScope::kText));
  return options;
}

Result<std::string> locate_text(const std::string& name, const HubFlags& flags) {
  return locate(name, flags, FetchScope::kText);
}

Result<ModelOutline> locate_outline(const ModelOptions& options) {
  const std::optional<HubName> name = TRY(as_hub_name(options.model, options.hub));
  if (!name) {
    return ModelOutline{.path = options.model, .absent_bytes = {}};
  }
  const HubSettings settings = TRY(settings_of(options.hub));
  const SystemClock clock;
  StreamProgress progress(stderr, ::isatty(STDERR_FILENO) == 1, clock);
  if (const Result<std::filesystem::path> cached = find_cached_model(*name, settings);
      cached.ok()) {
    return ModelOutline{.path = cached->string(), .absent_bytes = {}};
  }
  ModelOutline outline;
  if (name->file.empty()) {
    outline.path = TRY(fetch(options.model, *name, options.hub, FetchScope::kText));
  }
  const Result<std::uint64_t> bytes = weight_bytes(*name, settings, progress);
  if (!bytes.ok()) {
    return neither(options.model, bytes.status());
  }
  outline.absent_bytes = *bytes;
  return outline;
}

}  // namespace godwit
