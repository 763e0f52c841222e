#pragma once
// What tokenizer_config.json says beside a tokenizer: names of tokens, switches, and tokens that
// were added to an original vocabulary. A null pointer stands for no such file.

#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/json.h"
#include "base/status.h"
#include "text/added_tokens.h"
#include "text/tokenizer_fields.h"
#include "text/vocabulary.h"

namespace godwit {

/// The id of the token that a member names, as a string or as an object with its content; nothing
/// when the member is absent or the tokenizer lacks that token. Errors: kInvalidArgument.
Result<std::optional<TokenId>> named_token(const Json* config, std::string_view key,
                                           const Vocabulary& vocabulary,
                                           const AddedTokens& added_tokens);

/// A switch; nothing when it is absent or null. Errors: kInvalidArgument.
Result<std::optional<bool>> config_switch(const Json* config, std::string_view key);

/// The tokens of `added_tokens_decoder`, an object from ids to tokens; none when it is absent.
/// Errors: kInvalidArgument.
Result<std::vector<AddedToken>> config_added_tokens(const Json* config);

/// Reads an added token's content and flags from an object that has them as members.
/// Errors: kInvalidArgument with the field's name.
Result<AddedToken> read_added_token(const TokenizerField& entry, TokenId id);

/// `listed`, and those of `known` whose id it lacks.
std::vector<AddedToken> merge_added_tokens(std::vector<AddedToken> known,
                                           std::vector<AddedToken> listed);

}  // namespace godwit
