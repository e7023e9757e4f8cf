/* What the simulated driver says of itself. */
#ifndef VXPU_FAKE_VERSION_H
#define VXPU_FAKE_VERSION_H

#define VF_DRIVER_VERSION 13050 /* of CUDA: 13.5 */
#define VF_DRIVER_NAME "simulated-1.0"
#define VF_NVML_NAME "simulated-1.0"

#endif
