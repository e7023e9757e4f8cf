"""Recognise handwritten digits by nearest neighbours, the distances on the device.

Data: the 1,797 images of 8 x 8 pixels, values 0-16, that ship with scikit-learn (UCI "Optical Recognition of
Handwritten Digits"). Distances are sums of squared integers, so the device's and numpy's must be equal to the last bit.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from config.demo.programs.opencl import Device

TEST_IMAGES = 360
NEIGHBOURS = 3
PIXELS = 64

SOURCE = """
__kernel void distances(__global const int *known, __global const int *asked, const int n, __global int *out) {
    const int row = get_global_id(0), column = get_global_id(1);
    int sum = 0;
    for (int p = 0; p < 64; p++) {
        const int d = asked[row * 64 + p] - known[column * 64 + p];
        sum += d * d;
    }
    out[row * n + column] = sum;
}
"""

Ints = NDArray[np.int32]


def load_digits() -> tuple[Ints, Ints]:
    """(images as rows of 64 pixels, labels), read from scikit-learn's file without importing scikit-learn."""
    spec = importlib.util.find_spec("sklearn")
    if spec is None or spec.origin is None:
        raise SystemExit("scikit-learn, whose data this program reads, is not installed")
    path = Path(spec.origin).parent / "datasets" / "data" / "digits.csv.gz"
    with gzip.open(path, "rt") as lines:
        table = np.loadtxt(lines, delimiter=",").astype(np.int32)
    return np.ascontiguousarray(table[:, :PIXELS]), table[:, PIXELS]


def distances_on_device(device: Device, known: Ints, asked: Ints) -> Ints:
    """Squared distances, one row for each asked image."""
    result = np.empty((len(asked), len(known)), np.int32)
    out = device.empty(result.nbytes)
    kernel = device.build(SOURCE).distances
    kernel(device.queue, result.shape, None, device.upload(known), device.upload(asked), np.int32(len(known)), out)
    device.download(out, result)
    return result


def distances_on_host(known: Ints, asked: Ints) -> Ints:
    """The reference: numpy, in exact integers."""
    squares = (asked * asked).sum(axis=1)[:, None] + (known * known).sum(axis=1)[None, :]
    result: Ints = (squares - 2 * (asked @ known.T)).astype(np.int32)
    return result


def vote(distances: Ints, labels: Ints) -> Ints:
    """The commonest label among the nearest; the nearest of all decides between equals."""
    nearest = labels[np.argsort(distances, axis=1, kind="stable")[:, :NEIGHBOURS]]
    counts = (nearest[:, :, None] == nearest[:, None, :]).sum(axis=2)
    winners: Ints = nearest[np.arange(len(nearest)), counts.argmax(axis=1)]
    return winners


def main() -> int:
    images, labels = load_digits()
    known, asked = images[:-TEST_IMAGES], images[-TEST_IMAGES:]
    device = Device.open()
    found = distances_on_device(device, known, asked)
    guesses = vote(found, labels[:-TEST_IMAGES])
    right = int((guesses == labels[-TEST_IMAGES:]).sum())
    exact = bool((found == distances_on_host(known, asked)).all())
    report = {"images": len(asked), "recognised": right, "exact": exact, "device_memory_mib": device.memory_mib}
    print(json.dumps(report))
    return 0 if exact and right * 100 >= len(asked) * 95 else 1


if __name__ == "__main__":
    sys.exit(main())
