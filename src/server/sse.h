#pragma once
// Server-sent events: how streamed answers travel.

#include "base/json.h"
#include "server/http.h"

namespace godwit {

/// Starts a stream of events.
void start_events(Exchange& exchange);

/// Sends one event.
void send(Exchange& exchange, const Json& event);

/// Sends the event that ends OpenAI's streams, and ends the response.
void send_done(Exchange& exchange);

}  // namespace godwit
