/* Commands of cuda_memory.c: handles, sharing, graphs, NVML. */
#ifndef VXPU_TEST_CUDA_MEMORY_MORE_H
#define VXPU_TEST_CUDA_MEMORY_MORE_H

#include "cuda_things.h"

#include <stdbool.h>
#include <unistd.h>

static CUmemAllocationProp handle_props(const char *where)
{
    CUmemAllocationProp p = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};
    p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.location.id = (int)number(where);
    if (where && strcmp(where, "host") == 0)
        p.location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST_NUMA};
    return p;
}

/* "handle h 64m 0": where is a device or "host" */
static CUresult do_handle(void)
{
    CUmemGenericAllocationHandle h = 0;
    CUmemAllocationProp p = handle_props(word[3]);
    CUresult err = cuMemCreate(&h, number(word[2]), &p, 0);
    return keep(err, word[1], h, number(word[2]));
}

static CUresult do_handle_release(void)
{
    return cuMemRelease(thing(word[1])->value);
}

/* "map m h": at an address of its own */
static CUresult do_map(void)
{
    struct thing *h = thing(word[2]), *m = thing(word[1]);
    CUdeviceptr at = 0;
    CUresult err = cuMemAddressReserve(&at, h->bytes, 0, 0, 0);
    if (err == CUDA_SUCCESS)
        err = cuMemMap(at, h->bytes, 0, h->value, 0);
    m->value = at;
    m->bytes = h->bytes;
    return err;
}

static CUresult do_unmap(void)
{
    return cuMemUnmap(thing(word[1])->value, thing(word[1])->bytes);
}

/* "retain h2 m": the handle of what is mapped there */
static CUresult do_retain(void)
{
    CUmemGenericAllocationHandle h = 0;
    CUresult err = cuMemRetainAllocationHandle(
        &h, pointer(thing(word[2])->value + 4096));
    return keep(err, word[1], h, thing(word[2])->bytes);
}

/* "import h2 h": by a file descriptor, in the same process */
static CUresult do_import(void)
{
    int fd = -1;
    CUmemGenericAllocationHandle h = 0;
    CUresult err = cuMemExportToShareableHandle(
        &fd, thing(word[2])->value, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        0);
    if (err == CUDA_SUCCESS)
        err = cuMemImportFromShareableHandle(
            &h, pointer((uint64_t)fd), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    return keep(err, word[1], h, thing(word[2])->bytes);
}

/* "ipc-get a": prints the handle as hexadecimal digits */
static CUresult do_ipc_get(void)
{
    CUipcMemHandle h;
    CUresult err = cuIpcGetMemHandle(&h, thing(word[1])->value);
    for (size_t i = 0; err == CUDA_SUCCESS && i < sizeof h; i++)
        printf("%02x", ((unsigned char *)&h)[i]);
    printf(" ");
    return err;
}

static CUresult do_ipc_open(void)
{
    CUipcMemHandle h;
    CUdeviceptr at = 0;
    for (size_t i = 0; i < sizeof h; i++) {
        unsigned byte = 0;
        sscanf(word[2] + 2 * i, "%2x", &byte);
        ((unsigned char *)&h)[i] = (unsigned char)byte;
    }
    CUresult err = cuIpcOpenMemHandle_v2(&at, h, 1);
    return keep(err, word[1], at, 0);
}

static CUresult do_ipc_close(void)
{
    return cuIpcCloseMemHandle(thing(word[1])->value);
}

static CUresult do_graph(void)
{
    CUgraph g = NULL;
    CUresult err = cuGraphCreate(&g, 0);
    return keep(err, word[1], (uintptr_t)g, 0);
}

/* "node-alloc a g 64m 0": keeps the node's address as a, the node as a.at */
static CUresult do_node_alloc(void)
{
    CUgraphNode node = NULL;
    CUDA_MEM_ALLOC_NODE_PARAMS p = {.bytesize = number(word[3])};
    p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.poolProps.location.id = (int)number(word[4]);
    CUresult err = cuGraphAddMemAllocNode(&node, handle(word[2]), NULL, 0, &p);
    thing(word[1])->at = (uintptr_t)node;
    return keep(err, word[1], p.dptr, p.bytesize);
}

/* "node-free g a" behind the node of a, "node-free g a alone" for any address */
static CUresult do_node_free(void)
{
    CUgraphNode node = NULL, after = pointer(thing(word[2])->at);
    return cuGraphAddMemFreeNode(&node, handle(word[1]), &after,
                                 word[3] ? 0 : 1, thing(word[2])->value);
}

static CUresult do_instantiate(void)
{
    CUgraphExec exec = NULL;
    CUresult err = cuGraphInstantiateWithFlags(&exec, handle(word[2]), 0);
    return keep(err, word[1], (uintptr_t)exec, 0);
}

static CUresult do_launch(void)
{
    CUresult err = cuGraphLaunch(handle(word[1]), handle(word[2]));
    return err ? err : cuCtxSynchronize();
}

static CUresult do_exec_destroy(void)
{
    return cuGraphExecDestroy(handle(word[1]));
}

static CUresult do_capture(void)
{
    return cuStreamBeginCapture_v2(handle(word[1]),
                                   CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static CUresult do_end_capture(void)
{
    CUgraph g = NULL;
    CUresult err = cuStreamEndCapture(handle(word[2]), &g);
    return keep(err, word[1], (uintptr_t)g, 0);
}

/* "multicast mc 64m": over one card, bound to by "multicast-bind mc h" */
static CUresult do_multicast(void)
{
    CUmemGenericAllocationHandle mc = 0;
    CUmulticastObjectProp p = {.numDevices = 1, .size = number(word[2])};
    p.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUresult err = cuMulticastCreate(&mc, &p);
    if (err == CUDA_SUCCESS)
        err = cuMulticastAddDevice(mc, 0);
    return keep(err, word[1], mc, number(word[2]));
}

static CUresult do_multicast_bind(void)
{
    return cuMulticastBindMem(thing(word[1])->value, 0, thing(word[2])->value,
                              0, thing(word[2])->bytes, 0);
}

/* "external x h": the memory of a handle, by a descriptor; "x" its mapping */
static CUresult do_external(void)
{
    int fd = -1;
    CUexternalMemory memory = NULL;
    CUdeviceptr at = 0;
    CUresult err = cuMemExportToShareableHandle(
        &fd, thing(word[2])->value, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        0);
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC d = {
        .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
        .size = thing(word[2])->bytes};
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC b = {.size = d.size};
    d.handle.fd = fd;
    if (err == CUDA_SUCCESS)
        err = cuImportExternalMemory(&memory, &d);
    if (err == CUDA_SUCCESS)
        err = cuExternalMemoryGetMappedBuffer(&at, memory, &b);
    thing(word[1])->at = (uintptr_t)memory;
    return keep(err, word[1], at, d.size);
}

static CUresult do_external_destroy(void)
{
    return cuDestroyExternalMemory(pointer(thing(word[1])->at));
}

static nvmlDevice_t nvml_device(void)
{
    nvmlDevice_t device = NULL;
    nvmlInit_v2();
    nvmlDeviceGetHandleByIndex_v2((unsigned)number(word[1]), &device);
    return device;
}

static CUresult do_nvml_memory(void)
{
    nvmlDevice_t device = nvml_device();
    nvmlMemory_t a = {0};
    nvmlMemory_v2_t b = {.version = nvmlMemory_v2};
    int err = (int)nvmlDeviceGetMemoryInfo(device, &a);
    err = err ? err : (int)nvmlDeviceGetMemoryInfo_v2(device, &b);
    printf("%llu %llu %llu %llu %llu %llu %llu ", a.total, a.free, a.used,
           b.total, b.reserved, b.free, b.used);
    return (CUresult)err;
}

static CUresult do_nvml_processes(void)
{
    nvmlProcessInfo_t list[64];
    unsigned int count = 64;
    int err = (int)nvmlDeviceGetComputeRunningProcesses_v3(nvml_device(), &count,
                                                           list);
    for (unsigned int i = 0; err == 0 && i < count; i++)
        printf("%u ", list[i].pid);
    return (CUresult)err;
}

static CUresult do_nvml_room(void)
{
    unsigned int count = 0;
    int err = (int)nvmlDeviceGetComputeRunningProcesses(nvml_device(), &count,
                                                        NULL);
    printf("%d %u ", err, count);
    return CUDA_SUCCESS;
}

static CUresult do_nvml_utilization(void)
{
    nvmlUtilization_t u = {0};
    int err = (int)nvmlDeviceGetUtilizationRates(nvml_device(), &u);
    printf("%u %u ", u.gpu, u.memory);
    return (CUresult)err;
}

#define MORE_COMMANDS                                                        \
    {"handle", do_handle}, {"handle-release", do_handle_release},            \
        {"map", do_map}, {"unmap", do_unmap}, {"retain", do_retain},         \
        {"import", do_import}, {"ipc-get", do_ipc_get},                      \
        {"ipc-open", do_ipc_open}, {"ipc-close", do_ipc_close},              \
        {"graph", do_graph}, {"node-alloc", do_node_alloc},                  \
        {"node-free", do_node_free}, {"instantiate", do_instantiate},        \
        {"launch", do_launch}, {"exec-destroy", do_exec_destroy},            \
        {"capture", do_capture}, {"end-capture", do_end_capture},            \
        {"nvml-memory", do_nvml_memory}, {"nvml-room", do_nvml_room},        \
        {"nvml-processes", do_nvml_processes},                               \
        {"multicast", do_multicast}, {"external", do_external},              \
        {"multicast-bind", do_multicast_bind},                               \
        {"external-destroy", do_external_destroy},                           \
        {"nvml-utilization", do_nvml_utilization}

#endif
