// Names, URLs and settings: everything that is text before it is a request.

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "hub/hub_name.h"
#include "hub/hub_settings.h"
#include "hub/url.h"

namespace godwit {
namespace {

TEST(HubName, SplitsRepositoryRevisionAndFile) {
  const auto name = parse_hub_name("Qwen/Qwen2.5-0.5B@refs/pr/1:sub/Q4_K_M");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->repository, "Qwen/Qwen2.5-0.5B");
  EXPECT_EQ(name->revision, "refs/pr/1");
  EXPECT_EQ(name->file, "sub/Q4_K_M");
  EXPECT_EQ(parse_hub_name("a/b")->revision, "");
}

TEST(HubName, RefusesWhatNoHubTakes) {
  for (const char* text : {"",         "/",      "a",       "a/",       "/b",     "a/b/c",
                           "./a",      "../a",   "a/..",    "~/a",      "a//b",   "a/b--c",
                           "a/.b",     "a/b.",   "a/b.git", "a/b.gguf", "a b/c",  "a/b@",
                           "a/b@../c", "a/b@-x", "a/b:",    "a/b:../c", "a/b:/c", "a/b:c\n",
                           "a/b%2f",   "a/b?c",  "C:/a/b"}) {
    EXPECT_FALSE(parse_hub_name(text)) << text;
  }
  EXPECT_FALSE(parse_hub_name("a/" + std::string(97, 'b')));
}

TEST(HubName, FileNamesStayInTheirFolder) {
  for (const char* safe : {"a", "a/b.jinja", "a b", "..a", "a..b", "\xc3\xa4"}) {
    EXPECT_TRUE(is_safe_file_name(safe)) << safe;
  }
  for (const char* hostile : {"", "/a", "../a", "a/../b", "a/..", "./a", "a//b", "a/", "a\\b",
                              "a\nb", "a\x7f", "..", "."}) {
    EXPECT_FALSE(is_safe_file_name(hostile)) << hostile;
  }
  EXPECT_FALSE(is_safe_file_name(std::string("a\0b", 3)));
  EXPECT_FALSE(is_safe_file_name(std::string(256, 'a')));
  EXPECT_FALSE(is_safe_file_name("a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a"));
}

TEST(Url, ReadsAndRefuses) {
  const Result<Url> url = parse_url("HTTPS://Hub.Example:8443/a?b#c");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->host, "hub.example");
  EXPECT_EQ(url->port, 8443);
  EXPECT_EQ(url->target, "/a?b");
  EXPECT_EQ(url->shown(), "https://hub.example:8443/a");
  EXPECT_EQ(parse_url("http://[::1]:80")->authority(), "[::1]");
  EXPECT_TRUE(parse_url("http://127.0.0.1:1")->is_loopback());
  EXPECT_FALSE(parse_url("http://127.evil.example")->is_loopback());
  for (const char* wrong :
       {"", "hub", "ftp://a", "http://", "http://u:p@a", "http://a:0", "http://a:65536",
        "http://a:b", "http://a b", "http://a/\r\nX: y", "http://[::1", "http://a%2f"}) {
    EXPECT_FALSE(parse_url(wrong).ok()) << wrong;
  }
}

TEST(Url, ResolvesReferences) {
  const Url base = *parse_url("https://a:1/x/y?q=/z");
  const std::map<std::string, std::string> cases = {{"/b", "https://a:1/b"},
                                                    {"b?c", "https://a:1/x/b"},
                                                    {"//c/d", "https://c/d"},
                                                    {"http://e/f?g=h://i", "http://e/f"}};
  for (const auto& [reference, expected] : cases) {
    const Result<Url> url = resolve_url(base, reference);
    ASSERT_TRUE(url.ok()) << reference;
    EXPECT_EQ(url->shown(), expected);
  }
  EXPECT_EQ(encode_path("a b/c#?%\xc3\xa4"), "a%20b/c%23%3F%25%C3%A4");
}

class Settings : public ::testing::Test {
 protected:
  Result<HubSettings> read(const std::string& download_dir = {}) const {
    return read_hub_settings(
        [this](const char* name) {
          const auto found = variables_.find(name);
          return found == variables_.end() ? nullptr : found->second.c_str();
        },
        download_dir);
  }
  std::map<std::string, std::string> variables_ = {{"HOME", "/my"}};
};

TEST_F(Settings, DefaultsAreThoseOfHuggingFaceHub) {
  const Result<HubSettings> settings = read();
  ASSERT_TRUE(settings.ok());
  EXPECT_TRUE(settings->endpoint.tls);
  EXPECT_EQ(settings->endpoint.target, "");
  EXPECT_EQ(settings->cache, "/my/.cache/huggingface/hub");
  EXPECT_FALSE(settings->offline);
}

TEST_F(Settings, VariablesGoInTheirOrder) {
  variables_["XDG_CACHE_HOME"] = "/xdg";
  EXPECT_EQ(read()->cache, "/xdg/huggingface/hub");
  variables_["HF_HOME"] = "~/hf";
  EXPECT_EQ(read()->cache, "/my/hf/hub");
  variables_["HF_HUB_CACHE"] = "/cache";
  EXPECT_EQ(read()->cache, "/cache");
  EXPECT_EQ(read("/given")->cache, "/given");
  variables_["HF_ENDPOINT"] = "https://mirror/hub/";
  EXPECT_EQ(read()->endpoint.target, "/hub");
  variables_["HF_HUB_OFFLINE"] = "yes";
  EXPECT_TRUE(read()->offline);
  variables_["HF_ENDPOINT"] = "mirror";
  EXPECT_NE(read().status().message().find("HF_ENDPOINT"), std::string::npos);
}

TEST_F(Settings, TheTokenComesFromTheVariableOrTheFile) {
  const auto file =
      std::filesystem::temp_directory_path() / ("godwit-token-" + std::to_string(getpid()));
  std::ofstream(file) << " hf_file\n";
  variables_["HF_TOKEN_PATH"] = file.string();
  EXPECT_EQ(read()->token, "hf_file");
  variables_["HF_TOKEN"] = "hf_variable";
  EXPECT_EQ(read()->token, "hf_variable");
  variables_["HF_TOKEN"] = "a\r\nX-Evil: b";
  EXPECT_FALSE(read().ok());
  variables_.erase("HF_TOKEN");
  variables_["HF_HUB_DISABLE_IMPLICIT_TOKEN"] = "1";
  EXPECT_EQ(read()->token, "");
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace godwit
