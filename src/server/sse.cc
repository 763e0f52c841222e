#include "server/sse.h"

#include <string>

namespace godwit {

void start_events(Exchange& exchange) {
  // Proxies such as nginx hold streams back unless they are told not to.
  exchange.start_stream({.content_type = "text/event-stream; charset=utf-8",
                         .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}},
                         .body = {}});
}

void send(Exchange& exchange, const Json& event) {
  exchange.write("data: " + to_json(event) + "\n\n");
}

void send_done(Exchange& exchange) {
  exchange.write("data: [DONE]\n\n");
  exchange.finish();
}

}  // namespace godwit
