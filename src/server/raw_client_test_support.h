#pragma once
// What the tests of HTTP share: a client that does nothing on its own.

#include <arpa/inet.h>
#include <cstdint>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

namespace godwit {

/// A client that sends and expects bytes as they are.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port, int receive_buffer = 0)
      : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0) {
      setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    }
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  ~RawClient() { close(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        return;
      }
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  /// Reads until `end` has come; returns everything up to and with it, or all there is.
  std::string read_until(std::string_view end) {
    std::size_t found = received_.find(end);
    while (found == std::string::npos && receive()) {
      found = received_.find(end);
    }
    const std::size_t size = found == std::string::npos ? received_.size() : found + end.size();
    std::string out = received_.substr(0, size);
    received_.erase(0, size);
    return out;
  }
  /// Reads a response whose length is given.
  std::string read_response() {
    std::string head = read_until("\r\n\r\n");
    const std::size_t at = head.find("Content-Length: ");
    if (at == std::string::npos) {
      return head;
    }
    const std::size_t length = std::stoul(head.substr(at + 16));
    while (received_.size() < length && receive()) {
    }
    head += received_.substr(0, length);
    received_.erase(0, length);
    return head;
  }
  std::string read_to_end() {
    while (receive()) {
    }
    return std::exchange(received_, {});
  }
  void shutdown_send() { shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0) {
      ::close(std::exchange(fd_, -1));
    }
  }

 private:
  bool receive() {
    char buffer[4096];
    const ssize_t got = recv(fd_, buffer, sizeof(buffer), 0);
    if (got <= 0) {
      return false;
    }
    received_.append(buffer, static_cast<std::size_t>(got));
    return true;
  }

  int fd_;
  std::string received_;
};

}  // namespace godwit
