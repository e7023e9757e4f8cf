/*
 * The part of OpenCL's ABI that we touch, declared here so that no SDK is
 * needed to build. Numbers are those of the Khronos specification.
 */
#ifndef VXPU_CL_ABI_H
#define VXPU_CL_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;
typedef cl_uint cl_bool;
typedef cl_ulong cl_bitfield;
typedef intptr_t cl_props; /* *_properties lists: intptr_t or 64-bit words */

typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;

typedef struct {
    cl_uint channel_order;
    cl_uint channel_type;
} cl_image_format;

typedef struct {
    cl_uint type;
    size_t width, height, depth, array_size;
    size_t row_pitch, slice_pitch;
    cl_uint num_mip_levels, num_samples;
    cl_mem mem_object;
} cl_image_desc;

typedef void (*cl_context_notify)(const char *, const void *, size_t, void *);
typedef void (*cl_mem_notify)(cl_mem, void *);
typedef void (*cl_event_notify)(cl_event, cl_int, void *);
typedef void (*cl_svm_notify)(cl_command_queue, cl_uint, void **, void *);
typedef void (*cl_native)(void *);

enum {
    CL_SUCCESS = 0,
    CL_DEVICE_NOT_FOUND = -1,
    CL_DEVICE_NOT_AVAILABLE = -2,
    CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
    CL_OUT_OF_RESOURCES = -5,
    CL_OUT_OF_HOST_MEMORY = -6,
    CL_INVALID_VALUE = -30,
    CL_INVALID_DEVICE = -33,
    CL_INVALID_OPERATION = -59,
    CL_INVALID_BUFFER_SIZE = -61,
    CL_PLATFORM_NOT_FOUND_KHR = -1001
};

enum {
    CL_DEVICE_TYPE = 0x1000,
    CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    CL_DEVICE_PARENT_DEVICE = 0x1042,
    CL_DEVICE_GLOBAL_FREE_MEMORY_AMD = 0x4039,
    CL_MEM_SIZE = 0x1102,
    CL_EVENT_COMMAND_TYPE = 0x11D2,
    CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3,
    CL_COMMAND_USER = 0x1204
};

#define CL_DEVICE_TYPE_DEFAULT 1ULL
#define CL_DEVICE_TYPE_ALL 0xFFFFFFFFULL

enum { VX_IMAGE_2D = 0x10F1, VX_IMAGE_3D = 0x10F2 };
enum { CL_COMPLETE = 0, CL_RUNNING = 1, CL_SUBMITTED = 2 };

enum { CL_LAYER_API_VERSION = 0x4240, CL_LAYER_NAME = 0x4241 };
enum { VX_LAYER_API_VERSION_100 = 100, VX_DISPATCH_ENTRIES = 149 };

#endif
