#include "doppler/kernel/work.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

namespace doppler::kernel {
namespace {

TEST(WorkClass, OpsOfOneSortHaveOneClassWhateverTheirFormat) {
  using enum WorkClass;
  // Names of our kernels, ONNX, HLO, ncnn and PyTorch.
  constexpr std::pair<WorkClass, std::string_view> kNames[] = {
      {kProduct, "contract"},
      {kProduct, "MatMul"},
      {kProduct, "FusedMatMul"},
      {kProduct, "Gemm"},
      {kProduct, "QLinearMatMul"},
      {kProduct, "DynamicQuantizeMatMul"},
      {kProduct, "aten::mm"},
      {kProduct, "aten::addmm_"},
      {kProduct, "aten::_scaled_mm"},
      {kProduct, "aten::linear"},
      {kProduct, "dot"},
      {kProduct, "dot-general"},
      {kProduct, "InnerProduct"},
      {kProduct, "convert_dot_fusion"},
      {kProduct, "QMoE"},
      {kProduct, "MoE"},
      {kConvolution, "Conv"},
      {kConvolution, "ConvTranspose"},
      {kConvolution, "QLinearConv"},
      {kConvolution, "ConvolutionDepthWise"},
      {kConvolution, "aten::conv2d"},
      {kConvolution, "convolution"},
      {kConvolution, "aten::conv_transpose2d"},
      {kAttention, "MultiHeadAttention"},
      {kAttention, "SDPA"},
      {kAttention, "aten::_scaled_dot_product_flash_attention"},
      {kElementwise, "Add"},
      {kElementwise, "aten::add_"},
      {kElementwise, "multiply"},
      {kElementwise, "BinaryOp"},
      {kElementwise, "ReLU"},
      {kElementwise, "PRelu"},
      {kElementwise, "QuantizeLinear"},
      {kElementwise, "RandomNormal"},
      {kElementwise, "select"},
      {kElementwise, "an_op_without_meaning"},
      {kActivation, "Gelu"},
      {kActivation, "aten::silu"},
      {kActivation, "exponential"},
      {kActivation, "rsqrt"},
      {kGated, "RotaryEmbedding"},
      {kActivation, "HardSwish"},
      {kActivation, "SiLU"},
      {kActivation, "nn.GeLU"},
      {kGated, "aten::glu"},
      {kGated, "rotary"},
      {kNorm, "LayerNormalization"},
      {kNorm, "EmbedLayerNormalization"},
      {kNorm, "aten::native_batch_norm"},
      {kNorm, "rms_norm"},
      {kNorm, "LRN"},
      {kSoftmax, "LogSoftmax"},
      {kSoftmax, "aten::_softmax"},
      {kReduction, "ReduceMean"},
      {kReduction, "reduce-window"},
      {kReduction, "GlobalAveragePool"},
      {kReduction, "aten::sum"},
      {kReduction, "TopK"},
      {kReduction, "NonZero"},
      {kGather, "gather"},
      {kGather, "scatter_add"},
      {kGather, "aten::embedding_dense_backward"},
      {kGather, "aten::index_select"},
      {kCopy, "convert"},
      {kCopy, "Transpose"},
      {kCopy, "DepthToSpace"},
      {kCopy, "aten::_to_copy"},
      {kCopy, "aten::zero_"},
      {kCopy, "dynamic-update-slice"},
      {kCopy, "all-reduce"},
      {kCopy, "reduce-scatter"},
      {kRecurrence, "LSTM"},
      {kRecurrence, "DynamicQuantizeLSTM"},
      {kSolve, "trsm"},
      {kFactorisation, "potrf"},
  };
  for (const auto& [expected, name] : kNames) {
    EXPECT_EQ(work_class_name(classify_op(name)), work_class_name(expected)) << name;
  }
}

TEST(WorkClass, NamesComeBack) {
  for (std::size_t i = 0; i < kWorkClassCount; ++i) {
    const auto work_class = static_cast<WorkClass>(i);
    EXPECT_EQ(find_work_class(work_class_name(work_class)), work_class);
  }
  EXPECT_FALSE(find_work_class("products"));
}

}  // namespace
}  // namespace doppler::kernel
