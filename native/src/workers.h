/*
 * The runtime's worker threads and the CPU time they took. A worker is a
 * thread that appeared while this process was inside a call that starts the
 * runtime; its clock is read by thread id, from within the process.
 */
#ifndef VXPU_WORKERS_H
#define VXPU_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

/* Around every real call that may start threads of the runtime. */
void vx_workers_scan_begin(void);
void vx_workers_scan_end(void);
/*
 * CPU ns of all workers so far, those that ended included. With no worker
 * known (a runtime that computes on the caller's thread, or no /proc): the
 * whole process. Caller serialises.
 */
uint64_t vx_workers_cpu_ns(void);
unsigned vx_workers_count(void);
/* True on a worker itself (a callback): such a thread must never wait. */
bool vx_workers_is_self(void);
/* True when no worker computes, waits for a disk or is about to run. */
bool vx_workers_asleep(void);
void vx_workers_after_fork(void);

#endif
