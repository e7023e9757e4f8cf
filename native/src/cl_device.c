/* The view: one platform, one device, the slice's memory. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "layer.h"
#include "log.h"
#include "session.h"
#include "workers.h"

enum { MAX_PLATFORMS = 16, MAX_REAL_DEVICES = 64 };

static _Atomic(cl_platform_id) the_platform;
static _Atomic(cl_device_id) the_device;

/* The first platform that has a device at the ordinal the agent names. */
static bool find_device(cl_platform_id *platform, cl_device_id *device)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_device_id devices[MAX_REAL_DEVICES];
    cl_uint n = 0;
    if (vx_real()->clGetPlatformIDs(MAX_PLATFORMS, platforms, &n) != CL_SUCCESS)
        return false;
    uint64_t ordinal = atomic_load(&vx_session_limits(0)->ordinal);
    for (cl_uint i = 0; i < n && i < MAX_PLATFORMS; i++) {
        cl_uint count = 0;
        if (vx_real()->clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL,
                                      MAX_REAL_DEVICES, devices,
                                      &count) != CL_SUCCESS || count == 0)
            continue;
        if (ordinal >= count || ordinal >= MAX_REAL_DEVICES)
            return false;
        *platform = platforms[i];
        *device = devices[ordinal];
        return true;
    }
    return false;
}

bool vx_layer_device(cl_platform_id *platform, cl_device_id *device)
{
    cl_device_id known = atomic_load(&the_device);
    if (!known) {
        vx_workers_scan_begin();
        bool got = find_device(platform, &known);
        vx_workers_scan_end();
        if (!got)
            return false;
        atomic_store(&the_platform, *platform);
        atomic_store(&the_device, known);
    }
    *platform = atomic_load(&the_platform);
    *device = known;
    return true;
}

cl_int clGetPlatformIDs(cl_uint n, cl_platform_id *out, cl_uint *count)
{
    cl_platform_id platform;
    cl_device_id device;
    enum vx_mode mode = vx_layer_mode();
    if (mode == VX_PASS)
        return vx_real()->clGetPlatformIDs(n, out, count);
    if ((n == 0 && out) || (!out && !count))
        return CL_INVALID_VALUE;
    bool got = mode == VX_LIMIT && vx_layer_device(&platform, &device);
    if (count)
        *count = got ? 1 : 0;
    if (got && out)
        out[0] = platform;
    return got ? CL_SUCCESS : CL_PLATFORM_NOT_FOUND_KHR;
}

static bool is_of_type(cl_device_id device, cl_bitfield wanted)
{
    cl_bitfield type = 0;
    if (wanted == CL_DEVICE_TYPE_ALL || (wanted & CL_DEVICE_TYPE_DEFAULT))
        return true;
    vx_real()->clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    return (type & wanted) != 0;
}

cl_int clGetDeviceIDs(cl_platform_id platform, cl_bitfield type, cl_uint n,
                      cl_device_id *out, cl_uint *count)
{
    cl_platform_id ours;
    cl_device_id device;
    enum vx_mode mode = vx_layer_mode();
    if (mode == VX_PASS)
        return vx_real()->clGetDeviceIDs(platform, type, n, out, count);
    if ((n == 0 && out) || (!out && !count))
        return CL_INVALID_VALUE;
    bool got = mode == VX_LIMIT && vx_layer_device(&ours, &device) &&
               (!platform || platform == ours) && is_of_type(device, type);
    if (count)
        *count = got ? 1 : 0;
    if (got && out)
        out[0] = device;
    return got ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

uint64_t vx_layer_max_alloc(void)
{
    const struct vx_limits_device *l = vx_session_limits(0);
    cl_platform_id platform;
    cl_device_id device;
    uint64_t most = 0, limit = atomic_load(&l->limit_bytes);
    uint64_t set = atomic_load(&l->max_alloc_bytes);
    if (vx_layer_device(&platform, &device))
        vx_real()->clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE,
                                   sizeof most, &most, NULL);
    if (set && set < most)
        most = set;
    return most < limit ? most : limit;
}

static cl_int answer(const void *from, size_t need, size_t size, void *value,
                     size_t *size_ret)
{
    if (value && size < need)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, from, need);
    if (size_ret)
        *size_ret = need;
    return CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id device, cl_uint name, size_t size,
                       void *value, size_t *size_ret)
{
    cl_ulong bytes = 0;
    /* Asked first, so that a bad device gets the runtime's own answer. */
    cl_int err = vx_real()->clGetDeviceInfo(device, name, size, value, size_ret);
    if (err != CL_SUCCESS || vx_layer_mode() != VX_LIMIT)
        return err;
    if (name == CL_DEVICE_GLOBAL_MEM_SIZE) {
        cl_ulong real = 0;
        bytes = atomic_load(&vx_session_limits(0)->limit_bytes);
        vx_real()->clGetDeviceInfo(device, name, sizeof real, &real, NULL);
        bytes = bytes < real ? bytes : real;
        return answer(&bytes, sizeof bytes, size, value, size_ret);
    }
    if (name == CL_DEVICE_MAX_MEM_ALLOC_SIZE) {
        bytes = vx_layer_max_alloc();
        return answer(&bytes, sizeof bytes, size, value, size_ret);
    }
    if (name == CL_DEVICE_GLOBAL_FREE_MEMORY_AMD) {
        size_t kib = (size_t)(vx_session_free_bytes(0) / 1024);
        return answer(&kib, sizeof kib, size, value, size_ret);
    }
    return err;
}

/* Ours, or a part of ours (clCreateSubDevices). */
static bool is_ours(cl_device_id asked)
{
    cl_platform_id platform;
    cl_device_id ours;
    if (!vx_layer_device(&platform, &ours))
        return false;
    for (int depth = 0; asked && asked != ours && depth < 8; depth++) {
        cl_device_id parent = NULL;
        vx_real()->clGetDeviceInfo(asked, CL_DEVICE_PARENT_DEVICE,
                                   sizeof parent, &parent, NULL);
        asked = parent;
    }
    return asked == ours;
}

static cl_context refuse_context(cl_int code, cl_int *err)
{
    if (err)
        *err = code;
    return NULL;
}

cl_context clCreateContext(const cl_props *props, cl_uint n,
                           const cl_device_id *devices,
                           cl_context_notify notify, void *data, cl_int *err)
{
    enum vx_mode mode = vx_layer_mode();
    if (mode == VX_REFUSE)
        return refuse_context(CL_DEVICE_NOT_AVAILABLE, err);
    for (cl_uint i = 0; mode == VX_LIMIT && devices && i < n; i++)
        if (!is_ours(devices[i]))
            return refuse_context(CL_INVALID_DEVICE, err);
    vx_workers_scan_begin();
    cl_context c = vx_real()->clCreateContext(props, n, devices, notify, data,
                                              err);
    vx_workers_scan_end();
    return c;
}

cl_context clCreateContextFromType(const cl_props *props, cl_bitfield type,
                                   cl_context_notify notify, void *data,
                                   cl_int *err)
{
    cl_platform_id platform;
    cl_device_id device;
    enum vx_mode mode = vx_layer_mode();
    if (mode == VX_PASS)
        return vx_real()->clCreateContextFromType(props, type, notify, data, err);
    if (mode == VX_REFUSE || !vx_layer_device(&platform, &device) ||
        !is_of_type(device, type))
        return refuse_context(CL_DEVICE_NOT_FOUND, err);
    return vx_real()->clCreateContext(props, 1, &device, notify, data, err);
}
