#pragma once
// What every handler may use.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "request/sampling_params.h"
#include "server/engine_client.h"

namespace godwit {

class ChatTemplate;
class Tokenizer;

/// The model behind the API. Immutable.
struct ServedModel {
  std::vector<std::string> names;  ///< At least one; the first one is the model's own.
  std::string root;                ///< The path that it was loaded from.
  std::int64_t created = 0;        ///< Seconds since 1970; Server::create fills it in.
  std::int64_t max_model_len = 0;
  std::shared_ptr<const Tokenizer> tokenizer;         ///< Null: requests and answers are token ids.
  std::shared_ptr<const ChatTemplate> chat_template;  ///< Null: no chat.
  /// What generation_config.json asks for; a request's own fields win.
  SamplingParams defaults;
  /// A limit on every request's max_tokens (max_new_tokens of generation_config.json).
  std::optional<std::int64_t> max_output_tokens;

  [[nodiscard]] bool has_name(std::string_view name) const;
};

/// Makes the unguessable part of ids. Thread-safe.
class IdSource {
 public:
  IdSource();
  /// 32 hexadecimal digits.
  std::string next();

 private:
  std::mutex mutex_;
  std::mt19937_64 random_;  // guarded by mutex_
};

/// Logs each unknown field's name once. Thread-safe.
class UnknownFields {
 public:
  void report(const std::vector<std::string>& names);

 private:
  std::mutex mutex_;
  std::set<std::string> seen_;  // guarded by mutex_; bounded
};

/// Threading: shared by all of the server's threads.
struct ServerContext {
  ServedModel model;
  std::string version;
  std::string root_path;      ///< The prefix under which a proxy shows this server; may be empty.
  bool log_requests = false;  ///< Each request to the engine gets a line in the log.
  std::unique_ptr<EngineClient> engine;
  const Clock* clock = nullptr;
  std::atomic<bool> draining = false;  ///< Refuses requests; those that run go on.
  IdSource ids;
  UnknownFields unknown_fields;
};

}  // namespace godwit
