#!/usr/bin/python3
"""Writes VGG19, Inception v3 and GPT-2 as ONNX files, with weights of no meaning, for predictions of their times.

  bench/quality/export_models.py FOLDER [--batch 8] [--tokens 1024]

Needs Debian's python3-torch and python3-torchvision (tools/setup.sh models). The first two are torchvision's; GPT-2
is the smallest published one (12 layers, 768 wide, 12 heads, vocabulary 50257), written out here.
"""
import argparse
import math
import pathlib
import warnings

import torch
import torchvision
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, mask):
        batch, tokens, width = x.shape
        split = lambda y: y.reshape(batch, tokens, self.heads, width // self.heads).transpose(1, 2)
        q, k, v = map(split, self.qkv(self.before(x)).split(width, dim=2))
        weights = torch.softmax(q @ k.transpose(2, 3) / math.sqrt(width // self.heads) + mask, dim=3)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(nn.functional.gelu(self.up(self.after(x))))


class Gpt2(nn.Module):
    def __init__(self, tokens, width=768, heads=12, layers=12, vocabulary=50257):
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Parameter(torch.zeros(tokens, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.register_buffer("mask", torch.full((tokens, tokens), -1e9).triu(1))

    def forward(self, ids):
        x = self.words(ids) + self.places
        for block in self.blocks:
            x = block(x, self.mask)
        return self.norm(x) @ self.words.weight.t()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=1024)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    image = lambda side: torch.zeros(options.batch, 3, side, side)
    models = {
        "vgg19": (lambda: torchvision.models.vgg19(weights=None), image(224)),
        "inception_v3": (lambda: torchvision.models.inception_v3(weights=None, init_weights=False), image(299)),
        "gpt2": (lambda: Gpt2(options.tokens), torch.zeros(options.batch, options.tokens, dtype=torch.int64))}
    warnings.simplefilter("ignore")
    for name, (make, example) in models.items():
        path = options.folder / f"{name}.onnx"
        with torch.no_grad():
            torch.onnx.export(make().eval(), (example,), str(path), opset_version=13)
        print(path)


if __name__ == "__main__":
    main()
