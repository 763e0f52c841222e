#pragma once
// Where the hub is and what we show it, from the environment: the variables of huggingface_hub.

#include <filesystem>
#include <functional>
#include <string>

#include "base/status.h"
#include "hub/proxy.h"
#include "hub/url.h"

namespace godwit {

struct HubSettings {
  Url endpoint;  ///< HF_ENDPOINT. Its target is a prefix of all paths, without a '/' at the end.
  std::string token;            ///< HF_TOKEN, or the file's; empty = anonymous.
  std::filesystem::path cache;  ///< HF_HUB_CACHE: the folder of models--ORG--NAME.
  HttpProxies proxies;          ///< HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY.
  bool offline = false;         ///< HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE.
};

/// The value of a variable of the environment; null when it is not set.
using Environment = std::function<const char*(const char* name)>;

/// Reads HF_ENDPOINT, HF_TOKEN, HF_TOKEN_PATH, HF_HOME, HF_HUB_CACHE, XDG_CACHE_HOME,
/// HF_HUB_OFFLINE, HF_HUB_DISABLE_IMPLICIT_TOKEN and those of proxies, with huggingface_hub's
/// defaults. `download_dir` (--download-dir) goes before HF_HUB_CACHE when it is not empty. Errors:
/// kInvalidArgument naming the variable.
Result<HubSettings> read_hub_settings(const Environment& environment,
                                      const std::string& download_dir = {});

}  // namespace godwit
