"""A framework's training step, bare and in a slice that is the whole card: what the limiter costs a real program."""

from __future__ import annotations

import importlib.util
import json
import sys

from tests.gpu_check.bench import Bench

STEP = """
import json, time, torch
torch.manual_seed(0)
net = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).cuda()
best = torch.optim.SGD(net.parameters(), lr=1e-3)
x = torch.randn(256, 2048, device="cuda")
def step():
    best.zero_grad(); loss = net(x).square().mean(); loss.backward(); best.step()
for _ in range(20): step()
torch.cuda.synchronize(); began = time.perf_counter()
for _ in range(200): step()
torch.cuda.synchronize()
print(json.dumps({"step_ms": (time.perf_counter() - began) * 5}))
"""


def framework_step(bench: Bench) -> dict[str, object]:
    """Milliseconds a step; skipped where PyTorch or a real card is missing."""
    if bench.device.simulated:
        return {"skipped": "a framework's runtime needs a real driver"}
    if importlib.util.find_spec("torch") is None:
        return {"skipped": "PyTorch is not installed"}
    bare = json.loads(bench.run(sys.executable, "-c", STEP))["step_ms"]
    limited = json.loads(bench.run(sys.executable, "-c", STEP, env=bench.slice().env))["step_ms"]
    return {"bare_ms": round(bare, 3), "limited_ms": round(limited, 3), "ratio": round(limited / bare, 4)}
