#include "hub/hub_settings.h"

#include <algorithm>
#include <string_view>

#include "base/mapped_file.h"
#include "hub/hub_name.h"

namespace godwit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPublicHub = "https://huggingface.co";
constexpr std::size_t kLargestTokenFile = 65536;

std::string variable(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value != nullptr ? value : "";
}

bool is_on(const std::string& value) {
  const std::string upper = upper_case(value);
  return upper == "1" || upper == "ON" || upper == "YES" || upper == "TRUE";
}

/// "~/x" as the shell would have it.
fs::path expand_home(const std::string& path, const std::string& home) {
  if (path == "~" || path.starts_with("~/")) {
    return fs::path(home) / fs::path(path.substr(std::min<std::size_t>(2, path.size())));
  }
  return path;
}

std::string strip(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) {
    return {};
  }
  return std::string(text.substr(begin, text.find_last_not_of(kSpace) - begin + 1));
}

Result<std::string> read_token(const Environment& environment, const fs::path& file) {
  std::string token = strip(variable(environment, "HF_TOKEN"));
  std::string source = "HF_TOKEN";
  std::error_code error;
  if (token.empty() && fs::is_regular_file(file, error) &&
      !is_on(variable(environment, "HF_HUB_DISABLE_IMPLICIT_TOKEN"))) {
    source = file.string();
    token = strip(TRY(read_file(file, kLargestTokenFile)));
  }
  // It becomes a header: a line break in it would begin another one.
  if (!std::all_of(token.begin(), token.end(), [](char c) { return c > 0x20 && c < 0x7f; })) {
    return invalid_argument("the token of " + source + " has characters that no token has",
                            "put the token of your account there, on one line");
  }
  return token;
}

}  // namespace

Result<HubSettings> read_hub_settings(const Environment& environment,
                                      const std::string& download_dir) {
  HubSettings settings;
  std::string endpoint = variable(environment, "HF_ENDPOINT");
  if (endpoint.empty()) {
    endpoint = kPublicHub;
  }
  Result<Url> url = parse_url(endpoint);
  if (!url.ok()) {
    return invalid_argument("HF_ENDPOINT: " + std::string(url.status().cause()),
                            std::string(url.status().remedy()));
  }
  settings.endpoint = std::move(url).value();
  while (settings.endpoint.target.ends_with('/')) {
    settings.endpoint.target.pop_back();
  }

  settings.proxies = TRY(read_proxies(environment));

  const std::string home = variable(environment, "HOME");
  std::string user_cache = variable(environment, "XDG_CACHE_HOME");
  if (user_cache.empty()) {
    user_cache = (fs::path(home) / ".cache").string();
  }
  std::string hub_home = variable(environment, "HF_HOME");
  if (hub_home.empty()) {
    hub_home = (fs::path(user_cache) / "huggingface").string();
  }
  const fs::path base = expand_home(hub_home, home);
  std::string cache = download_dir.empty() ? variable(environment, "HF_HUB_CACHE") : download_dir;
  if (cache.empty()) {
    cache = variable(environment, "HUGGINGFACE_HUB_CACHE");
  }
  settings.cache = cache.empty() ? base / "hub" : expand_home(cache, home);
  const std::string token_path = variable(environment, "HF_TOKEN_PATH");
  settings.token = TRY(
      read_token(environment, token_path.empty() ? base / "token" : expand_home(token_path, home)));
  settings.offline = is_on(variable(environment, "HF_HUB_OFFLINE")) ||
                     is_on(variable(environment, "TRANSFORMERS_OFFLINE"));
  return settings;
}

}  // namespace godwit
