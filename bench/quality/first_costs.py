"""The first cost model, on which the tables in docs/ rest: `--costs roofline`, and graphs planned by it.

`dopp graph generate` plans by predicted costs now. What it planned by the roofline is pinned here, so that the commands
beside the tables still give the same graphs.
"""

# Arguments of `dopp graph generate`: the parts of each dimension.
PLANS = {
    "chainmm --devices 4xP100": "k=4",
    "chainmm --devices 8xV100": "k=8",
    "chainmm --devices 4xA100": "k=4",
    "chainmm --devices 2n4xA100": "k=8",
    "chainmm --devices 8n8xA100": "i=2,k=64,m=2",
    "chainmm --size 10000 --devices 8xV100": "k=8",
    "chainmm --size 10000 --devices 2n8xA100": "k=16",
    "chainmm --size 10000 --devices 4xA100+4xT4": "i=4,k=32,m=4",
    "ffnn --devices 4xP100": "batch=4",
    "ffnn --devices 8xV100": "batch=8",
    "ffnn --devices 4xA100": "batch=4",
    "ffnn --devices 2n4xA100": "batch=8",
    "ffnn --devices 8n8xA100": "batch=64",
    "ffnn --devices 2n8xA100": "batch=16",
    "ffnn --devices 4xA100+4xT4": "batch=4,hidden=4,out=8",
    "ffnn --train --devices 8xV100": "hidden=8,out=8",
    "ffnn --train --devices 2xA100+2xT4": "hidden=8,out=8",
    "ffnn --train --devices 4xA100+4xT4": "batch=2,hidden=8,out=8",
    "llama-block --devices 4xP100": "seq=4,past=4",
    "llama-block --devices 8xV100": "seq=8,heads=2",
    "llama-block --devices 4xA100": "seq=4,past=4",
    "llama-block --devices 2n4xA100": "seq=8,heads=2,past=2",
    "llama-block --seq 2048 --devices 8xV100": "seq=8,heads=2",
    "llama-block --seq 2048 --devices 2xA100+2xT4": "embed=2,seq=4,heads=2,ffn=2",
    "llama-block --seq 2048 --devices 2n8xA100": "seq=16,heads=16",
    "llama-block --seq 512 --train --devices 8xV100": "embed=8,heads=4,past=2,ffn=8",
    "llama-block --seq 512 --train --devices 2xA100+2xT4": "embed=2,seq=2,past=2,ffn=2",
    "llama-block --seq 1000 --hidden 4096 --train --devices 8xV100": "embed=8,heads=8,ffn=8",
    "llama-layer --devices 4xP100": "seq=4,past=4",
    "llama-layer --devices 8xV100": "seq=8,heads=2",
    "llama-layer --devices 4xA100": "seq=4,past=4",
    "llama-layer --devices 2n4xA100": "seq=8,heads=4",
    "llama-layer --seq 2048 --devices 8xV100": "seq=8,heads=2",
    "llama-layer --seq 2048 --devices 2xA100+2xT4": "seq=8,heads=4",
    "llama-layer --seq 2048 --devices 2n8xA100": "seq=16,heads=16",
    "llama-layer --seq 2048 --devices 4xA100+4xT4": "seq=8,vocab=2,ffn=2",
    "llama-layer --seq 512 --devices 8xV100": "seq=8,heads=2",
    "llama-layer --seq 512 --devices 2xA100+2xT4": "embed=2,seq=4,heads=4,ffn=4",
    "llama-layer --seq 384 --hidden 768 --heads 8 --ffn 2048 --vocab 4000 --shards 8": "seq=8",
}


def graph(arguments):
    """Arguments of `dopp graph generate`, as a list, with the plan that the roofline led to where predictions lead to another."""
    return [*arguments.split(), *(["--shard", PLANS[arguments]] if arguments in PLANS else [])]


def costs(devices):
    """The option for these devices; on uniform:N times are given."""
    return [] if devices.startswith("uniform:") else ["--costs", "roofline"]
