#include "cli/doctor.h"

#include <map>
#include <set>

#include <fmt/core.h>

#include "cli/model_source.h"
#include "cli/text_assets.h"
#include "device/device.h"
#include "runner/load_model.h"
#include "runner/memory_plan.h"

namespace godwit {
namespace {

std::string size_text(std::size_t bytes) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  if (bytes < kMiB) {
    return fmt::format("{} KiB", bytes / 1024);
  }
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / static_cast<double>(kMiB));
}

Result<std::unique_ptr<Device>> report_machine(const ModelOptions& options, std::FILE* out) {
  fmt::print(out, "godwit {}\n\nDevices\n", GODWIT_VERSION);
  for (const DeviceKind& kind : device_table()) {
    fmt::print(out, "  {:<8}{}\n", kind.name, kind.summary);
  }
  const RunnerOptions runner = TRY(make_runner_options(options));
  std::unique_ptr<Device> device = TRY(create_device(runner.device, runner.device_options));
  const DeviceMemory memory = device->memory();
  fmt::print(out, "  chosen: {}\n", device->description());
  fmt::print(out, "  processor: {}\n", device->hardware());
  fmt::print(out, "  memory: {} of {} available\n", size_text(memory.available),
             size_text(memory.total));
  return device;
}

void report_tensors(const Checkpoint& checkpoint, std::FILE* out) {
  struct Group {
    std::size_t count = 0;
    std::size_t bytes = 0;
    bool supported = true;
  };
  std::map<std::string, Group> groups;
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    Group& group = groups[tensor.dtype_name];
    ++group.count;
    group.bytes += tensor.data.size();
    group.supported = tensor.dtype.has_value();
  }
  fmt::print(out, "\nTensors\n");
  for (const auto& [name, group] : groups) {
    fmt::print(out, "  {:<8}{:>6} tensors, {}{}\n", name, group.count, size_text(group.bytes),
               group.supported ? "" : "   (a type that godwit does not compute with)");
  }
}

std::string retention_text(const Retention& retention) {
  switch (retention.kind) {
    case Retention::Kind::kWindow:
      return fmt::format(" over {} tokens", retention.size);
    case Retention::Kind::kChunk:
      return fmt::format(" in chunks of {} tokens", retention.size);
    default:
      return "";
  }
}

void report_layers(const Model& model, std::FILE* out) {
  const ModelGeometry& geometry = model.geometry();
  fmt::print(out, "\nLayers\n");
  fmt::print(out, "  {} layers, hidden size {}, intermediate size {}, vocabulary {}\n",
             geometry.num_layers, geometry.hidden_size, geometry.intermediate_size,
             geometry.vocab_size);
  for (const CacheGroup& group : group_layers(model.cache_specs())) {
    const LayerCacheSpec& layer = group.layers.front();
    if (group.retention.kind == Retention::Kind::kState) {
      fmt::print(out, "  {} recurrent layers, whose states take {} a sequence\n",
                 group.layers.size(), size_text(KvCacheSpec{}.block_bytes(group)));
      continue;
    }
    fmt::print(out, "  {} layers of attention{}: {} heads of {}, {} of keys and values\n",
               group.layers.size(), retention_text(group.retention), geometry.num_heads,
               layer.key_dim, layer.num_kv_heads);
  }
  fmt::print(out, "  made for {} tokens\n", geometry.max_positions);
}

void report_plan(const MemoryPlan& plan, std::FILE* out) {
  fmt::print(out, "\nMemory plan\n");
  fmt::print(out, "  weights        {:>12}   mapped from the file\n", size_text(plan.weight_bytes));
  fmt::print(out, "  cache          {:>12}   {} tokens in blocks of {}\n",
             size_text(plan.layout.bytes()), plan.kv_tokens(), plan.layout.block_size);
  fmt::print(out, "  a sequence of {} tokens takes {} of it\n", plan.max_model_len,
             size_text(plan.sequence_bytes));
}

Status report_text(const ModelFiles& files, const ModelOptions& options, std::FILE* out) {
  const TextAssets assets = TRY(load_text_assets(files, options));
  fmt::print(out, "\nText\n");
  if (assets.tokenizer == nullptr) {
    fmt::print(out, "  no tokenizer (--skip-tokenizer-init)\n");
    return {};
  }
  fmt::print(out, "  tokenizer: {} ids; chat template: {}\n", assets.tokenizer->vocab_size(),
             assets.chat_template != nullptr ? "yes" : "none");
  return {};
}

/// What can be said of a model whose weights are still on the hub.
Status report_outline(const ModelOutline& outline, const DoctorCommand& command,
                      const Device& device, std::FILE* out) {
  fmt::print(out, "  weights: {} on the hub, not downloaded; their types and shapes are unknown\n",
             size_text(*outline.absent_bytes));
  if (!outline.path.empty()) {
    const std::unique_ptr<Model> model = TRY(describe_model(outline.path));
    report_layers(*model, out);
    const RunnerOptions runner = TRY(make_runner_options(command.model));
    report_plan(
        TRY(plan_memory(*model, *outline.absent_bytes, device.memory().available, runner.memory)),
        out);
    const Tokenizer tokenizer = TRY(open_tokenizer(outline.path));
    fmt::print(out, "\nText\n  tokenizer: {} ids\n", tokenizer.vocab_size());
  }
  fmt::print(out, "\n`godwit serve` downloads the weights; then doctor can check them.\n");
  return {};
}

}  // namespace

Status run_doctor(const DoctorCommand& command, std::FILE* out) {
  const std::unique_ptr<Device> device = TRY(report_machine(command.model, out));
  if (command.model.model.empty()) {
    return {};
  }
  const ModelOutline outline = TRY(locate_outline(command.model));
  fmt::print(out, "\nModel {}\n", command.model.model);
  if (outline.absent_bytes) {
    return report_outline(outline, command, *device, out);
  }
  const RunnerOptions runner = TRY(make_runner_options(command.model));
  Checkpoint checkpoint = TRY(Checkpoint::open(outline.path));
  report_tensors(checkpoint, out);
  ModelFiles files = TRY(open_model(std::move(checkpoint)));
  report_layers(*files.model, out);
  const MemoryPlan plan = TRY(plan_memory(*files.model, files.checkpoint.total_bytes(),
                                          device->memory().available, runner.memory));
  report_plan(plan, out);
  TRY(report_text(files, command.model, out));
  // Finds every tensor and checks its shape; the data stay unread where the device maps them.
  const std::unique_ptr<Stream> stream = TRY(device->create_stream());
  TRY(load_model(std::move(files), *device, *stream, 1));
  fmt::print(out, "\nThis model can be served.\n");
  return {};
}

}  // namespace godwit
