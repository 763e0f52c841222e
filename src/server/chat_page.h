#pragma once
// The chat page at `/`: the text of chat_page.html, which the build puts into the program.

#include <string_view>

namespace godwit {

std::string_view chat_page();

}  // namespace godwit
