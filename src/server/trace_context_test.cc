#include "server/trace_context.h"

#include <gtest/gtest.h>

namespace godwit {
namespace {

HttpRequest with(std::vector<HttpHeader> headers) {
  return {.method = "GET", .path = "/", .headers = std::move(headers), .body = {}};
}

// The example of W3C Trace Context, section 3.2.2.4.
const std::string kParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST(TraceContext, ReadsTheSpecificationsExample) {
  const auto context = read_trace_context(
      with({{"TraceParent", kParent}, {"tracestate", "rojo=00f067aa0ba902b7, congo=t61rcWkgMzE"}}));
  ASSERT_TRUE(context);
  EXPECT_EQ(context->trace_id, "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(context->parent_id, "b7ad6b7169203331");
  EXPECT_EQ(context->flags, "01");
  EXPECT_EQ(context->state, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE");
}

TEST(TraceContext, ALaterVersionMayAddFields) {
  EXPECT_TRUE(read_trace_context(with({{"traceparent", "cc" + kParent.substr(2) + "-what"}})));
  EXPECT_TRUE(read_trace_context(with({{"traceparent", "cc" + kParent.substr(2)}})));
  EXPECT_FALSE(read_trace_context(with({{"traceparent", "cc" + kParent.substr(2) + "x"}})));
  EXPECT_FALSE(read_trace_context(with({{"traceparent", kParent + "-what"}})));
}

TEST(TraceContext, IgnoresWhatIsMalformed) {
  std::string upper = kParent;
  upper[5] = 'F';
  for (const std::string& parent :
       {std::string(), kParent.substr(1), "ff" + kParent.substr(2), upper, "0x" + kParent.substr(2),
        "00-00000000000000000000000000000000-b7ad6b7169203331-01" + std::string(),
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01" + std::string(),
        "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01" + std::string()}) {
    EXPECT_FALSE(read_trace_context(with({{"traceparent", parent}}))) << parent;
  }
  EXPECT_FALSE(read_trace_context(with({{"traceparent", kParent}, {"traceparent", kParent}})));
  EXPECT_FALSE(read_trace_context(with({{"tracestate", "a=b"}})));
}

TEST(TraceContext, DropsAStateThatIsMalformedOrTooLong) {
  const auto state = [](std::vector<std::string> values) {
    std::vector<HttpHeader> headers = {{"traceparent", kParent}};
    for (std::string& value : values) {
      headers.push_back({"tracestate", std::move(value)});
    }
    return read_trace_context(with(std::move(headers)))->state;
  };
  EXPECT_EQ(state({"a=1, ,b=2", "tenant@system=3"}), "a=1,b=2,tenant@system=3");
  EXPECT_EQ(state({"a=1", "b"}), "");
  EXPECT_EQ(state({"A=1"}), "");
  EXPECT_EQ(state({"a=1=2"}), "");
  EXPECT_EQ(state({"a=" + std::string(300, 'x')}), "");
  std::string many;
  for (int i = 0; i < 33; ++i) {
    many += "k" + std::to_string(i) + "=v,";
  }
  EXPECT_EQ(state({many}), "");
}

}  // namespace
}  // namespace godwit
