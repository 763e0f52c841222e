#pragma once
// One file of a hub on its way into the cache.

#include <string>

#include "base/status.h"
#include "hub/hub_cache.h"
#include "hub/hub_client.h"
#include "hub/progress.h"

namespace godwit {

/// Where a download comes from, where it goes, and who watches.
struct DownloadContext {
  const HubClient& client;
  const HubCache& cache;
  Progress& progress;
};

/// Makes `file` of a commit present in the cache, reading only what is missing: a partial blob is
/// gone on with, even one of an earlier process; a connection that breaks is opened again behind
/// the last byte. The bytes are hashed before they get their name. Errors: those of HubClient;
/// kInvalidArgument when the bytes are not those that the hub named (they are removed then);
/// kResourceExhausted when the disk is full (what is there stays, to go on with).
Status download_file(const DownloadContext& context, const std::string& repository,
                     const std::string& commit, const std::string& file);

}  // namespace godwit
