#pragma once
// From a folder or a .gguf file to a model with its weights.

#include <filesystem>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/status.h"
#include "device/device.h"
#include "models/model.h"
#include "weights/checkpoint.h"
#include "weights/weight_store.h"

namespace godwit {

/// A model that is described but not loaded: its files are mapped and their headers are checked.
struct ModelFiles {
  std::filesystem::path path;
  Json config;  ///< Of the text model, in Hugging Face's form: from config.json or GGUF metadata.
  std::string config_name;  ///< For errors.
  Checkpoint checkpoint;
  std::unique_ptr<Model> model;  ///< Without weights.
};

/// Opens a folder with config.json and safetensors, or a .gguf file. Reads headers, no weights.
/// Errors: kNotFound, kInvalidArgument or kUnimplemented, naming file and field.
Result<ModelFiles> open_model(const std::filesystem::path& path);
/// The same for what is open already.
Result<ModelFiles> open_model(Checkpoint checkpoint);

/// The model that a folder's config.json describes, whose tensors need not be there.
Result<std::unique_ptr<Model>> describe_model(const std::filesystem::path& folder);

struct LoadedModel {
  std::unique_ptr<Model> model;
  WeightStore weights;  ///< Keeps the model's tensors alive.
};

/// Reads the weights onto the device. Errors: a tensor that is missing, left over or misshapen.
Result<LoadedModel> load_model(ModelFiles files, Device& device, Stream& stream,
                               std::int64_t max_model_len);

}  // namespace godwit
