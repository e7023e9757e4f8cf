/** What to paste into a shell to see a slice do something. Every line works as it stands. */
import { shellWord } from "@/lib/curl";

export const LOAD_SECONDS = 60;

/**
 * Fills half of the slice's memory and keeps its compute busy for a minute. No single quotes: it stands in some.
 * Kernels are short, so that the share paces them smoothly.
 */
const PROGRAM = `
import time, numpy as np, pyopencl as cl
device = cl.get_platforms()[0].get_devices()[0]
context = cl.Context([device])
queue = cl.CommandQueue(context)
print("device:", device.name, "| memory:", device.global_mem_size >> 20, "MiB", flush=True)
piece = min(device.max_mem_alloc_size, device.global_mem_size // 8)
held = [cl.Buffer(context, cl.mem_flags.READ_WRITE, piece) for _ in range(4)]
for buffer in held:
    cl.enqueue_fill_buffer(queue, buffer, np.uint8(1), 0, piece)
queue.finish()
spin = cl.Program(context, """__kernel void spin(__global uint *x) {
    uint v = x[get_global_id(0)];
    for (int i = 0; i < 2000; i++) v = v * 1664525u + 1013904223u;
    x[get_global_id(0)] = v;
}""").build().spin
began, told, launches = time.time(), 0, 0
while time.time() - began < ${LOAD_SECONDS}:
    spin(queue, (32768,), (64,), held[0])
    queue.finish()
    launches += 1
    if time.time() - began >= told:
        print(f"{told:3d} s: {launches} kernels", flush=True)
        told += 10
print("done:", launches, "kernels")
`.trim();

export const loginLine = (server: string): string => `vxpu login --server ${shellWord(server)}`;

/** Runs through the server, so from any machine that has \`vxpu\`. */
export const firstRunLine = (lease: string): string => `vxpu exec ${lease} -- python -c '${PROGRAM}'`;

export const limitsLine = (lease: string): string => `vxpu exec ${lease} -- sh -c 'env | grep ^VXPU_'`;
export const execLine = (lease: string): string => `vxpu exec ${lease} -- python -c 'print("hello")'`;
export const logsLine = (lease: string): string => `vxpu logs ${lease}`;
export const runOnNodeLine = (lease: string): string => `vxpu run --lease ${lease} -- python train.py`;
