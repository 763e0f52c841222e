#include "cli/server_flags.h"

#include <CLI/CLI.hpp>

#include <gtest/gtest.h>

namespace godwit {
namespace {

using Flags = std::vector<std::string>;

Result<ServerOptions> parse(Flags flags) {
  CLI::App app;
  ServeOptions options;
  add_server_flags(app, options);
  std::reverse(flags.begin(), flags.end());
  app.parse(flags);
  return make_server_options(options);
}

TEST(ServerFlags, DefaultsAreVllms) {
  const ServerOptions options = parse({}).value();
  EXPECT_EQ(options.edge.cors.origins, Flags{"*"});
  EXPECT_FALSE(options.edge.cors.credentials);
  EXPECT_FALSE(options.edge.request_id_headers);
  EXPECT_TRUE(options.edge.access_log);
  EXPECT_FALSE(options.log_requests);
  EXPECT_EQ(options.http.host, "0.0.0.0");
  EXPECT_TRUE(options.http.tls.certificate_file.empty());
}

TEST(ServerFlags, EveryFlagReachesTheServer) {
  const ServerOptions options = parse({"--uds",
                                       "/tmp/s",
                                       "--ssl-certfile",
                                       "c",
                                       "--ssl-keyfile",
                                       "k",
                                       "--ssl-ca-certs",
                                       "a",
                                       "--ssl-cert-reqs",
                                       "2",
                                       "--ssl-ciphers",
                                       "HIGH",
                                       "--root-path",
                                       "/api",
                                       "--allowed-origins",
                                       R"(["https://a", "https://b"])",
                                       "--allowed-methods",
                                       R"(["POST"])",
                                       "--allowed-headers",
                                       R"(["X-A"])",
                                       "--allow-credentials",
                                       "--enable-request-id-headers",
                                       "--disable-uvicorn-access-log",
                                       "--disable-access-log-for-endpoints",
                                       "/health, /metrics",
                                       "--enable-log-requests"})
                                    .value();
  EXPECT_EQ(options.http.unix_socket, "/tmp/s");
  EXPECT_EQ(options.http.tls.certificate_file, "c");
  EXPECT_EQ(options.http.tls.key_file, "k");
  EXPECT_EQ(options.http.tls.client_ca_file, "a");
  EXPECT_EQ(options.http.tls.clients, ClientCertificates::kRequired);
  EXPECT_EQ(options.http.tls.ciphers, "HIGH");
  EXPECT_EQ(options.edge.root_path, "/api");
  EXPECT_EQ(options.edge.cors.origins, (Flags{"https://a", "https://b"}));
  EXPECT_EQ(options.edge.cors.methods, Flags{"POST"});
  EXPECT_EQ(options.edge.cors.headers, Flags{"X-A"});
  EXPECT_TRUE(options.edge.cors.credentials);
  EXPECT_TRUE(options.edge.request_id_headers);
  EXPECT_FALSE(options.edge.access_log);
  EXPECT_EQ(options.edge.quiet_paths, (Flags{"/health", "/metrics"}));
  EXPECT_TRUE(options.log_requests);
}

TEST(ServerFlags, WhatCannotBeMeantIsRefusedByName) {
  for (const auto& [flag, value] :
       {std::pair("--allowed-origins", "https://a"), std::pair("--allowed-methods", "[1]"),
        std::pair("--allowed-headers", "[\"a\\r\\nb\"]"), std::pair("--root-path", "api")}) {
    const auto options = parse({flag, value});
    ASSERT_FALSE(options.ok()) << flag;
    EXPECT_NE(options.status().message().find(flag), std::string::npos);
  }
  EXPECT_FALSE(parse({"--ssl-keyfile", "k"}).ok());
  EXPECT_THROW(static_cast<void>(parse({"--ssl-cert-reqs", "3"})), CLI::ValidationError);
  EXPECT_THROW(static_cast<void>(parse({"--max-num-queued-reqs", "0"})), CLI::ValidationError);
}

}  // namespace
}  // namespace godwit
