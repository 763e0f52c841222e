#include "ops/shape_check.h"

#include <gtest/gtest.h>

namespace godwit {
namespace {

Tensor tensor(std::initializer_list<std::int64_t> shape, DType dtype = DType::kF32) {
  return Tensor::contiguous(nullptr, dtype, shape);
}

TEST(ShapeCheckTest, AcceptsWhatFits) {
  EXPECT_TRUE(ShapeCheck("op")
                  .f32("x", tensor({2, 3}))
                  .shape("x", tensor({2, 3}), {ShapeCheck::kAny, 3})
                  .same_shape("y", tensor({2, 3}), tensor({2, 3}))
                  .i32("ids", tensor({2}, DType::kI32))
                  .i64("slots", tensor({0}, DType::kI64))
                  .require(true, "never said")
                  .kernel(true, "cpu")
                  .status()
                  .ok());
}

TEST(ShapeCheckTest, NamesTheFirstFault) {
  EXPECT_EQ(ShapeCheck("gemm").shape("x", tensor({2, 3}), {ShapeCheck::kAny, 4}).status().message(),
            "op gemm: x is f32[2, 3], expected [any, 4]");
  EXPECT_EQ(ShapeCheck("gemm").shape("x", tensor({2}), {2, 1}).status().message(),
            "op gemm: x is f32[2], expected [2, 1]");
  EXPECT_EQ(ShapeCheck("gemm").same_shape("x", tensor({2}), tensor({3})).status().message(),
            "op gemm: x is f32[2], expected the shape of f32[3]");
  const Status status = ShapeCheck("rope")
                            .f32("x", tensor({1}, DType::kBF16))
                            .require(false, "a later fault")
                            .kernel(false, "cpu")
                            .status();
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_EQ(status.message(), "op rope: x has the type bf16");
}

TEST(ShapeCheckTest, TheLastDimensionMustBeContiguous) {
  Tensor strided = tensor({2, 3});
  strided.strides[1] = 2;
  EXPECT_FALSE(ShapeCheck("op").shape("x", strided, {2, 3}).status().ok());
  EXPECT_FALSE(ShapeCheck("op").same_shape("x", strided, tensor({2, 3})).status().ok());
  Tensor rows = tensor({2, 3});
  rows.strides[0] = 8;
  EXPECT_TRUE(ShapeCheck("op").shape("x", rows, {2, 3}).status().ok());
}

TEST(ShapeCheckTest, AMissingKernelIsUnimplemented) {
  const Status status = ShapeCheck("rope").kernel(false, "abacus").status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(), "the device abacus has no kernel for rope");
}

}  // namespace
}  // namespace godwit
