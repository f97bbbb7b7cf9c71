// Rules of ONNX operators outside neural layers: sorting, vision, signals, random numbers, and the
// classical models of ai.onnx.ml. Sizes that depend on the data are bounds.
#include <algorithm>
#include <cmath>

#include "doppler/formats/onnx/onnx_op.h"

namespace doppler::formats {
namespace {

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
  if (axis) {
    const auto columns = as_double((*x)[*axis]);
    op.works = {kernel::row_work(kernel::WorkClass::kReduction,
                                 onnx_elements(*x) / std::max(columns, 1.0), columns)};
  }
  op.set(1, OnnxType::kInt64, out);
  op.set(0, op.input(0).type, std::move(out));
}

void non_zero(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  if (x == nullptr) return;
  double count = onnx_elements(*x);
  op.flops = count;
  if (const auto& data = op.input(0).data) {
    count = static_cast<double>(
        std::count_if(data->begin(), data->end(), [](double value) { return value != 0.0; }));
  } else {
    op.guessed = true;
  }
  op.set(0, OnnxType::kInt64, {static_cast<std::int64_t>(x->size()), onnx_size(count)});
}

void unique(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  if (x == nullptr) return;
  op.guessed = true;
  OnnxShape flat{onnx_size(onnx_elements(*x))};
  op.flops = onnx_elements(*x) * std::log2(std::max(onnx_elements(*x), 2.0));
  op.set(0, op.input(0).type, op.has_attribute("axis") ? *x : flat);
  if (const auto axis = onnx_axis(op.integer("axis", 0), x->size());
      axis && op.has_attribute("axis")) {
    flat[0] = (*x)[*axis];
  }
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

// Returns the flops of Fourier transforms of complex numbers: 5 N log2 N each, as for radix 2.
double fourier_flops(double transforms, double length) {
  return 5.0 * transforms * length * std::log2(std::max(length, 2.0));
}

// The input is [batch, …, 1] for real or [batch, …, 2] for complex numbers. The axis is an
// attribute, and since opset 20 an input.
void dft(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  if (x == nullptr || x->size() < 2) return;
  std::int64_t wanted = op.integer("axis", op.opset() < 20 ? 1 : -2);
  if (const auto given = op.integers(2); given && !given->empty()) wanted = given->front();
  const auto axis = onnx_axis(wanted, x->size());
  if (!axis) return;
  OnnxShape out = *x;
  out.back() = 2;
  if (const auto length = op.integers(1); length && !length->empty()) out[*axis] = length->front();
  op.set(0, op.input(0).type, out);
  const auto length = as_double((*op.outputs.at(0).shape)[*axis]);
  op.flops =
      fourier_flops(onnx_elements(*op.outputs[0].shape) / 2.0 / std::max(length, 1.0), length);
  if (op.integer("onesided", 0) != 0) out[*axis] = (*op.outputs[0].shape)[*axis] / 2 + 1;
  op.set(0, op.input(0).type, std::move(out));
}

// The inputs are the signal as [batch, length, …], the step between frames, a window, and the
// length of a frame.
void stft(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  const auto step = op.integers(1), given = op.integers(3);
  if (x == nullptr || x->size() < 2 || !step || step->empty() || step->front() < 1) return;
  std::int64_t frame = (*x)[1];
  if (op.shape(2) != nullptr && !op.shape(2)->empty()) frame = op.shape(2)->front();
  if (given && !given->empty()) frame = given->front();
  frame = std::clamp<std::int64_t>(frame, 0, (*x)[1]);
  const std::int64_t frames = ((*x)[1] - frame) / step->front() + 1;
  op.flops = fourier_flops(as_double((*x)[0]) * as_double(frames), as_double(frame));
  op.set(0, op.input(0).type,
         {(*x)[0], frames, op.integer("onesided", 1) != 0 ? frame / 2 + 1 : frame, 2});
}

// The first inputs are the number of mel bins and the length of the transform.
void mel_weight_matrix(OnnxOp& op) {
  const auto bins = op.integers(0), length = op.integers(1);
  if (!bins || !length || bins->empty() || length->empty()) return;
  op.set(0, onnx_type(op.integer("output_datatype", 1)).value_or(OnnxType::kFloat),
         {length->front() / 2 + 1, bins->front()});
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

// The result maps the names of classes to their scores.
void zip_map(OnnxOp& op) {
  op.set_like(0, 0);
  op.flops = 0.0;
}

// The result has the columns of the last dimension that the second input names.
void array_feature_extractor(OnnxOp& op) {
  op.set_like(0, 0);
  op.flops = 0.0;
  if (op.shape(0) == nullptr || op.shape(0)->empty() || op.shape(1) == nullptr) return;
  OnnxShape out = *op.shape(0);
  out.back() = onnx_size(onnx_elements(*op.shape(1)));
  if (out.size() == 1) out.insert(out.begin(), 1);
  op.set(0, op.input(0).type, std::move(out));
  op.bytes_read = op.outputs[0].bytes();
}

// Makes linear models the product of their rows and coefficients, `results` for each row.
void add_linear_work(OnnxOp& op, double rows, double results, double coefficients) {
  if (!op.node().op.starts_with("Linear")) return;
  op.works = {product_of(1.0, rows, results, coefficients / std::max(results, 1.0))};
}

// The results are a label and the scores of all classes for each row.
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
  // A tree ensemble walks every tree from its root to a leaf. The ids of trees rise from 0, so the
  // last one tells their number.
  const double trees = op.integer_list("nodes_treeids").empty()
                           ? 0.0
                           : as_double(op.integer_list("nodes_treeids").back()) + 1.0;
  op.flops = as_double(rows) * (work + 16.0 * std::max(trees, 0.0) + classes);
  add_linear_work(op, as_double(rows), classes, work / 2.0);
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
  add_linear_work(op, as_double(rows), as_double(targets), work / 2.0);
  op.set(0, OnnxType::kFloat, {rows, targets});
}

// The operator of ai.onnx.ml 5 for both classification and regression by trees, which lists their
// roots.
void tree_ensemble(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  const std::int64_t rows = x == nullptr || x->empty() ? 1 : (*x)[0];
  op.flops = 16.0 * as_double(rows) * static_cast<double>(op.integer_list("tree_roots").size());
  op.set(0, op.input(0).type, {rows, op.integer("n_targets", 1)});
}

void label_encoder(OnnxOp& op) {
  op.set_like(0, 0);
  if (op.has_attribute("values_int64s") || op.has_attribute("classes_strings") ||
      (op.node().op == "CategoryMapper" && op.input(0).type == OnnxType::kString))
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

// An operator of ai.onnx.ml that adds a dimension with an element for each category.
void one_hot_encoder(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  if (x == nullptr) return;
  const OnnxAttribute* names = op.find("cats_strings");
  const std::size_t categories =
      names != nullptr ? names->string_count : op.integer_list("cats_int64s").size();
  OnnxShape out = *x;
  out.push_back(static_cast<std::int64_t>(categories));
  op.flops = onnx_elements(out);
  op.set(0, OnnxType::kFloat, std::move(out));
}

// The result has a column for each n-gram. The attribute ngram_indexes holds the columns' numbers.
void tf_idf(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  const auto& columns = op.integer_list("ngram_indexes");
  if (x == nullptr || x->empty() || columns.empty()) return;
  OnnxShape out = *x;
  out.back() = onnx_size(as_double(*std::max_element(columns.begin(), columns.end())) + 1.0);
  op.flops = onnx_elements(*x) * std::max(as_double(op.integer("max_gram_length", 1)), 1.0);
  op.set(0, OnnxType::kFloat, std::move(out));
}

// The result has the words without the stop words, whose number depends on the data.
void string_normalizer(OnnxOp& op) {
  op.set_like(0, 0);
  op.guessed = op.has_attribute("stopwords");
  op.flops = op.input(0).elements();
}

// Optimizers of ai.onnx.preview.training. The inputs are the rate, the number of updates, the
// tensors, their gradients and kStates groups of state. The results are the tensors and the states.
template <int kFlops, std::size_t kStates>
void optimizer(OnnxOp& op) {
  const std::size_t tensors = op.input_count() < 2 ? 0 : (op.input_count() - 2) / (kStates + 2);
  double elements = 0.0;
  for (std::size_t i = 0; i < op.outputs.size() && tensors > 0; ++i) {
    const std::size_t group = i / tensors;
    op.set_like(i, 2 + (group == 0 ? 0 : group + 1) * tensors + i % tensors);
    if (group == 0) elements += op.input(2 + i).elements();
  }
  op.flops = kFlops * elements;
}

void normalizer(OnnxOp& op) {
  op.set_like(0, 0);
  op.outputs.at(0).type = OnnxType::kFloat;
  op.flops = 3.0 * op.input(0).elements();
}

constexpr OnnxRuleEntry kOnnxOtherRules[] = {{"TopK", top_k},
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
                                             {"STFT", stft},
                                             {"MelWeightMatrix", mel_weight_matrix},
                                             {"ReverseSequence", reverse_sequence},
                                             {"Col2Im", col_to_image},
                                             {"ZipMap", zip_map},
                                             {"ArrayFeatureExtractor", array_feature_extractor},
                                             {"LinearClassifier", classifier},
                                             {"SVMClassifier", classifier},
                                             {"TreeEnsembleClassifier", classifier},
                                             {"LinearRegressor", regressor},
                                             {"SVMRegressor", regressor},
                                             {"TreeEnsembleRegressor", regressor},
                                             {"LabelEncoder", label_encoder},
                                             {"FeatureVectorizer", feature_vectorizer},
                                             {"Normalizer", normalizer},
                                             {"TreeEnsemble", tree_ensemble},
                                             {"OneHotEncoder", one_hot_encoder},
                                             {"CategoryMapper", label_encoder},
                                             {"TfIdfVectorizer", tf_idf},
                                             {"StringNormalizer", string_normalizer},
                                             {"Adagrad", optimizer<6, 1>},
                                             {"Momentum", optimizer<5, 1>},
                                             {"Adam", optimizer<12, 2>},
                                             {{}, nullptr}};

}  // namespace

const OnnxRuleEntry* onnx_other_rules() {
  return kOnnxOtherRules;
}

}  // namespace doppler::formats
