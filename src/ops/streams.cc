#include "ops/streams.h"

#include "device/device.h"
#include "kernels/kernel_table.h"
#include "ops/shape_check.h"

namespace godwit::ops {
namespace {

void check_rows(ShapeCheck& check, const Tensor& x, const Tensor& out) {
  check.f32("x", x)
      .shape("x", x, {ShapeCheck::kAny, ShapeCheck::kAny})
      .f32("out", out)
      .same_shape("out", out, x);
}

}  // namespace

Status mix_streams(Stream& stream, const MixStreamsParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  const std::int64_t streams = params.x.dim(0);
  const std::int64_t tokens = params.x.dim(1);
  ShapeCheck check("mix_streams");
  check.f32("x", params.x)
      .shape("x", params.x, {ShapeCheck::kAny, ShapeCheck::kAny, ShapeCheck::kAny})
      .f32("out", params.out)
      .same_shape("out", params.out, params.x)
      .require(params.out.data != params.x.data, "out is x")
      .require(params.y.empty() == params.gain.empty(), "y and gain come together");
  if (!params.mix.empty()) {
    check.f32("mix", params.mix).shape("mix", params.mix, {tokens, streams * streams});
  }
  if (!params.y.empty()) {
    check.f32("y", params.y)
        .shape("y", params.y, {tokens, params.x.dim(2)})
        .f32("gain", params.gain)
        .shape("gain", params.gain, {tokens, streams});
  }
  TRY(check.kernel(kernels.mix_streams != nullptr, kernels.name).status());
  return kernels.mix_streams(stream, params);
}

Status match_size(Stream& stream, const MatchSizeParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  ShapeCheck check("match_size");
  check_rows(check, params.x, params.out);
  TRY(check.f32("target", params.target)
          .same_shape("target", params.target, params.x)
          .require(params.minimum > 0.0F, "minimum is not positive")
          .kernel(kernels.match_size != nullptr, kernels.name)
          .status());
  return kernels.match_size(stream, params);
}

Status scale_channels(Stream& stream, const ScaleChannelsParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  ShapeCheck check("scale_channels");
  check_rows(check, params.x, params.out);
  TRY(check.dtype("factors", params.factors, {DType::kF32, DType::kF16, DType::kBF16})
          .shape("factors", params.factors, {params.x.dim(1)})
          .kernel(kernels.scale_channels != nullptr, kernels.name)
          .status());
  return kernels.scale_channels(stream, params);
}

Status keep_largest(Stream& stream, const KeepLargestParams& params) {
  const KernelTable& kernels = stream.device().kernels();
  ShapeCheck check("keep_largest");
  check_rows(check, params.x, params.out);
  TRY(check.kernel(kernels.keep_largest != nullptr, kernels.name).status());
  return kernels.keep_largest(stream, params);
}

}  // namespace godwit::ops
