#pragma once
// From the name of a model on a hub to a folder or .gguf file on this machine.

#include <cstdint>
#include <filesystem>

#include "base/status.h"
#include "hub/hub_client.h"
#include "hub/hub_name.h"
#include "hub/hub_settings.h"
#include "hub/progress.h"
#include "hub/retries.h"

namespace godwit {

enum class FetchScope {
  kText,   ///< Configuration, tokenizer and chat templates; of a GGUF repository the file, of
           ///< several the first.
  kModel,  ///< The weights, too.
};

/// Downloads what is missing of a model into the cache and returns its snapshot's folder, or the
/// path of the .gguf file in it. Online, the hub says which commit the revision ("" = main) is;
/// when it cannot be reached, a cached snapshot that has everything is used, with a warning.
/// Offline nothing but the cache is used. Errors say what to do.
Result<std::filesystem::path> fetch_model(const HubName& name, FetchScope scope,
                                          const HubSettings& settings, Progress& progress,
                                          const RetryPolicy& retries = {});

/// What fetch_model() would return, if the cache has all of it; never a connection.
Result<std::filesystem::path> find_cached_model(const HubName& name, const HubSettings& settings);

/// Bytes of the files that hold a model's tensors, as the hub tells them; of weights in shards, the
/// index is downloaded.
Result<std::uint64_t> weight_bytes(const HubName& name, const HubSettings& settings,
                                   Progress& progress, const RetryPolicy& retries = {});

}  // namespace godwit
