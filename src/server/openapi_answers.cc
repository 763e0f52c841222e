#include "server/openapi_answers.h"

namespace godwit {

// Objects list what is always there under "required"; chunks of streams are not described.
std::string_view answer_schemas() {
  return R"json({
"ChatMessage": {
  "type": "object", "required": ["role"],
  "properties": {
    "role": {"type": "string"},
    "content": {"anyOf": [
      {"type": "string"}, {"type": "null"},
      {"type": "array", "items": {"type": "object", "required": ["type", "text"],
        "properties": {"type": {"const": "text"}, "text": {"type": "string"}}}}]},
    "reasoning": {}, "reasoning_content": {}, "name": {}, "tool_call_id": {},
    "tool_calls": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "object",
      "required": ["function"], "properties": {"function": {"type": "object",
        "required": ["arguments"], "properties": {"arguments": {}}}}}}]}
  }
},
"Error": {
  "type": "object", "required": ["error"],
  "properties": {"error": {
    "type": "object", "required": ["message", "type", "param", "code"],
    "properties": {
      "message": {"type": "string", "minLength": 1},
      "type": {"type": "string"},
      "param": {"type": ["string", "null"]},
      "code": {"type": ["string", "null"]}
    }
  }}
},
"Usage": {
  "type": "object", "additionalProperties": false,
  "required": ["prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details"],
  "properties": {
    "prompt_tokens": {"type": "integer", "minimum": 1},
    "completion_tokens": {"type": "integer", "minimum": 0},
    "total_tokens": {"type": "integer", "minimum": 1},
    "prompt_tokens_details": {"type": "object",
      "properties": {"cached_tokens": {"type": "integer", "minimum": 0}}}
  }
},
"Ids": {"type": "array", "items": {"type": "integer", "minimum": 0}},
"FinishReason": {"enum": ["stop", "length", "abort", "repetition", "error"]},
"StopReason": {"type": ["string", "integer", "null"]},
"PromptLogprobs": {
  "type": "array",
  "items": {"anyOf": [{"type": "null"}, {"type": "object", "additionalProperties": {
    "type": "object", "required": ["logprob", "rank", "decoded_token"],
    "properties": {"logprob": {"type": "number"}, "rank": {"type": "integer"},
      "decoded_token": {"type": ["string", "null"]}}}}]}
},
"TokenLogprob": {
  "type": "object", "required": ["token", "logprob", "bytes"],
  "properties": {
    "token": {"type": "string"},
    "logprob": {"type": "number", "maximum": 0},
    "bytes": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 255}},
    "top_logprobs": {"type": "array", "items": {"$ref": "#/components/schemas/TokenLogprob"}}
  }
},
"ChatCompletion": {
  "type": "object",
  "required": ["id", "object", "created", "model", "choices", "usage"],
  "properties": {
    "id": {"type": "string"}, "object": {"const": "chat.completion"},
    "created": {"type": "integer"}, "model": {"type": "string"},
    "system_fingerprint": {"type": "null"},
    "choices": {"type": "array", "minItems": 1, "items": {
      "type": "object", "required": ["index", "message", "logprobs", "finish_reason", "stop_reason"],
      "properties": {
        "index": {"type": "integer", "minimum": 0},
        "message": {"type": "object", "required": ["role", "content"],
          "properties": {"role": {"type": "string"}, "content": {"type": "string"},
            "refusal": {"type": "null"}}},
        "logprobs": {"anyOf": [{"type": "null"}, {"type": "object", "required": ["content"],
          "properties": {"content": {"type": "array",
            "items": {"$ref": "#/components/schemas/TokenLogprob"}}}}]},
        "finish_reason": {"$ref": "#/components/schemas/FinishReason"},
        "stop_reason": {"$ref": "#/components/schemas/StopReason"},
        "token_ids": {"$ref": "#/components/schemas/Ids"}
      }}},
    "usage": {"$ref": "#/components/schemas/Usage"},
    "prompt_logprobs": {"$ref": "#/components/schemas/PromptLogprobs"},
    "prompt_token_ids": {"$ref": "#/components/schemas/Ids"},
    "prompt_text": {"type": "string"}
  }
},
"Completion": {
  "type": "object",
  "required": ["id", "object", "created", "model", "choices", "usage"],
  "properties": {
    "id": {"type": "string"}, "object": {"const": "text_completion"},
    "created": {"type": "integer"}, "model": {"type": "string"},
    "system_fingerprint": {"type": "null"},
    "choices": {"type": "array", "minItems": 1, "items": {
      "type": "object", "required": ["index", "text", "logprobs", "finish_reason", "stop_reason"],
      "properties": {
        "index": {"type": "integer", "minimum": 0},
        "text": {"type": "string"},
        "logprobs": {"anyOf": [{"type": "null"}, {"type": "object",
          "required": ["text_offset", "token_logprobs", "tokens", "top_logprobs"],
          "properties": {
            "text_offset": {"type": "array", "items": {"type": "integer", "minimum": 0}},
            "token_logprobs": {"type": "array", "items": {"type": ["number", "null"]}},
            "tokens": {"type": "array", "items": {"type": "string"}},
            "top_logprobs": {"type": "array", "items": {"anyOf": [{"type": "null"},
              {"type": "object", "additionalProperties": {"type": "number"}}]}}}}]},
        "finish_reason": {"$ref": "#/components/schemas/FinishReason"},
        "stop_reason": {"$ref": "#/components/schemas/StopReason"},
        "prompt_logprobs": {"$ref": "#/components/schemas/PromptLogprobs"},
        "token_ids": {"$ref": "#/components/schemas/Ids"},
        "prompt_token_ids": {"$ref": "#/components/schemas/Ids"},
        "prompt_text": {"type": "string"}
      }}},
    "usage": {"$ref": "#/components/schemas/Usage"}
  }
},
"Tokens": {
  "type": "object", "required": ["count", "max_model_len", "tokens", "token_strs"],
  "properties": {
    "count": {"type": "integer", "minimum": 0}, "max_model_len": {"type": "integer", "minimum": 1},
    "tokens": {"$ref": "#/components/schemas/Ids"},
    "token_strs": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "string"}}]}
  }
},
"TokenizeRequest": {"anyOf": [{"$ref": "#/components/schemas/TokenizeTextRequest"},
  {"$ref": "#/components/schemas/TokenizeChatRequest"}]},
"TokenizerInfo": {
  "type": "object", "required": ["bos_token", "eos_token", "vocab_size", "model_max_length"],
  "properties": {"bos_token": {"type": ["string", "null"]},
    "eos_token": {"type": ["string", "null"]}, "vocab_size": {"type": "integer", "minimum": 1},
    "model_max_length": {"type": "integer", "minimum": 1}}
},
"Text": {"type": "object", "required": ["prompt"], "properties": {"prompt": {"type": "string"}}},
"Model": {
  "type": "object", "required": ["id", "object", "created", "owned_by", "root", "max_model_len"],
  "properties": {
    "id": {"type": "string"}, "object": {"const": "model"}, "created": {"type": "integer"},
    "owned_by": {"type": "string"}, "root": {"type": "string"}, "parent": {"type": "null"},
    "max_model_len": {"type": "integer", "minimum": 1}
  }
},
"ModelList": {
  "type": "object", "required": ["object", "data"],
  "properties": {"object": {"const": "list"},
    "data": {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/Model"}}}
},
"Version": {
  "type": "object", "required": ["version"], "properties": {"version": {"type": "string"}}
},
"OpenApi": {"type": "object", "required": ["openapi", "info", "paths"]}
})json";
}

}  // namespace godwit
