#pragma once
// A model on its way from the command line to a running engine.

#include <memory>

#include "base/clock.h"
#include "base/status.h"
#include "cli/options.h"
#include "cli/text_assets.h"
#include "engine/engine.h"
#include "runner/memory_plan.h"

namespace godwit {

struct LoadedEngine {
  TextAssets text;
  MemoryPlan plan;
  std::string device;  ///< For people.
  std::unique_ptr<Engine> engine;
};

/// Opens the model's files, then its text assets, then loads the weights and starts the engine.
/// `clock` must outlive the result. Errors: as one line for the terminal.
Result<LoadedEngine> load_engine(const ModelOptions& options, const Clock& clock);

}  // namespace godwit
