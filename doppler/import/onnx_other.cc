// Rules of ONNX operators outside neural layers: sorting, vision, signals, random numbers,
// sequences, and the classical models of ai.onnx.ml. Sizes that depend on the data are bounds.
#include <algorithm>
#include <cmath>

#include "doppler/import/onnx_op.h"

namespace doppler::import {
namespace {

double as_double(std::int64_t size) {
  return static_cast<double>(size);
}

void top_k(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  if (x == nullptr) return;
  OnnxShape out = *x;
  const auto axis = onnx_axis(op.integer("axis", -1), out.size());
  std::optional<std::int64_t> k;
  if (op.has_attribute("k")) k = op.integer("k", 1);
  if (const auto given = op.integers(1); given && !given->empty()) k = given->front();
  if (axis && k) out[*axis] = std::min(*k, out[*axis]);
  op.guessed = !k;
  op.flops = onnx_elements(*x) * std::log2(std::max(axis ? as_double((*x)[*axis]) : 2.0, 2.0));
  op.set(1, OnnxType::kInt64, out);
  op.set(0, op.input(0).type, std::move(out));
}

void non_zero(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  if (x == nullptr) return;
  op.guessed = true;
  op.flops = onnx_elements(*x);
  op.set(0, OnnxType::kInt64, {static_cast<std::int64_t>(x->size()), onnx_size(onnx_elements(*x))});
}

void unique(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  if (x == nullptr) return;
  op.guessed = true;
  const OnnxShape flat{onnx_size(onnx_elements(*x))};
  op.flops = onnx_elements(*x) * std::log2(std::max(onnx_elements(*x), 2.0));
  op.set(0, op.input(0).type, op.has_attribute("axis") ? *x : flat);
  for (std::size_t i = 1; i < op.outputs.size(); ++i) op.set(i, OnnxType::kInt64, flat);
}

void compress(OnnxOp& op) {
  op.set_like(0, 0);
  if (!op.has_attribute("axis") && op.shape(0) != nullptr) {
    op.set(0, op.input(0).type, {onnx_size(op.input(0).elements())});
  }
  op.guessed = true;
  op.flops = op.input(0).elements();
}

void non_max_suppression(OnnxOp& op) {
  const OnnxShape *boxes = op.shape(0), *scores = op.shape(1);
  if (boxes == nullptr || scores == nullptr || boxes->size() != 3 || scores->size() != 3) return;
  double per_class = as_double((*boxes)[1]);
  if (const auto most = op.integers(2); most && !most->empty())
    per_class = std::min(per_class, as_double(most->front()));
  op.guessed = true;
  op.flops = 16.0 * onnx_elements(*scores);
  op.set(0, OnnxType::kInt64,
         {onnx_size(as_double((*scores)[0]) * as_double((*scores)[1]) * per_class), 3});
}

void roi_align(OnnxOp& op) {
  const OnnxShape *x = op.shape(0), *rois = op.shape(1);
  if (x == nullptr || rois == nullptr || x->size() < 2 || rois->empty()) return;
  OnnxShape out{(*rois)[0], (*x)[1], op.integer("output_height", 1), op.integer("output_width", 1)};
  if (op.node().op == "MaxRoiPool") {
    const auto& size = op.integer_list("pooled_shape");
    for (std::size_t i = 0; i < size.size() && i < 2; ++i) out[2 + i] = size[i];
  }
  op.set(0, op.input(0).type, out);
  op.flops = 16.0 * onnx_elements(*op.outputs.at(0).shape);
}

void grid_sample(OnnxOp& op) {
  const OnnxShape *x = op.shape(0), *grid = op.shape(1);
  if (x == nullptr || grid == nullptr || x->size() < 2 || grid->size() != x->size()) return;
  OnnxShape out{(*x)[0], (*x)[1]};
  out.insert(out.end(), grid->begin() + 1, grid->end() - 1);
  op.flops = 16.0 * onnx_elements(out);
  op.set(0, op.input(0).type, std::move(out));
}

void affine_grid(OnnxOp& op) {
  const auto size = op.integers(1);
  if (!size || size->size() < 3) return;
  OnnxShape out{(*size)[0]};
  out.insert(out.end(), size->begin() + 2, size->end());
  out.push_back(static_cast<std::int64_t>(size->size()) - 2);
  op.set(0, op.input(0).type, std::move(out));
}

void random(OnnxOp& op) {
  op.set(0, onnx_type(op.integer("dtype", 1)).value_or(OnnxType::kFloat), op.integer_list("shape"));
}

void multinomial(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  if (x == nullptr || x->empty()) return;
  op.flops = onnx_elements(*x);
  op.set(0, OnnxType::kInt32, {(*x)[0], op.integer("sample_size", 1)});
}

void window(OnnxOp& op) {
  if (const auto size = op.integers(0); size && !size->empty())
    op.set(0, OnnxType::kFloat, {size->front()});
}

void dft(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  if (x == nullptr || x->empty()) return;
  OnnxShape out = *x;
  out.back() = 2;
  op.flops = 5.0 * onnx_elements(out) * std::log2(std::max(onnx_elements(out), 2.0));
  op.set(0, op.input(0).type, std::move(out));
}

void reverse_sequence(OnnxOp& op) {
  op.set_like(0, 0);
  op.flops = 0.0;
}

void col_to_image(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  const auto image = op.integers(1), block = op.integers(2);
  if (x == nullptr || x->size() != 3 || !image || !block) return;
  OnnxShape out{(*x)[0], onnx_size(as_double((*x)[1]) / std::max(onnx_elements(*block), 1.0))};
  out.insert(out.end(), image->begin(), image->end());
  op.flops = onnx_elements(*x);
  op.set(0, op.input(0).type, std::move(out));
}

// Sequences are taken as one of their tensors.
void like_first(OnnxOp& op) {
  op.set_like(0, 0);
  op.flops = 0.0;
}
void like_second(OnnxOp& op) {
  op.set_like(0, op.has_input(1) ? 1 : 0);
  op.flops = 0.0;
}

// A label and scores for each row.
void classifier(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  const std::int64_t rows = x == nullptr || x->empty() ? 1 : (*x)[0];
  double classes = 2.0;
  for (const char* name : {"classlabels_ints", "classlabels_int64s"}) {
    if (!op.integer_list(name).empty()) classes = static_cast<double>(op.integer_list(name).size());
  }
  if (const OnnxAttribute* names = op.find("classlabels_strings");
      names != nullptr && names->string_count > 0) {
    classes = static_cast<double>(names->string_count);
  }
  const OnnxAttribute* coefficients = op.find("coefficients");
  const double work =
      coefficients != nullptr ? 2.0 * static_cast<double>(coefficients->numbers.size()) : 0.0;
  // A tree ensemble walks from root to leaf of each tree; the trees' ids are rising.
  const double trees = op.integer_list("nodes_treeids").empty()
                           ? 0.0
                           : as_double(op.integer_list("nodes_treeids").back()) + 1.0;
  op.flops = as_double(rows) * (work + 16.0 * std::max(trees, 0.0) + classes);
  op.set(0, OnnxType::kInt64, {rows});
  op.set(1, OnnxType::kFloat, {rows, static_cast<std::int64_t>(classes)});
}

void regressor(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  const std::int64_t rows = x == nullptr || x->empty() ? 1 : (*x)[0];
  const OnnxAttribute* coefficients = op.find("coefficients");
  const double work =
      coefficients != nullptr ? 2.0 * static_cast<double>(coefficients->numbers.size()) : 0.0;
  const double trees = op.integer_list("nodes_treeids").empty()
                           ? 0.0
                           : as_double(op.integer_list("nodes_treeids").back()) + 1.0;
  op.flops = as_double(rows) * (work + 16.0 * std::max(trees, 0.0) + 1.0);
  const std::int64_t targets = op.integer("n_targets", op.integer("targets", 1));
  op.set(0, OnnxType::kFloat, {rows, targets});
}

void label_encoder(OnnxOp& op) {
  op.set_like(0, 0);
  if (op.has_attribute("values_int64s") || op.has_attribute("classes_strings"))
    op.outputs.at(0).type = OnnxType::kInt64;
  if (op.has_attribute("values_floats")) op.outputs.at(0).type = OnnxType::kFloat;
  op.flops = op.input(0).elements();
}

void feature_vectorizer(OnnxOp& op) {
  double width = 0.0;
  std::int64_t rows = 1;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    const OnnxShape* x = op.shape(i);
    if (x == nullptr || x->empty()) continue;
    rows = (*x)[0];
    width += x->size() > 1 ? as_double(x->back()) : 1.0;
  }
  op.flops = 0.0;
  op.set(0, OnnxType::kFloat, {rows, onnx_size(width)});
}

void normalizer(OnnxOp& op) {
  op.set_like(0, 0);
  op.outputs.at(0).type = OnnxType::kFloat;
  op.flops = 3.0 * op.input(0).elements();
}

constexpr OnnxRuleEntry kRules[] = {{"TopK", top_k},
                                    {"NonZero", non_zero},
                                    {"Unique", unique},
                                    {"Compress", compress},
                                    {"NonMaxSuppression", non_max_suppression},
                                    {"RoiAlign", roi_align},
                                    {"MaxRoiPool", roi_align},
                                    {"GridSample", grid_sample},
                                    {"AffineGrid", affine_grid},
                                    {"RandomNormal", random},
                                    {"RandomUniform", random},
                                    {"Multinomial", multinomial},
                                    {"HannWindow", window},
                                    {"HammingWindow", window},
                                    {"BlackmanWindow", window},
                                    {"DFT", dft},
                                    {"ReverseSequence", reverse_sequence},
                                    {"Col2Im", col_to_image},
                                    {"SequenceConstruct", like_first},
                                    {"SequenceAt", like_first},
                                    {"SequenceInsert", like_second},
                                    {"SequenceErase", like_first},
                                    {"SplitToSequence", like_first},
                                    {"ConcatFromSequence", like_first},
                                    {"Optional", like_first},
                                    {"OptionalGetElement", like_first},
                                    {"ZipMap", like_first},
                                    {"ArrayFeatureExtractor", like_first},
                                    {"LinearClassifier", classifier},
                                    {"SVMClassifier", classifier},
                                    {"TreeEnsembleClassifier", classifier},
                                    {"LinearRegressor", regressor},
                                    {"SVMRegressor", regressor},
                                    {"TreeEnsembleRegressor", regressor},
                                    {"LabelEncoder", label_encoder},
                                    {"FeatureVectorizer", feature_vectorizer},
                                    {"Normalizer", normalizer},
                                    {{}, nullptr}};

}  // namespace

const OnnxRuleEntry* onnx_other_rules() {
  return kRules;
}

}  // namespace doppler::import
