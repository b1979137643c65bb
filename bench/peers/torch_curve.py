#!/usr/bin/python3
# Trains mnist_cnn on Fashion-MNIST in PyTorch with plain SGD, as in the tutorial, once per seed,
# and stores loss and accuracy per epoch. Pando's training is compared with this curve.
# SPDX-License-Identifier: MIT
import argparse
import gzip
import json
import pathlib
import time

import numpy
import torch
from torch.nn import functional as F

import torch_models

FASHION_MNIST = pathlib.Path("/usr/share/datasets/fashion-mnist")
KEYS = ("loss", "accuracy", "val_loss", "val_accuracy")


def read_idx(path):
    with gzip.open(path) as file:
        data = file.read()
    sizes = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(data[3])]
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * len(sizes)).reshape(sizes)


def load(folder, part):
    images = read_idx(folder / f"{part}-images-idx3-ubyte.gz")
    labels = read_idx(folder / f"{part}-labels-idx1-ubyte.gz")
    x = torch.from_numpy(images.astype(numpy.float32) / 255).unsqueeze(1)
    return x, torch.from_numpy(labels.astype(numpy.int64))


def run_epoch(model, data, batch, optimizer=None, samples=None):
    """Mean loss and accuracy over the samples. With an optimizer it also trains, on `samples` of
    them; the means are then taken while the model trains, as Keras shows them."""
    x, y = data
    model.train(optimizer is not None)
    order = torch.randperm(len(x))[:samples] if optimizer else torch.arange(len(x))
    loss_sum, correct = 0.0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for picked in order.split(batch):
            logits, labels = model(x[picked]), y[picked]
            loss = F.cross_entropy(logits, labels)
            if optimizer:
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * len(picked)
            correct += (logits.argmax(1) == labels).sum().item()
    return loss_sum / len(order), correct / len(order)


def train(seed, options, train_set, test_set):
    torch.manual_seed(seed)
    model = torch_models.init_like_keras(torch_models.build("mnist_cnn"))
    optimizer = torch.optim.SGD(model.parameters(), lr=options.learning_rate)
    epochs = []
    for epoch in range(options.epochs):
        start = time.monotonic()
        values = run_epoch(model, train_set, options.batch, optimizer, options.samples)
        values += run_epoch(model, test_set, 1000)
        epochs.append({key: round(value, 5) for key, value in zip(KEYS, values)})
        print(f"seed {seed} epoch {epoch + 1}: {epochs[-1]} {time.monotonic() - start:.0f} s",
              flush=True)
    return {"seed": seed, "epochs": epochs}


def summarise(runs):
    """Per epoch and quantity: smallest, mean and largest over the seeds."""
    summary = []
    for epochs in zip(*(run["epochs"] for run in runs)):
        columns = {key: [epoch[key] for epoch in epochs] for key in KEYS}
        summary.append({key: {"min": min(v), "mean": round(sum(v) / len(v), 5), "max": max(v)}
                        for key, v in columns.items()})
    return summary


def main():
    parser = argparse.ArgumentParser(
        description="Fashion-MNIST training curve of mnist_cnn in PyTorch, several seeds.")
    parser.add_argument("--dataset-path", type=pathlib.Path, default=FASHION_MNIST)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--samples", type=int, default=None, help="per epoch; default: all")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=0.01)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("curve.json"))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    train_set = load(options.dataset_path, "train")
    test_set = load(options.dataset_path, "t10k")
    runs = []
    for seed in range(options.seeds):
        runs.append(train(seed, options, train_set, test_set))
        result = {"model": "mnist_cnn", "dataset": "fashion_mnist", "optimizer": "sgd",
                  "learning_rate": options.learning_rate, "batch_size": options.batch,
                  "samples": options.samples or len(train_set[0]), "torch": torch.__version__, "summary": summarise(runs), "runs": runs}
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
