#pragma once
// Server-sent events: how streamed answers travel.

#include "base/json.h"
#include "server/http.h"
#include "server/openai_response.h"

namespace godwit {

/// Starts a stream of events.
void start_events(Exchange& exchange);

/// Sends one event.
void send(Exchange& exchange, const Json& event);

/// Sends the event without choices that says what the whole answer used.
void send_usage(Exchange& exchange, const AnswerHead& head, const Usage& usage);

/// Sends the event that ends OpenAI's streams, and ends the response.
void send_done(Exchange& exchange);

/// Ends a stream that cannot go on: says why, then as send_done().
void send_failure(Exchange& exchange, const Status& failure);

}  // namespace godwit
