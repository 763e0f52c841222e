#include "server/request_fields.h"

namespace godwit {
namespace {

constexpr FieldUse kRead = FieldUse::kRead;
constexpr FieldUse kRefused = FieldUse::kRefused;
constexpr FieldUse kIgnored = FieldUse::kIgnored;

// Kinds of values that many fields share.
constexpr std::string_view kBool = R"({"type":"boolean"})";
constexpr std::string_view kString = R"({"type":"string"})";
constexpr std::string_view kObject = R"({"type":"object"})";
constexpr std::string_view kObjects = R"({"type":"array","items":{"type":"object"}})";
constexpr std::string_view kAny = "{}";
constexpr std::string_view kCount = R"({"type":"integer","format":"int32","minimum":0,)"
                                    R"("maximum":2147483647})";
constexpr std::string_view kLongCount = R"({"type":"integer","format":"int64","minimum":0,)"
                                        R"("maximum":9223372036854775807})";
constexpr std::string_view kIds =
    R"({"type":"array","items":{"type":"integer","minimum":0,"maximum":2147483647}})";
constexpr std::string_view kSome = R"({"type":"array","minItems":1,)"
                                   R"("items":{"type":"integer","minimum":0,)"
                                   R"("maximum":2147483647}})";
constexpr std::string_view kPenalty = R"({"type":"number","minimum":-2,"maximum":2})";

constexpr FieldSpec kModel[] = {
    {"model", kRead, kString, "A name of the served model; may be left out."},
};

constexpr FieldSpec kSampling[] = {
    {"allowed_token_ids", kRead, kSome, "Only these tokens are drawn."},
    {"bad_words", kRead,
     R"({"type":"array","maxItems":1024,)"
     R"("items":{"type":"string","minLength":1}})",
     "The output contains none of these, as the tokenizer writes them at the start of a text and "
     "after a space."},
    {"cache_salt", kRead,
     R"({"type":"string","minLength":1,"maxLength":128,)"
     R"("pattern":"^[^@/\\\\\\x00]*$"})",
     "Requests share cached prefixes only under the same salt."},
    {"echo", kRead, kBool, "Puts the prompt (chat: the last message) before the output."},
    {"frequency_penalty", kRead, kPenalty},
    {"ignore_eos", kRead, kBool, "End-of-sequence tokens do not end the output."},
    {"include_stop_str_in_output", kRead, kBool},
    {"logit_bias", kRead,
     R"({"type":"object","additionalProperties":)"
     R"({"type":"number","minimum":-100,"maximum":100},)"
     R"("propertyNames":{"pattern":"^[0-9]+$"}})",
     "Added to the logits of the tokens with these ids."},
    {"logprob_token_ids", kRead,
     R"({"type":"array","maxItems":128,)"
     R"("items":{"type":"integer","minimum":0,)"
     R"("maximum":2147483647}})",
     "Log probabilities are given for these tokens in place of the likeliest ones."},
    {"max_tokens", kRead, kLongCount, "Tokens of output."},
    {"min_p", kRead, R"({"type":"number","minimum":0,"maximum":1})"},
    {"min_tokens", kRead, kLongCount},
    {"n", kRead, R"({"type":"integer","format":"int32","minimum":1,"maximum":16384})",
     "Outputs for each prompt."},
    {"presence_penalty", kRead, kPenalty},
    {"priority", kRead,
     R"({"type":"integer","format":"int32","minimum":-2147483648,)"
     R"("maximum":2147483647})",
     "Lower runs earlier, with --scheduling-policy priority."},
    {"prompt_logprobs", kRead, kCount, "Alternatives shown at each token of the prompt."},
    {"repetition_detection", kRead, R"({"$ref":"#/components/schemas/RepetitionDetection"})",
     "Ends an output that repeats itself."},
    {"repetition_penalty", kRead, R"({"type":"number","exclusiveMinimum":0})"},
    {"request_id", kRead, R"({"type":"string","maxLength":256})",
     "Becomes part of the answer's id; the header X-Request-Id wins."},
    {"return_prompt_text", kRead, kBool, "The answer tells the text of the prompt."},
    {"return_token_ids", kRead, kBool, "The answer tells the ids of prompt and output."},
    {"return_tokens_as_token_ids", kRead, kBool, "Log probabilities name tokens \"token_id:17\"."},
    {"seed", kRead,
     R"({"type":"integer","format":"int64","minimum":-9223372036854775808,)"
     R"("maximum":9223372036854775807})"},
    {"skip_special_tokens", kRead, kBool},
    {"spaces_between_special_tokens", kRead, kBool,
     "Without effect: the tokenizers of this server put no spaces there."},
    {"stop", kRead,
     R"({"anyOf":[{"type":"string","minLength":1},{"type":"array","maxItems":64,)"
     R"("items":{"type":"string","minLength":1}}]})"},
    {"stop_token_ids", kRead, kIds},
    {"stream", kRead, kBool, "Sends the answer as server-sent events."},
    {"stream_interval", kRead,
     R"({"type":"integer","format":"int32","minimum":1,)"
     R"("maximum":2147483647})",
     "Tokens of an output that one event holds; the first comes alone."},
    {"stream_options", kRead, R"({"$ref":"#/components/schemas/StreamOptions"})",
     "Needs stream: true."},
    {"temperature", kRead, R"({"type":"number","minimum":0})"},
    {"top_k", kRead, R"({"type":"integer","format":"int32","minimum":-1,"maximum":2147483647})"},
    {"top_p", kRead, R"({"type":"number","exclusiveMinimum":0,"maximum":1})"},
    {"truncate_prompt_tokens", kRead,
     R"({"type":"integer","format":"int64","minimum":-1,)"
     R"("maximum":9223372036854775807})",
     "Keeps so many tokens of the prompt; -1 keeps what the context has room for."},
    {"truncation_side", kRead, R"({"enum":["left","right"]})", "Where the prompt is cut."},
};

// What OpenAI or vLLM have and this server does not, and what means nothing here.
constexpr FieldSpec kUnsupported[] = {
    {"audio", kRefused, "null"},
    {"best_of", kRefused, "1"},
    {"ec_transfer_params", kRefused, "null"},
    {"guided_choice", kRefused, "null"},
    {"guided_decoding_backend", kRefused, "null"},
    {"guided_grammar", kRefused, "null"},
    {"guided_json", kRefused, "null"},
    {"guided_json_object", kRefused, "false"},
    {"guided_regex", kRefused, "null"},
    {"guided_whitespace_pattern", kRefused, "null"},
    {"kv_transfer_params", kRefused, "null"},
    {"length_penalty", kRefused, "1.0"},
    {"logits_processors", kRefused, "[]"},
    {"media_io_kwargs", kRefused, "{}"},
    {"mm_processor_kwargs", kRefused, "{}"},
    {"modalities", kRefused, R"(["text"])"},
    {"prediction", kRefused, "null"},
    {"prompt_embeds", kRefused, "null"},
    {"response_format", kRefused, R"({"type":"text"})"},
    {"return_mm_kwargs", kRefused, "false"},
    {"return_token_offsets", kRefused, "false"},
    {"routed_experts_prompt_start", kRefused, "null"},
    {"structured_outputs", kRefused, "null"},
    {"thinking", kRefused, "null"},
    {"thinking_token_budget", kRefused, "-1"},
    {"use_beam_search", kRefused, "false"},
    {"vllm_xargs", kRefused, "{}"},
    {"watermarking", kRefused, "false"},
    {"web_search_options", kRefused, "null"},
    {"include_reasoning", kIgnored, kAny},
    {"metadata", kIgnored, kAny},
    {"prompt_cache_key", kIgnored, kAny},
    {"safety_identifier", kIgnored, kAny},
    {"service_tier", kIgnored, kAny},
    {"session_id", kIgnored, kAny},
    {"store", kIgnored, kAny},
    {"user", kIgnored, kAny},
    {"verbosity", kIgnored, kAny},
};

// What makes a prompt out of messages.
constexpr FieldSpec kMessages[] = {
    {"add_generation_prompt", kRead, kBool},
    {"add_special_tokens", kRead, kBool, "Chat: false by default, since templates write them."},
    {"chat_template", kRead, kString, "A Jinja template in place of the model's own."},
    {"chat_template_kwargs", kRead, kObject, "Further variables of the template."},
    {"continue_final_message", kRead, kBool, "The answer goes on with the last message."},
    {"documents", kRead, kObjects},
    {"messages", kRead,
     R"({"type":"array","minItems":1,)"
     R"("items":{"$ref":"#/components/schemas/ChatMessage"}})"},
    {"reasoning_effort", kRead,
     R"({"enum":["none","minimal","low","medium","high","xhigh","max"]})",
     "A variable of the template."},
    {"tools", kRead, kObjects, "Shown to the template."},
};

constexpr FieldSpec kChat[] = {
    {"function_call", kRefused, R"("none")"},
    {"functions", kRefused, "[]"},
    {"logprobs", kRead, kBool},
    {"max_completion_tokens", kRead, kLongCount, "The newer name of max_tokens."},
    {"parallel_tool_calls", kIgnored, kAny},
    {"tool_choice", kRead, R"({"enum":["none"]})", "Must be \"none\" when there are tools."},
    {"top_logprobs", kRead, kCount, "Alternatives shown at each token of the output."},
};

constexpr FieldSpec kCompletion[] = {
    {"add_special_tokens", kRead, kBool},
    {"logprobs", kRead, kCount, "Alternatives shown at each token of the output."},
    {"prompt", kRead,
     R"({"anyOf":[{"type":"string","minLength":1},)"
     R"({"type":"array","minItems":1,"maxItems":2048,)"
     R"("items":{"type":"string","minLength":1}},)"
     R"({"type":"array","minItems":1,"items":{"type":"integer","minimum":0,)"
     R"("maximum":2147483647}},)"
     R"({"type":"array","minItems":1,"maxItems":2048,)"
     R"("items":{"type":"array","minItems":1,)"
     R"("items":{"type":"integer","minimum":0,"maximum":2147483647}}}]})",
     "Text or token ids; one or many."},
    {"suffix", kRefused, R"("")"},
};

constexpr FieldSpec kTokenizeText[] = {
    {"add_special_tokens", kRead, kBool},
    {"prompt", kRead, kString},
};

constexpr FieldSpec kTokenizeChat[] = {
    {"mm_processor_kwargs", kRefused, "{}"},
};

constexpr FieldSpec kTokenize[] = {
    {"return_token_strs", kRead, kBool},
};

constexpr FieldSpec kDetokenize[] = {
    {"tokens", kRead, kIds},
};

constexpr FieldSpec kStreamOptions[] = {
    {"continuous_usage_stats", kRead, kBool, "Every event tells the usage so far."},
    {"include_usage", kRead, kBool, "The last event tells the usage."},
};

constexpr FieldSpec kRepetitionDetection[] = {
    {"max_pattern_size", kRead, kCount, "0 finds none."},
    {"min_count", kRead, kCount, "Times that the pattern stands at the end; at least 2."},
    {"min_pattern_size", kRead, kCount},
};

}  // namespace

constexpr FieldTable kChatFields = {"ChatCompletionRequest",
                                    {kModel, kMessages, kChat, kSampling, kUnsupported},
                                    R"(["messages"])"};
constexpr FieldTable kCompletionFields = {
    "CompletionRequest", {kModel, kCompletion, kSampling, kUnsupported}, R"(["prompt"])"};
constexpr FieldTable kTokenizeTextFields = {
    "TokenizeTextRequest", {kModel, kTokenizeText, kTokenize}, R"(["prompt"])"};
constexpr FieldTable kTokenizeChatFields = {
    "TokenizeChatRequest", {kModel, kMessages, kTokenizeChat, kTokenize}, R"(["messages"])"};
constexpr FieldTable kDetokenizeFields = {
    "DetokenizeRequest", {kModel, kDetokenize}, R"(["tokens"])"};
constexpr FieldTable kStreamOptionFields = {"StreamOptions", {kStreamOptions}};
constexpr FieldTable kRepetitionDetectionFields = {"RepetitionDetection", {kRepetitionDetection}};

const FieldSpec* FieldTable::find(std::string_view field) const {
  for (const std::span<const FieldSpec> part : parts) {
    for (const FieldSpec& spec : part) {
      if (spec.name == field) {
        return &spec;
      }
    }
  }
  return nullptr;
}

}  // namespace godwit
