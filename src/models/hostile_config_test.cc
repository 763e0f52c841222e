// Every family's config with one field changed to what it cannot be: refused, or taken, but without
// a crash and without memory for what it asks.

#include <filesystem>

#include <gtest/gtest.h>

#include "models/model.h"
#include "models/text_config.h"
#include "support/fixtures.h"

namespace godwit {
namespace {

std::vector<Json> hostile_values() {
  std::vector<Json> values;
  values.emplace_back(std::int64_t{-1});
  values.emplace_back(std::int64_t{0});
  values.emplace_back(std::int64_t{3});
  values.emplace_back(std::int64_t{1} << 40);
  values.emplace_back(std::int64_t{1} << 62);
  values.emplace_back(0.5);
  values.emplace_back(1e308);
  values.emplace_back("x");
  values.emplace_back(true);
  values.emplace_back(nullptr);
  values.push_back(parse_json("[]", "list").value());
  values.push_back(parse_json("{}", "object").value());
  values.push_back(parse_json("[-1, 1099511627776]", "numbers").value());
  return values;
}

struct Counts {
  std::int64_t refused = 0;
  std::int64_t taken = 0;
};

/// Tries one config. What is taken must also say what it stores.
void try_config(const Json& config, const std::string& what, Counts& counts) {
  const Result<std::unique_ptr<Model>> model = create_model(config, "config.json");
  if (!model.ok()) {
    ++counts.refused;
    EXPECT_NE(model.status().message().find("config.json"), std::string::npos)
        << what << ": " << model.status().message();
    return;
  }
  ++counts.taken;
  for (const LayerCacheSpec& spec : (*model)->cache_specs()) {
    ASSERT_GE(spec.width(), 0) << what;
    ASSERT_GE(spec.state.size(), 0) << what;
    ASSERT_GT(spec.width() + spec.state.size(), 0) << what;
    ASSERT_GE(spec.layer, 0) << what;
  }
}

/// Changes every field of `config`, and those of objects in it, one at a time.
void change_fields(const Json& config, const std::string& fixture, Counts& counts) {
  for (const auto& [key, value] : config.as_object()) {
    for (const Json& hostile : hostile_values()) {
      Json changed = config;
      changed.set(key, hostile);
      try_config(changed, fixture + ": " + key, counts);
    }
    if (!value.is_object()) {
      continue;
    }
    for (const auto& [inner_key, unused] : value.as_object()) {
      for (const Json& hostile : hostile_values()) {
        Json inner = value;
        inner.set(inner_key, hostile);
        Json changed = config;
        changed.set(key, inner);
        try_config(changed, fixture + ": " + key + "." + inner_key, counts);
      }
    }
  }
}

TEST(HostileConfigTest, OneWrongFieldNeverCrashes) {
  Counts counts;
  std::vector<std::filesystem::path> folders = {test::test_data() / "models"};
  if (const auto shared = test::shared_fixtures()) {
    folders.push_back(*shared / "models");
  }
  for (const std::filesystem::path& folder : folders) {
    for (const auto& fixture : std::filesystem::directory_iterator(folder)) {
      for (const char* name : {"config.json", "config.v4.json"}) {
        const std::filesystem::path path = fixture.path() / name;
        if (std::filesystem::exists(path)) {
          SCOPED_TRACE(path.string());
          JsonParseOptions options;
          options.allow_non_finite = true;
          const Json config =
              text_config_of(parse_json(test::read_text(path), "config.json", options).value(),
                             "config.json")
                  .value();
          change_fields(config, fixture.path().filename().string(), counts);
        }
      }
    }
  }
  EXPECT_GT(counts.refused, 10'000);
  EXPECT_GT(counts.taken, 10'000);
}

}  // namespace
}  // namespace godwit
