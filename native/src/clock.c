#include "clock.h"

#ifdef VX_TESTING
uint64_t (*vx_clock_now)(void) = vx_clock_monotonic_ns;
void (*vx_clock_sleep)(uint64_t ns) = vx_clock_nap_ns;
#endif
