#!/usr/bin/env python3
"""Writes a small file of every format into FOLDER/<target>/, for fuzzing to start from.

Usage: seeds.py FOLDER
"""

import gzip
import io
import json
import pathlib
import sys
import tarfile

GRAPH = {
    "format": "doppler.graph", "version": 2, "name": "g", "time_unit": "s",
    "tensors": [{"name": "x", "bytes": 8, "type": "bf16", "transfer_time": 1},
                {"name": "w", "role": "parameter", "bytes": 4}],
    "nodes": [{"name": "a", "op": "mm", "scope": "m/l.0", "time": 1, "flops": 5, "inputs": ["w"], "outputs": ["x"],
               "work": [{"class": "product", "type": "f16", "rows": 2, "columns": 3, "depth": 4}, {"count": 2}]},
              {"name": "b", "time": 1, "inputs": ["x"], "outputs": []}],
    "constraints": {"pin": [{"node": "a", "device": "d0"}], "colocate": [["a", "b"]]},
}
MSR = {
    "maxSizePerFPGA": 100.0, "maxFPGAs": 2, "maxCPUs": 1,
    "nodes": [{"id": i, "name": f"n{i}", "supportedOnFpga": i % 2, "cpuLatency": 2.0, "fpgaLatency": 1.0,
               "isBackwardNode": False, "colorClass": i // 2, "size": 30.0} for i in range(3)],
    "edges": [{"sourceId": 0, "destId": 1, "cost": 1.0, "size": 8.0}, {"sourceId": 1, "destId": 2, "cost": 2.0}],
}
PIPEDREAM = """node1 -- Conv2d(3, 64) -- forward_compute_time=1.5, backward_compute_time=2, \
activation_size=[8.0; 4.0], parameter_size=16
node2 -- ReLU -- forward_compute_time=1, backward_compute_time=0, activation_size=8, parameter_size=0
\tnode1 -- node2
"""
CHAKRA = {"workload_graph": [
    {"Id": 1, "Name": "a", "NodeType": 4, "runtime": 3, "data_deps": [], "is_cpu_op": True},
    {"Id": 2, "Name": "b", "NodeType": 7, "comm_size": 64, "data_deps": [1], "ctrlDeps": [1]}]}
CHAKRA_STREAM = """{"version": "0.0.4"}
{"id": "1", "name": "a", "type": "COMP_NODE", "durationMicros": "7", "attr": [{"name": "num_ops", "int64Val": "9"}]}
{"id": "2", "name": "b", "type": "COMM_COLL_NODE", "dataDeps": ["1"],
 "outputs": {"values": "[[1, 2, 0, 4, 4, 'cpu']]"}}"""
CHAKRA_PROTOBUF = (b"\x03\x0a\x011" + b"\x0a\x08\x01\x12\x01a\x18\x04\x38\xac\x02" +
                   b"\x1b\x08\x02\x12\x01b\x18\x07\x2a\x01\x01\x20\x01\x52\x0d\x0a\x09comm_size\x48\x05")


def io_of(*tensors):
    return {"values": [[*t, 0, 6, 4, "cuda:0"] for t in tensors], "shapes": [[2, 3] for _ in tensors],
            "types": ["Tensor(float)" for _ in tensors]}


PYTORCH = {"schema": "1.1.1-chakra.0.0.4", "nodes": [
    {"id": 3, "name": "aten::mm", "ctrl_deps": 2, "inputs": io_of((1, 2), (3, 4)), "outputs": io_of((5, 6)),
     "attrs": [{"name": "op_schema", "type": "string", "value": "aten::mm.out(Tensor a, Tensor b, Tensor(a!) out) -> Tensor(a!)"}]},
    {"id": 4, "name": "aten::relu_", "ctrl_deps": 2, "inputs": io_of((5, 6)), "outputs": io_of((5, 6)), "attrs": []},
    {"id": 5, "name": "aten::copy_", "ctrl_deps": 4, "inputs": io_of((5, 6), (1, 2)), "outputs": io_of((5, 6)), "attrs": []},
    {"id": 2, "name": "nn.Module: Linear_0", "ctrl_deps": 1, "inputs": io_of(), "outputs": io_of(), "attrs": []}]}
KINETO = {"schemaVersion": 1, "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 5,
     "args": {"External id": 1, "Input Dims": [[2, 3], []], "Input type": ["float", ""]}},
    {"ph": "X", "cat": "cuda_runtime", "name": "launch", "pid": 1, "tid": 1, "ts": 1, "dur": 1,
     "args": {"correlation": 9}},
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 3, "dur": 9,
     "args": {"External id": 1, "correlation": 9}}]}
WFFORMAT = {"name": "w", "schemaVersion": "1.5", "workflow": {
    "specification": {"tasks": [
        {"name": "s", "id": "a", "parents": [], "children": ["b"], "inputFiles": ["f"], "outputFiles": ["x"]},
        {"name": "t", "id": "b", "parents": ["a"], "children": [], "inputFiles": ["x"], "outputFiles": []}],
        "files": [{"id": "f", "sizeInBytes": 1}, {"id": "x", "sizeInBytes": 2}]},
    "execution": {"tasks": [{"id": "a", "runtimeInSeconds": 1}, {"id": "b", "runtimeInSeconds": 2}]}}}
WFFORMAT_OLD = {"name": "w", "schemaVersion": "1.4", "workflow": {"tasks": [
    {"name": "a", "runtime": 2, "parents": [], "files": [{"link": "output", "name": "f", "size": 5}]},
    {"name": "b", "parents": ["a"], "files": [{"link": "input", "name": "f", "size": 5}]}]}}
DAGBENCH = {"name": "d", "task_graph": {
    "tasks": [{"name": "a", "cost": 1.0}, {"name": "b", "cost": 2.0}],
    "dependencies": [{"source": "a", "target": "b", "size": 3.0}]},
    "network": {"nodes": [{"name": "n0", "speed": 1.0}, {"name": "n1", "speed": 2.0}],
                "edges": [{"source": "n0", "target": "n1", "speed": 10.0}]}}
NETWORKX = {"directed": True, "multigraph": False, "graph": {}, "nodes": [{"id": "a", "weight": 1}, {"id": 2, "weight": 3}],
            "links": [{"source": "a", "target": 2, "weight": 4}]}
TOPOLOGY = {"format": "doppler.topology", "version": 2, "name": "t",
            "kinds": [{"name": "k", "class": "accelerator", "peak_flops": 1e12, "memory_bandwidth": 1e11,
                       "hardware": {"product_flops": {"f32": 1e12, "bf16": 8e12}, "multiprocessors": 10,
                                    "clock_hz": 1e9, "cache_bytes": 1e6,
                                    "kernels": {"norm": {"floor_seconds": 1e-6}, "launch_seconds": 1e-6}}}],
            "devices": [{"name": "d0", "kind": "k", "memory_bytes": 100}, {"name": "d1", "kind": "k"}],
            "pairwise_links": {"bandwidth": 1e9, "latency_seconds": 1e-6,
                               "achieved": {"bandwidth": 8e8, "latency_seconds": 1e-5}}}
CONSTRAINTS = {"format": "doppler.constraints", "version": 1,
               "pin": [{"nodes": "a*", "devices": "d[0-1]"}], "forbid": [{"nodes": "?", "devices": "d1"}],
               "colocate": ["x*", ["a", "b"]], "memory": {"d0": 100}}
PLACEMENT = {"format": "doppler.placement", "version": 1, "assignment": {"a": "d0", "b": "d1", "c": "d0"},
             "priority": {"a": 1, "b": 0, "c": 0.5}, "dimensions": {"n": 3}, "precision": "bf16", "constraints": {
                 "pin": [{"nodes": "a", "devices": "d0"}], "colocate": [["a", "b"]], "memory": {"d*": 7}}}


def field(number, content):
    """A field of a protocol buffer: an integer below 128, or up to 16,383 bytes."""
    if isinstance(content, int):
        return bytes([number << 3 & 0x7f, content]) if number < 16 else bytes([number << 3 & 0x7f | 0x80, number >> 4, content])
    content = content.encode() if isinstance(content, str) else content
    tag = [number << 3 & 0x7f | 2] if number < 16 else [number << 3 & 0x7f | 0x82, number >> 4]
    length = [len(content)] if len(content) < 128 else [len(content) & 0x7f | 0x80, len(content) >> 7]
    return bytes(tag + length) + content


def onnx_value(name, *dims):
    shape = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def onnx_node(op, inputs, outputs, *attributes):
    return (b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(4, op) +
            b"".join(field(5, a) for a in attributes))


def onnx_list(name, *values):
    return field(1, len(values)) + field(2, 7) + field(8, name) + b"".join(field(7, v) for v in values)


def onnx_function(name, inputs, outputs, *nodes):
    return (field(1, name) + b"".join(field(4, i) for i in inputs) + b"".join(field(5, o) for o in outputs) +
            b"".join(field(7, n) for n in nodes) + field(10, "d"))


def onnx_model(nodes, initializers, inputs, outputs, functions=()):
    graph = (b"".join(field(1, n) for n in nodes) + field(2, "g") + b"".join(field(5, i) for i in initializers) +
             b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs))
    return field(1, 8) + field(7, graph) + field(8, field(2, 13)) + b"".join(field(25, f) for f in functions)


def onnx_models():
    ints = lambda name, *values: field(1, name) + b"".join(field(8, v) for v in values)
    weights = field(1, 8) + field(1, 3) + field(1, 3) + field(1, 3) + field(2, 1) + field(8, "w")
    body = field(1, onnx_node("Add", ["x", "x"], ["t"])) + field(12, onnx_value("t"))
    branch = lambda name: field(1, name) + field(6, body)
    return [
        onnx_model([onnx_node("Conv", ["x", "w"], ["y"], ints("pads", 1, 1, 1, 1)),
                    onnx_node("Shape", ["y"], ["s"]), onnx_node("Gather", ["s", "i"], ["n"]),
                    onnx_node("Concat", ["n", "m"], ["c"], field(1, "axis") + field(3, 0)),
                    onnx_node("Reshape", ["y", "c"], ["z"])],
                   [weights, onnx_list("i", 0), onnx_list("m", 64)],
                   [onnx_value("x", "batch", 3, 8, 8)], [onnx_value("z")]),
        onnx_model([onnx_node("If", ["c"], ["y"], branch("then_branch"), branch("else_branch")),
                    onnx_node("Slice", ["y", "a", "b"], ["z"]), onnx_node("MatMul", ["z", "y"], ["u"])],
                   [onnx_list("a", 0), onnx_list("b", 4)], [onnx_value("x", 8, 8), onnx_value("c")],
                   [onnx_value("u")]),
        # Functions that call each other; a loop that collects a sequence.
        onnx_model([onnx_node("Outer", ["x"], ["y"]) + field(7, "d")], [], [onnx_value("x", 4)], [onnx_value("y")],
                   [onnx_function("Outer", ["a"], ["c"], onnx_node("Inner", ["a", ""], ["b"]) + field(7, "d"),
                                  onnx_node("Exp", ["b"], ["c"])),
                    onnx_function("Inner", ["a", "b"], ["c"], onnx_node("Neg", ["a"], ["c"]))]),
        onnx_model([onnx_node("SequenceEmpty", [], ["s"]),
                    onnx_node("Loop", ["m", "c", "s"], ["r"], field(1, "body") + field(6, (
                        field(1, onnx_node("SequenceInsert", ["q", "x"], ["p"])) + field(11, onnx_value("i")) +
                        field(11, onnx_value("k")) + field(11, onnx_value("q")) + field(12, onnx_value("k")) +
                        field(12, onnx_value("p"))))),
                    onnx_node("ConcatFromSequence", ["r"], ["y"], field(1, "axis") + field(3, 0))],
                   [onnx_list("m", 3), onnx_list("c", 1)], [onnx_value("x", 4)], [onnx_value("y")])]


HLO = """HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
body { s = (s32[], f32[4,4]) parameter(0) i = s32[] get-tuple-element(s), index=0
  x = f32[4,4]{1,0} get-tuple-element(s), index=1
  y = f32[4,4] dot(f32[4,4] %x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (s32[], f32[4,4]) tuple(i, y) }
cond { s = (s32[], f32[4,4]) parameter(0) i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(10) ROOT c = pred[] compare(i, n), direction=LT }
ENTRY %e (p: f32[4,4]) -> (f32[4,4], f32[4]) {
  %p = f32[4,4]{1,0} parameter(0), metadata={op_name="jit(f)/jit(main)/l_0/transpose(jvp(a/b"}
  z = s32[] constant(0) /*index=1*/ t = (s32[], f32[4,4]) tuple(z, p)
  w = (s32[], f32[4,4]) while(t), condition=cond, body=%body, backend_config={"known_trip_count":{"n":"3"}}
  y = f32[4,4] get-tuple-element(w), index=1
  k = f32[4,4] convolution(y, y), window={size=1 lhs_dilate=2}, dim_labels=b0_0i->b0
  r = f32[4] reduce(y, z), dimensions={1}, to_apply=add
  ROOT o = (f32[4,4], f32[4]) tuple(k, r)
}
"""
NCNN = """7767517
6 7
Input in 0 1 in 0=8 1=8 2=3
Convolution conv 1 1 in a 0=4 1=3 4=1 5=1 6=108 -23310=1,1.0e-01
Split s 1 2 a b c
Concat cat 2 1 b c d 0=0
Pooling pool 1 1 d e 4=1 6="64,1w,1h"
InnerProduct fc 1 1 e f 0=2 1=1 2=16 -23330=4,1,2,1,1
"""

PROGRAM = """dim n = 4, m = n / 2, t = 3  # sizes
input x[n, m]
sparse a<i: 2, j: 2>[m] = (0, 1) (1, 0)
param w{m}[m, t]
fn f(v, d)
  e = exp(v - max(v, d))
  return e / sum(e, d)
end
y = f(einsum(x, w2 -> [n, t]), t) * 2 - 1
repeat 3 as k
  z{k} = relu(y[n, u]) * -1e-3
end
loss = mean(square(y)) + sum(aggregate(a, i, j))
output z0, y
"""
SPECS = ["4xP100", "2n8xA100", "2xA100-40GB+2xT4", "uniform:4", "cpu:2"]
METRICS = """update,episodes,stage,task,rate,mean,best,best_so_far,misfits,gradient,log_sel,log_plc,rolled_back,seconds
1,2,imitation,0,0.004,inf,inf,inf,0,1.5,-1.2,-0.7,0,0.001
2,4,sim,0,0.004,3.5,3.5,3.5,0,1.1,-1.2,-0.7,0,0.002
4,8,sim,0,0.002,3.5,3,3,1,0.9,-1.1,-0.6,1,0.004
"""
RUNS = """run,exploratory,time,promotions
0,0,3.5,0
1,1,3.25,0
3,0,3.25,1
"""
RESULTS = """a,1,1e-300,-5,
b,1,0.30000000000000004,,0.25 2
"""
CONFIGURATION = {"format": "doppler.training", "version": 1, "graphs": ["g.json"], "devices": "uniform:2", "list": "",
                 "episodes": 64, "model": "dual", "without": []}


def archives():
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        for name in ("a.json", "b.json"):
            member = tarfile.TarInfo(name)
            member.size = 4
            archive.addfile(member, io.BytesIO(b"{ }\n"))
    return [tar.getvalue(), gzip.compress(tar.getvalue()), gzip.compress(b"digraph {}")]


SEEDS = {
    "json": [GRAPH], "text": ["3\n0, \n0, \n1, \n1,2,mm\n3,4\n"],
    "dot": ["digraph g { node [op=x]; a [time=1, bytes=8]; b [cost=2]; a -> {b c} [bytes=4]; subgraph s { c } }"],
    "msr": [MSR], "pipedream": [PIPEDREAM], "chakra": [CHAKRA, CHAKRA_STREAM, CHAKRA_PROTOBUF],
    "pytorch_et": [PYTORCH], "kineto": [KINETO, KINETO["traceEvents"]], "wfformat": [WFFORMAT, WFFORMAT_OLD],
    "dagbench": [DAGBENCH, NETWORKX, DAGBENCH["task_graph"]], "onnx": onnx_models(), "hlo": [HLO], "ncnn": [NCNN],
    "archive": archives(), "program": [PROGRAM], "topology": [TOPOLOGY], "spec": SPECS, "constraints": [CONSTRAINTS],
    "placement": [PLACEMENT], "problem_list": ["# graphs\na.json 4xP100\nb.onnx cpu:2 free\n"],
    "run_folder": [METRICS, RUNS, CONFIGURATION], "results_table": [RESULTS],
}
# What is unlike every graph format is recognised as none, soon.
SEEDS["recognise"] = [seed for name in SEEDS for seed in SEEDS[name]]
WORKS = {"format": "doppler.graph", "version": 2, "tensors": [{"name": "x", "bytes": 96, "type": "bf16"}], "nodes": [
    {"name": "a", "op": "MatMul", "flops": 48, "outputs": ["x"],
     "work": [{"class": "product", "type": "bf16", "batch": 2, "rows": 3, "columns": 4, "depth": 1}]},
    {"name": "b", "op": "LSTM", "inputs": ["x"], "bytes_read": 96, "bytes_written": 8,
     "work": [{"class": "recurrence", "count": 10, "rows": 1, "columns": 8, "depth": 2}, {"class": "norm", "rows": 4, "columns": 9}]}]}
SEEDS["predicted"] = [json.dumps(WORKS) + "\n" + json.dumps(TOPOLOGY), json.dumps(GRAPH) + "\n" + json.dumps(TOPOLOGY)]


def main(arguments):
    if len(arguments) != 1:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    for target, seeds in SEEDS.items():
        folder = pathlib.Path(arguments[0]) / target
        folder.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(seeds):
            if isinstance(seed, str):
                seed = seed.encode()
            elif not isinstance(seed, bytes):
                seed = json.dumps(seed).encode()
            (folder / f"seed{number}").write_bytes(seed)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
