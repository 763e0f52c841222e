#include "server/models.h"

#include <string>
#include <utility>

#include "base/json.h"
#include "server/error_body.h"

namespace godwit {
namespace {

Json model_card(const ServedModel& model, std::string_view name) {
  return JsonObject{{"id", name},
                    {"object", "model"},
                    {"created", model.created},
                    {"owned_by", "godwit"},
                    {"root", model.root},
                    {"parent", nullptr},
                    {"max_model_len", model.max_model_len}};
}

}  // namespace

HttpResponse list_models(const ServedModel& model) {
  JsonArray cards;
  for (const std::string& name : model.names) {
    cards.push_back(model_card(model, name));
  }
  return {.body = to_json(JsonObject{{"object", "list"}, {"data", std::move(cards)}})};
}

HttpResponse show_model(const ServedModel& model, std::string_view name) {
  if (!model.has_name(name)) {
    return error_response(
        not_found("model `" + std::string(name.substr(0, 200)) + "` does not exist here"));
  }
  return {.body = to_json(model_card(model, name))};
}

}  // namespace godwit
