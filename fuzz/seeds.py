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
    "format": "doppler.graph", "version": 1, "name": "g", "time_unit": "s",
    "tensors": [{"name": "x", "bytes": 8, "transfer_time": 1}, {"name": "w", "role": "parameter", "bytes": 4}],
    "nodes": [{"name": "a", "op": "mm", "time": 1, "flops": 5, "inputs": ["w"], "outputs": ["x"]},
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
     "attrs": [{"name": "op_schema", "type": "string", "value": "mm"}]},
    {"id": 4, "name": "aten::relu_", "ctrl_deps": 2, "inputs": io_of((5, 6)), "outputs": io_of((5, 6)), "attrs": []},
    {"id": 2, "name": "root", "ctrl_deps": 1, "inputs": io_of(), "outputs": io_of(), "attrs": []}]}
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
TOPOLOGY = {"format": "doppler.topology", "version": 1, "name": "t",
            "kinds": [{"name": "k", "class": "accelerator", "peak_flops": 1e12, "memory_bandwidth": 1e11}],
            "devices": [{"name": "d0", "kind": "k", "memory_bytes": 100}, {"name": "d1", "kind": "k"}],
            "pairwise_links": {"bandwidth": 1e9, "latency": 1e-6}}
CONSTRAINTS = {"format": "doppler.constraints", "version": 1,
               "pin": [{"nodes": "a*", "devices": "d[0-1]"}], "forbid": [{"nodes": "?", "devices": "d1"}],
               "colocate": ["x*", ["a", "b"]], "memory": {"d0": 100}}
PLACEMENT = {"format": "doppler.placement", "version": 1, "assignment": {"a": "d0", "b": "d1"},
             "priority": {"a": 1, "b": 0}}


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
    "dagbench": [DAGBENCH], "topology": [TOPOLOGY], "constraints": [CONSTRAINTS], "placement": [PLACEMENT],
    "archive": archives(),
}
SEEDS["recognise"] = [seed for name in SEEDS for seed in SEEDS[name]]


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
