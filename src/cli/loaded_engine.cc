#include "cli/loaded_engine.h"

namespace godwit {

Result<LoadedEngine> load_engine(const ModelOptions& options, const Clock& clock) {
  RunnerOptions runner_options = TRY(make_runner_options(options));
  ModelFiles files = TRY(open_model(options.model));
  LoadedEngine loaded;
  loaded.text = TRY(load_text_assets(files, options));
  runner_options.eos_ids = loaded.text.eos_ids;
  std::unique_ptr<ModelRunner> runner = TRY(ModelRunner::create(std::move(files), runner_options));
  loaded.plan = runner->plan();
  loaded.device = runner->device().description();
  loaded.engine =
      TRY(Engine::create(options.engine, std::move(runner), loaded.text.tokenizer, clock));
  return loaded;
}

}  // namespace godwit
