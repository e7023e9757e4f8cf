/*
 * The time of the simulated cards of one folder: CLOCK_MONOTONIC, or a shared
 * virtual time that jumps to the earliest wake-up when every live participant
 * sleeps. Participants are the threads that called the driver (until they
 * block outside it) and those that called vxfake_join (until they leave).
 */
#ifndef VXPU_FAKE_CLOCK_H
#define VXPU_FAKE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define VF_CLOCK_NAME "vxpu-fake-clock"

enum vf_clock_kind { VF_CLOCK_REAL = 0, VF_CLOCK_VIRTUAL = 1 };

/* Makes the clock file of a folder: 0 or -errno. */
int vf_clock_create(const char *folder, enum vf_clock_kind kind);
bool vf_clock_is_virtual(void);

/* Now, as the calling thread has it. */
uint64_t vf_now_ns(void);
/* May return early; whoever waits looks again. */
void vf_sleep_ns(uint64_t ns);
void vf_sleep_until_ns(uint64_t when);
/* The calling thread did something that takes this long (virtual only). */
void vf_spend_ns(uint64_t ns);
/* Makes what the calling thread spent true for all; before it looks. */
void vf_settle(void);
/* The calling thread takes part in virtual time from here on. */
void vf_take_part(void);

/*
 * A thread of the driver's own waits for work: it stands aside until the one
 * that gives it work rouses it (before time can jump past that work).
 */
struct sleeper;
struct sleeper *vf_clock_me(void);
void vf_park(void);
void vf_rouse(struct sleeper *sleeper);

/* For tests and for the limiter's testing build. */
uint64_t vxfake_now_ns(void);
void vxfake_sleep_ns(uint64_t ns);
void vxfake_join(void);
void vxfake_leave(void);

#endif
