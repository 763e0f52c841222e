#include "text/jinja/filters.h"

#include <string_view>

#include "text/jinja/runtime.h"

namespace godwit::jinja {

const Function* find_filter(std::string_view name) {
  for (const auto& table : {text_filters(), item_filters(), selection_filters(), prose_filters()}) {
    for (const Function& function : table) {
      if (function.name == name) {
        return &function;
      }
    }
  }
  return nullptr;
}

}  // namespace godwit::jinja
