// Doppler's front door for programs that embed it: this one header, and one call for each thing
// that the `dopp` command does (`reproduce` aside).
//
//   graph::GraphBuilder builder;  …  graph::Graph graph = std::move(builder).build();
//   api::Result result = api::place(std::move(graph), "4xA100");
//   result.placement.device[node.index()], result.figures.nominal, result.bound, result.gap
//
//   graph show, generate        api::compute_statistics, api::generate_random
//   graph convert, compile      api::load_graph and api::format_graph, api::compile
//   devices show, probe         api::topology_from_spec, api::probe_machine
//   methods, place              api::default_methods, api::place
//   simulate, run, train        api::simulate, api::run, api::train
//   compare, fidelity           api::compare, api::measure_fidelity
//   whatif, diff, explain       api::what_if, api::diff_placements, api::explain_node
//   export, report              api::target_by_name(…).write, api::page_html
//
// Everything here is thread safe. Errors are those of doppler/base/error.h. The library never
// prints.
#pragma once

#include "doppler/analysis/compare.h"
#include "doppler/analysis/explain_node.h"
#include "doppler/analysis/fidelity.h"
#include "doppler/analysis/placement_diff.h"
#include "doppler/analysis/what_if.h"
#include "doppler/api/load.h"
#include "doppler/api/place.h"
#include "doppler/api/train.h"
#include "doppler/base/error.h"
#include "doppler/device/spec.h"
#include "doppler/exec/probe/probe.h"
#include "doppler/export/export.h"
#include "doppler/graph/builder.h"
#include "doppler/graph/generate/random.h"
#include "doppler/graph/statistics.h"
#include "doppler/render/page/page.h"
#include "doppler/tra/language/program_text.h"
#include "doppler/tra/operations.h"

namespace doppler::api {

using analysis::compare;
using analysis::diff_placements;
using analysis::explain_node;
using analysis::measure_fidelity;
using analysis::suitable_methods;
using analysis::what_if;
using device::topology_from_spec;
using exec::probe_machine;
using exporting::target_by_name;
using formats::format_graph;
using formats::load_graph;
using graph::compute_statistics;
using graph::generate_random;
using render::page_html;

}  // namespace doppler::api
