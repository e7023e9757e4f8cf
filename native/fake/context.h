/*
 * Contexts of the simulated driver: what is current, and what every call
 * checks first.
 */
#ifndef VXPU_FAKE_CONTEXT_H
#define VXPU_FAKE_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "parts.h"

struct CUcontext_st {
    CUdevice device;
    unsigned flags, version;
    unsigned uses; /* of the primary context: retains not yet released */
    uint64_t id;
    bool primary;
    CUgreenCtx green;        /* what it is the view of, else NULL */
    uint64_t limit_bytes;    /* of the card, for limits above the default */
    uint64_t limit[CU_LIMIT_MAX];
    CUfunc_cache cache;
    uint64_t peers;          /* bit per device whose peer access is on */
};

/*
 * What every call asks first, `call` being its own name. In this order: the
 * driver is initialised; no error was ordered for this call (vf_inject); and
 * vf_enter: a live context is current, then *out is it;
 * vf_enter_context: `context` lives, NULL meaning the current one;
 * vf_enter_device: device exists; vf_enter_driver: nothing else.
 */
CUresult vf_enter(const char *call, CUcontext *out);
CUresult vf_enter_context(const char *call, CUcontext context, CUcontext *out);
CUresult vf_enter_device(const char *call, CUdevice device);
CUresult vf_enter_driver(const char *call);
/* vf_enter, for what is then owned: a green context's is the primary one's. */
CUresult vf_enter_owner(const char *call, CUcontext *out);
/* Neither destroyed nor, as a primary one, released by all. */
bool vf_context_lives(CUcontext context);
/* Makes it current above what was; takes it off when it is on top. */
CUresult vf_current_push(CUcontext context);
void vf_current_leave(CUcontext context);
/* The primary context of a device, when it is active, else NULL. */
CUcontext vf_primary(CUdevice device);

/* For primary.c and green.c, the lock of memory.h held. */
CUcontext vf_context_new(CUdevice device, unsigned flags, unsigned version);
CUresult vf_context_pay(CUdevice device);
void vf_context_empty(CUcontext context);
/* The same without the lock. Waits for the work of this process. */
void vf_context_finish(CUcontext context);
CUresult vf_primary_retain(CUcontext *out, CUdevice device);
CUresult vf_primary_release(CUdevice device);

/* SMs of a device that this process sees: of its MIG instance, or all. */
unsigned vf_device_sms(CUdevice device);

/* limits.c */
void vf_limits_default(CUcontext context);

#endif
