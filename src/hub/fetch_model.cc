#include "hub/fetch_model.h"

#include <algorithm>
#include <vector>

#include "base/log.h"
#include "base/mapped_file.h"
#include "hub/download.h"
#include "hub/hub_cache.h"
#include "hub/model_files.h"

namespace godwit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMainBranch = "main";
constexpr std::size_t kLargestIndex = 100'000'000;

/// Walks through what a model needs, downloading it or, offline, finding it in the cache.
class Fetch {
 public:
  Fetch(const HubName& name, FetchScope scope, const HubCache& cache, RepositoryFiles files,
        const DownloadContext* online)
      : name_(name), scope_(scope), cache_(cache), files_(std::move(files)), online_(online) {}

  Result<fs::path> run() const {
    const fs::path snapshot = cache_.snapshot(files_.commit);
    if (!name_.file.empty()) {
      std::vector<std::string> parts = TRY(gguf_files());
      if (scope_ == FetchScope::kText) {
        parts.resize(1);  // The first has the vocabulary and the chat template.
      }
      for (const std::string& part : parts) {
        TRY(need(part));
      }
      return snapshot / parts.front();
    }
    std::string weights;
    if (scope_ == FetchScope::kModel) {
      weights = TRY(select_weights(files_.files, name_.repository));
    }
    const std::vector<std::string> text_files = select_text_files(files_.files);
    if (text_files.empty()) {
      return not_found(name_.repository + " has no configuration and no tokenizer",
                       "check the name; a GGUF file is named " + name_.repository + ":FILE.gguf");
    }
    for (const std::string& file : text_files) {
      TRY(need(file));
    }
    if (!weights.empty()) {
      for (const std::string& file : TRY(tensor_files(weights))) {
        TRY(need(file));
      }
    }
    return snapshot;
  }

  /// Bytes of the tensors' files, as the hub tells them.
  Result<std::uint64_t> count_weights() const {
    std::vector<std::string> names;
    if (!name_.file.empty()) {
      names = TRY(gguf_files());
    } else {
      const std::string weights = TRY(select_weights(files_.files, name_.repository));
      names = TRY(tensor_files(weights));
    }
    std::uint64_t bytes = 0;
    for (const std::string& file : names) {
      bytes += TRY(online_->client.facts(name_.repository, files_.commit, file)).size;
    }
    return bytes;
  }

 private:
  Status need(const std::string& file) const {
    if (online_ != nullptr) {
      return download_file(*online_, name_.repository, files_.commit, file);
    }
    if (!cache_.has(files_.commit, file)) {
      return not_found("the cache has no " + file + " of " + name_.repository + " (" +
                           cache_.snapshot(files_.commit).string() + ")",
                       "call once without HF_HUB_OFFLINE to download it");
    }
    return {};
  }

  /// The .gguf file of the name, or all parts of one.
  Result<std::vector<std::string>> gguf_files() const {
    std::vector<std::string> parts = TRY(select_gguf(files_.files, name_.file, name_.repository));
    for (const std::string& part : parts) {
      TRY(check_listed(part, parts.front()));
    }
    return parts;
  }

  /// Errors: kNotFound when the hub does not have `file`, of which `source` speaks.
  Status check_listed(const std::string& file, const std::string& source) const {
    const auto& files = files_.files;
    if (online_ != nullptr && std::find(files.begin(), files.end(), file) == files.end()) {
      return not_found(source + " of " + name_.repository + " names " + file +
                           ", which the repository does not have",
                       "choose another revision");
    }
    return {};
  }

  /// The files with tensors: `weights` itself, or the shards of that index.
  Result<std::vector<std::string>> tensor_files(const std::string& weights) const {
    if (weights.ends_with(".safetensors")) {
      return std::vector<std::string>{weights};
    }
    TRY(need(weights));
    const std::string index =
        TRY(read_file(cache_.snapshot(files_.commit) / weights, kLargestIndex));
    std::vector<std::string> shards = TRY(read_shards(index, name_.repository));
    for (const std::string& shard : shards) {
      TRY(check_listed(shard, weights));
    }
    return shards;
  }

  const HubName& name_;
  FetchScope scope_;
  const HubCache& cache_;
  RepositoryFiles files_;
  const DownloadContext* online_;  ///< Null: the cache must have everything.
};

std::string revision_of(const HubName& name) {
  return name.revision.empty() ? std::string(kMainBranch) : name.revision;
}

Result<fs::path> find_in_cache(const HubName& name, const std::string& revision, FetchScope scope,
                               const HubCache& cache) {
  RepositoryFiles files;
  files.commit = TRY(cache.commit_of(revision));
  files.files = TRY(cache.files(files.commit));
  return Fetch(name, scope, cache, std::move(files), nullptr).run();
}

}  // namespace

Result<fs::path> fetch_model(const HubName& name, FetchScope scope, const HubSettings& settings,
                             Progress& progress, const RetryPolicy& retries) {
  const std::string revision = revision_of(name);
  const HubCache cache(settings.cache, name.repository);
  if (settings.offline) {
    Result<fs::path> found = find_in_cache(name, revision, scope, cache);
    if (!found.ok() && found.status().remedy().empty()) {
      return not_found(name.repository + " is not in the cache: " + found.status().message(),
                       "call once without HF_HUB_OFFLINE to download it");
    }
    return found;
  }
  const HubClient client(settings, retries);
  Result<RepositoryFiles> listed = client.list(name.repository, revision);
  if (!listed.ok()) {
    if (listed.status().code() != StatusCode::kUnavailable) {
      return listed.status();
    }
    Result<fs::path> found = find_in_cache(name, revision, scope, cache);
    if (!found.ok()) {
      return listed.status();
    }
    log::warning("{}: the cached snapshot {} is used", listed.status().cause(), found->string());
    return found;
  }
  const std::string commit = listed->commit;
  const DownloadContext context{.client = client, .cache = cache, .progress = progress};
  fs::path path = TRY(Fetch(name, scope, cache, std::move(listed).value(), &context).run());
  // Remembered last: until all is there, the name stands for the snapshot that it stood for.
  TRY(cache.remember(revision, commit));
  return path;
}

Result<fs::path> find_cached_model(const HubName& name, const HubSettings& settings) {
  const HubCache cache(settings.cache, name.repository);
  return find_in_cache(name, revision_of(name), FetchScope::kModel, cache);
}

Result<std::uint64_t> weight_bytes(const HubName& name, const HubSettings& settings,
                                   Progress& progress, const RetryPolicy& retries) {
  if (settings.offline) {
    return not_found("the cache does not have all of " + name.repository,
                     "call without HF_HUB_OFFLINE");
  }
  const HubClient client(settings, retries);
  const HubCache cache(settings.cache, name.repository);
  RepositoryFiles files = TRY(client.list(name.repository, revision_of(name)));
  const DownloadContext context{.client = client, .cache = cache, .progress = progress};
  return Fetch(name, FetchScope::kModel, cache, std::move(files), &context).count_weights();
}

}  // namespace godwit
