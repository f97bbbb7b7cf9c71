// OnnxReader, which turns the nodes of an ONNX model into operations of a graph. It decides which
// nodes are folded to constants, which are views of their input, and which do work. Single nodes
// are in onnx.cc, control flow and functions in onnx_bodies.cc.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "doppler/formats/model_graph.h"
#include "doppler/formats/onnx/onnx.h"
#include "doppler/formats/onnx/onnx_model.h"
#include "doppler/formats/onnx/onnx_notes.h"
#include "doppler/formats/onnx/onnx_op.h"
#include "doppler/formats/work_list.h"

namespace doppler::formats {

// The reader of one model. Not thread safe; read() may be called once.
class OnnxReader {
 public:
  // The arguments must outlive this. Throws InputError if the model cannot be parsed.
  OnnxReader(const std::string& file, std::string_view bytes, const ImportOptions& options);

  OnnxImported read() &&;

 private:
  using ValueIndex = std::uint32_t;
  static constexpr std::uint32_t kNone = 0xffffffffu;

  // A value of the model, and the tensor that holds it.
  struct Value {
    std::string_view name;
    OnnxFacts facts;
    ModelGraph::Tensor tensor = kNone;  // kNone for unused constants and values inside bodies
    std::uint32_t source = kNone;       // the operation of the graph whose result it is
  };

  // The names of a graph, body or function.
  struct Scope {
    std::unordered_map<std::string_view, ValueIndex> names;  // kNone: left out by a function's call
    const Scope* outer = nullptr;
    std::unordered_map<std::string_view, const OnnxValueInfo*> declared;

    // Returns the value of a name here or in an outer scope; nothing if there is none.
    std::optional<ValueIndex> find(std::string_view name) const;
  };

  // The summed costs of a body that becomes one node.
  struct Body {
    double flops = 0.0, bytes_read = 0.0, bytes_written = 0.0;
    bool any = false;  // whether there is an operation in it
    WorkList works;    // those of an operation of the graph itself may be left out
    std::vector<ModelGraph::Tensor> operands;  // from outside

    void add(const Body& other, double times);
  };

  using Values = std::vector<ValueIndex>;
  using Attributes = std::vector<OnnxAttribute>;

  [[noreturn]] void fail(std::size_t at, const std::string& message) const {
    onnx_fail(file_, at, message);
  }

  // --- one node ---
  ValueIndex add_value(Scope& scope, std::string_view name, OnnxFacts facts);
  void enter(const OnnxGraph& graph, Scope& scope);
  std::vector<std::size_t> order_of(const std::vector<OnnxNode>& nodes, const Scope& scope) const;
  // Reads one node. `body` is null in the model's graph itself, where a node becomes an operation;
  // otherwise its cost is added to the body. `outer` are the attributes of the enclosing function.
  void visit(const OnnxNode& node, Scope& scope, Body* body, const Attributes& outer, int depth);
  bool gives_the_same(const OnnxNode& node, const Values& inputs, Scope& scope) const;
  void complete(OnnxOp& op, const Scope& scope);
  void pass_on(const OnnxNode& node, OnnxOp& op, ValueIndex input, Scope& scope, const Body* body);
  ModelGraph::Tensor tensor_of(ValueIndex index);
  void work(const OnnxNode& node, OnnxOp& op, const Values& inputs, Scope& scope, Body* body);
  WorkList works_of(const OnnxNode& node, const OnnxOp& op, const Body& cost);
  void emit(const OnnxNode& node, const Body& cost, std::vector<OnnxFacts> results, Scope& scope,
            Body* body);

  // --- bodies ---
  Values run(const OnnxGraph& graph, Scope& scope, Body* body, const Attributes& outer, int depth);
  // Returns the facts of a value of a body that hold outside of it.
  OnnxFacts facts_of(ValueIndex value) const;
  OnnxFacts facts_without_data(ValueIndex value) const;
  void adopt(const OnnxNode& node, const Values& results, Scope& scope, const Body* body);
  bool all_placed(const Values& results) const;
  const OnnxGraph& body_of(const OnnxNode& node, std::string_view name) const;
  Body body_that_reads(const Values& inputs);
  void emit_body(const OnnxNode& node, Body cost, std::vector<OnnxFacts> results, Scope& scope,
                 Body* body);

  bool holds_the_model(const OnnxNode& node) const;
  void replace_by(const OnnxGraph& branch, const OnnxNode& node, Scope& scope,
                  const Attributes& outer, int depth);
  void visit_if(const OnnxNode& node, const Values& inputs, Scope& scope, Body* body,
                const Attributes& outer, int depth);

  struct Rounds;
  Rounds rounds_of(const OnnxNode& node, const Values& inputs, std::size_t states) const;
  std::vector<OnnxFacts> run_loop(const OnnxNode& node, const Values& inputs, Scope& scope,
                                  Body& cost, const Attributes& outer, int depth);
  void visit_loop(const OnnxNode& node, const Values& inputs, Scope& scope, Body* body,
                  const Attributes& outer, int depth);

  bool is_module(const OnnxFunction& function) const;
  static Attributes attributes_of_call(const OnnxFunction& function, const OnnxNode& node,
                                       const Attributes& outer);
  void visit_function(const OnnxFunction& function, const OnnxNode& node, const Values& inputs,
                      Scope& scope, Body* body, const Attributes& outer, int depth);

  using FunctionName = std::tuple<std::string_view, std::string_view, std::string_view>;
  static FunctionName function_name(const OnnxNode& node) {
    return {node.domain, node.op, node.overload};
  }

  const std::string& file_;
  OnnxModel model_;
  OnnxNotes notes_;
  ModelGraph graph_;
  std::deque<Value> values_;  // a deque, since pointers to facts stay valid while more are added
  std::map<FunctionName, const OnnxFunction*> functions_;
  // Constants that a node gave from these inputs, so that a body that is visited several times
  // makes them once.
  struct Folded {
    Values inputs, outputs;
  };
  std::unordered_map<const OnnxNode*, Folded> folded_;
  std::unordered_map<const OnnxTensor*, ValueIndex> initializers_;
  std::vector<std::uint32_t> op_of_;  // by node of the model's graph
  std::size_t current_ = 0;           // the node of the model's graph that is visited
  std::size_t visited_ = 0;
  std::unordered_map<std::string_view, kernel::WorkClass> class_of_;  // by operator's name
  bool walks_rounds_ = false;  // inside a loop that is walked round by round
};

}  // namespace doppler::formats
