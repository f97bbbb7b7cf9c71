// What each subcommand does. They print to standard output and throw the library's errors.
#pragma once

#include "app/requests.h"

namespace doppler::app {

void run(const GraphShowRequest& request);
void run(const GraphGenerateRequest& request);
void run(const GraphWorkloadRequest& request);
void run(const GraphCompileRequest& request);
void run(const GraphConvertRequest& request);
void run(const DevicesListRequest& request);
void run(const DevicesShowRequest& request);
void run(const DevicesProbeRequest& request);
void run(const MethodsRequest& request);
void run(const PlaceRequest& request);
void run(const SimulateRequest& request);
void run(const RunRequest& request);
void run(const FidelityRequest& request);
void run(const CompareRequest& request);
void run(const ReportRequest& request);
void run(const WhatIfRequest& request);
void run(const DiffRequest& request);
void run(const ExplainRequest& request);
void run(const ReproduceRequest& request);
void run(const ExportRequest& request);
inline void run(const Action& action) {
  action.work();
}

}  // namespace doppler::app
