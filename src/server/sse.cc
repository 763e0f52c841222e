#include "server/sse.h"

#include <string>

#include "server/error_body.h"

namespace godwit {

void start_events(Exchange& exchange) {
  // Proxies such as nginx hold streams back unless they are told not to.
  exchange.start_stream({.content_type = "text/event-stream; charset=utf-8",
                         .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}},
                         .body = {},
                         .blank = ":\n\n"});
}

void send(Exchange& exchange, const Json& event) {
  exchange.write("data: " + to_json(event) + "\n\n");
}

void send_usage(Exchange& exchange, const AnswerHead& head, const Usage& usage) {
  Json event = answer_body(head, {});
  event.set("usage", usage_body(usage));
  send(exchange, event);
}

void send_done(Exchange& exchange) {
  exchange.write("data: [DONE]\n\n");
  exchange.finish();
}

void send_failure(Exchange& exchange, const Status& failure) {
  send(exchange, error_body(failure));
  send_done(exchange);
}

}  // namespace godwit
