#include "cli/server_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <utility>

#include "base/json.h"

namespace godwit {
namespace {

void add_listening_flags(CLI::App& app, ServeOptions& options) {
  app.add_option("--host", options.host, "Address to listen on")->capture_default_str();
  app.add_option("--port", options.port, "Port to listen on; 0 = any")->capture_default_str();
  app.add_option("--uds", options.unix_socket,
                 "Path of a Unix socket to listen on instead of host and port");
  app.add_option("--ssl-certfile", options.tls.certificate_file,
                 "PEM certificate, with those that lead to its authority; makes the server speak "
                 "HTTPS");
  app.add_option("--ssl-keyfile", options.tls.key_file,
                 "PEM key of the certificate; default: in the certificate's file");
  app.add_option("--ssl-ca-certs", options.tls.client_ca_file,
                 "PEM certificates of the authorities that sign clients' certificates");
  app.add_option_function<int>(
         "--ssl-cert-reqs",
         [&options](int value) { options.tls.clients = static_cast<ClientCertificates>(value); },
         "Clients' certificates: 0 none, 1 checked when shown, 2 required")
      ->check(CLI::Range(0, 2));
  app.add_option("--ssl-ciphers", options.tls.ciphers, "Ciphers of TLS 1.2, as OpenSSL names them");
}

void add_access_flags(CLI::App& app, ServeOptions& options) {
  app.add_option("--api-key", options.api_keys, "Keys that clients must show")
      ->envname("VLLM_API_KEY");
  app.add_option("--root-path", options.root_path,
                 "Prefix of paths under which a proxy shows this server");
  app.add_option("--allowed-origins", options.allowed_origins,
                 "JSON list of origins whose pages may ask")
      ->capture_default_str();
  app.add_option("--allowed-methods", options.allowed_methods, "JSON list of methods for them")
      ->capture_default_str();
  app.add_option("--allowed-headers", options.allowed_headers, "JSON list of headers for them")
      ->capture_default_str();
  app.add_flag("--allow-credentials", options.allow_credentials,
               "Let those pages send the user's credentials");
  app.add_flag("--enable-request-id-headers", options.request_id_headers,
               "Answer with X-Request-Id: the request's own, or a random one");
  app.add_option("--max-num-queued-reqs", options.model.engine.max_queued_requests,
                 "Outputs that may run or wait; requests above are answered 503")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void add_log_flags(CLI::App& app, ServeOptions& options) {
  app.add_option("--log-level,--uvicorn-log-level", options.log_level, "What is logged")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "critical"}))
      ->capture_default_str();
  app.add_option("--log-format", options.log_format, "text, or a JSON object a line")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_flag_callback(
      "--disable-uvicorn-access-log", [&options] { options.access_log = false; },
      "No log line for each HTTP request");
  app.add_option("--disable-access-log-for-endpoints", options.quiet_paths,
                 "Paths without such lines, such as /health,/metrics");
  app.add_flag_callback(
      "--disable-log-stats", [&options] { options.log_stats = false; },
      "No periodic log line about throughput");
  app.add_flag_callback(
      "--enable-log-requests", [&options] { options.log_requests = true; },
      "A log line for each request to the engine: its size and parameters");
  app.add_flag_callback(
      "--no-enable-log-requests,--disable-log-requests",
      [&options] { options.log_requests = false; }, "No such lines (default)");
}

}  // namespace

void add_server_flags(CLI::App& app, ServeOptions& options) {
  add_listening_flags(app, options);
  add_access_flags(app, options);
  add_log_flags(app, options);
}

Result<ServerOptions> make_server_options(const ServeOptions& options) {
  ServerOptions server;
  server.http.host = options.host;
  server.http.port = options.port;
  server.http.unix_socket = options.unix_socket;
  server.http.tls = options.tls;
  const TlsOptions& tls = options.tls;
  if (tls.certificate_file.empty() &&
      (!tls.key_file.empty() || !tls.client_ca_file.empty() || !tls.ciphers.empty() ||
       tls.clients != ClientCertificates::kNone)) {
    return invalid_argument("flags of TLS are given without --ssl-certfile",
                            "give the server's certificate");
  }
  if (!options.root_path.empty() && !options.root_path.starts_with('/')) {
    return invalid_argument("--root-path is " + options.root_path, "begin it with /");
  }
  server.edge.root_path = options.root_path;
  server.edge.cors = {
      .origins = TRY(parse_string_list("--allowed-origins", options.allowed_origins)),
      .methods = TRY(parse_string_list("--allowed-methods", options.allowed_methods)),
      .headers = TRY(parse_string_list("--allowed-headers", options.allowed_headers)),
      .credentials = options.allow_credentials};
  server.edge.request_id_headers = options.request_id_headers;
  server.edge.access_log = options.access_log;
  server.edge.quiet_paths = split_list(options.quiet_paths);
  server.log_requests = options.log_requests;
  server.api_keys = options.api_keys;
  return server;
}

Result<std::vector<std::string>> parse_string_list(const std::string& flag,
                                                   const std::string& text) {
  const Result<Json> parsed = parse_json(text, flag);
  std::vector<std::string> list;
  if (parsed.ok() && parsed->is_array()) {
    for (const Json& element : parsed->as_array()) {
      // These end up in headers.
      if (element.is_string() && !element.as_string().empty() &&
          std::all_of(element.as_string().begin(), element.as_string().end(),
                      [](char c) { return c > ' ' && c <= '~'; })) {
        list.push_back(element.as_string());
      }
    }
    if (list.size() == parsed->as_array().size()) {
      return list;
    }
  }
  return invalid_argument(flag + " is " + text, R"(give a JSON list of strings, such as ["*"])");
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view part = rest.substr(0, comma);
    const std::size_t begin = std::min(part.find_first_not_of(' '), part.size());
    const std::string_view bare = part.substr(begin, part.find_last_not_of(' ') + 1 - begin);
    if (!bare.empty()) {
      parts.emplace_back(bare);
    }
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return parts;
}

}  // namespace godwit
