/*
 * The part of NVML's ABI that the limiter's view, the simulated NVML and the
 * tests touch, declared here so that no toolkit is needed. Numbers and
 * layouts are those of NVML 13; the memory limits are of driver 615.
 */
#ifndef VXPU_NVML_ABI_H
#define VXPU_NVML_ABI_H

#include <stddef.h>
#include <stdint.h>

#define VX_SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type)
/* Versioned structures carry their size and version in the first word. */
#define VX_NVML_VERSION(type, number) \
    ((unsigned int)(sizeof(type) | ((unsigned int)(number) << 24)))

typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct nvmlGpuInstance_st *nvmlGpuInstance_t;
typedef struct nvmlComputeInstance_st *nvmlComputeInstance_t;
typedef struct nvmlEventSet_st *nvmlEventSet_t;
typedef struct nvmlUnit_st *nvmlUnit_t;

enum {
    NVML_DEVICE_NAME_V2_BUFFER_SIZE = 96,
    NVML_DEVICE_UUID_V2_BUFFER_SIZE = 96,
    NVML_DEVICE_SERIAL_BUFFER_SIZE = 30,
    NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE = 80,
    NVML_INIT_FLAG_NO_GPUS = 1,
    NVML_DEVICE_MIG_DISABLE = 0,
    NVML_DEVICE_MIG_ENABLE = 1,
    NVML_NVLINK_MAX_LINKS = 18
};
#define NVML_VALUE_NOT_AVAILABLE (-1)
#define NVML_NO_INSTANCE 0xFFFFFFFFu /* gpuInstanceId without MIG */
#define NVML_DEVICE_MEMORY_LIMIT_MAX 0xFFFFFFFFFFFFFFFFull

typedef enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_UNINITIALIZED = 1,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NO_PERMISSION = 4,
    NVML_ERROR_ALREADY_INITIALIZED = 5,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_INSUFFICIENT_POWER = 8,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,
    NVML_ERROR_TIMEOUT = 10,
    NVML_ERROR_IRQ_ISSUE = 11,
    NVML_ERROR_LIBRARY_NOT_FOUND = 12,
    NVML_ERROR_FUNCTION_NOT_FOUND = 13,
    NVML_ERROR_CORRUPTED_INFOROM = 14,
    NVML_ERROR_GPU_IS_LOST = 15,
    NVML_ERROR_RESET_REQUIRED = 16,
    NVML_ERROR_OPERATING_SYSTEM = 17,
    NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
    NVML_ERROR_IN_USE = 19,
    NVML_ERROR_MEMORY = 20,
    NVML_ERROR_NO_DATA = 21,
    NVML_ERROR_VGPU_ECC_NOT_SUPPORTED = 22,
    NVML_ERROR_INSUFFICIENT_RESOURCES = 23,
    NVML_ERROR_FREQ_NOT_SUPPORTED = 24,
    NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_ERROR_DEPRECATED = 26,
    NVML_ERROR_NOT_READY = 27,
    NVML_ERROR_GPU_NOT_FOUND = 28,
    NVML_ERROR_INVALID_STATE = 29,
    NVML_ERROR_UNKNOWN = 999
} nvmlReturn_t;

typedef enum { NVML_FEATURE_DISABLED, NVML_FEATURE_ENABLED } nvmlEnableState_t;
typedef enum {
    NVML_COMPUTEMODE_DEFAULT,
    NVML_COMPUTEMODE_EXCLUSIVE_THREAD,
    NVML_COMPUTEMODE_PROHIBITED,
    NVML_COMPUTEMODE_EXCLUSIVE_PROCESS
} nvmlComputeMode_t;
typedef enum {
    NVML_MEMORY_ERROR_TYPE_CORRECTED,
    NVML_MEMORY_ERROR_TYPE_UNCORRECTED
} nvmlMemoryErrorType_t;
typedef enum { NVML_VOLATILE_ECC, NVML_AGGREGATE_ECC } nvmlEccCounterType_t;
typedef enum {
    NVML_CLOCK_GRAPHICS,
    NVML_CLOCK_SM,
    NVML_CLOCK_MEM,
    NVML_CLOCK_VIDEO
} nvmlClockType_t;
typedef enum { NVML_TEMPERATURE_GPU = 0 } nvmlTemperatureSensors_t;
typedef enum { NVML_PSTATE_0 = 0, NVML_PSTATE_UNKNOWN = 32 } nvmlPstates_t;
typedef enum {
    NVML_PCIE_UTIL_TX_BYTES,
    NVML_PCIE_UTIL_RX_BYTES
} nvmlPcieUtilCounter_t;
typedef enum {
    NVML_TOPOLOGY_INTERNAL = 0,
    NVML_TOPOLOGY_SINGLE = 10,
    NVML_TOPOLOGY_MULTIPLE = 20,
    NVML_TOPOLOGY_HOSTBRIDGE = 30,
    NVML_TOPOLOGY_NODE = 40,
    NVML_TOPOLOGY_SYSTEM = 50
} nvmlGpuTopologyLevel_t;
typedef enum {
    NVML_P2P_CAPS_INDEX_READ,
    NVML_P2P_CAPS_INDEX_WRITE,
    NVML_P2P_CAPS_INDEX_NVLINK,
    NVML_P2P_CAPS_INDEX_ATOMICS,
    NVML_P2P_CAPS_INDEX_PCI
} nvmlGpuP2PCapsIndex_t;
typedef enum {
    NVML_P2P_STATUS_OK,
    NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED,
    NVML_P2P_STATUS_GPU_NOT_SUPPORTED,
    NVML_P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED,
    NVML_P2P_STATUS_DISABLED_BY_REGKEY,
    NVML_P2P_STATUS_NOT_SUPPORTED,
    NVML_P2P_STATUS_UNKNOWN
} nvmlGpuP2PStatus_t;
typedef enum {
    NVML_TOTAL_POWER_SAMPLES,
    NVML_GPU_UTILIZATION_SAMPLES,
    NVML_MEMORY_UTILIZATION_SAMPLES
} nvmlSamplingType_t;
typedef enum {
    NVML_VALUE_TYPE_DOUBLE,
    NVML_VALUE_TYPE_UNSIGNED_INT,
    NVML_VALUE_TYPE_UNSIGNED_LONG,
    NVML_VALUE_TYPE_UNSIGNED_LONG_LONG,
    NVML_VALUE_TYPE_SIGNED_LONG_LONG,
    NVML_VALUE_TYPE_SIGNED_INT,
    NVML_VALUE_TYPE_UNSIGNED_SHORT
} nvmlValueType_t;

/* Why the clocks are held down (nvmlDeviceGetCurrentClocksEventReasons). */
#define VX_NVML_THROTTLE_GPU_IDLE 0x1ull
#define VX_NVML_THROTTLE_APPLICATION_CLOCKS 0x2ull
#define VX_NVML_THROTTLE_SW_POWER_CAP 0x4ull
#define VX_NVML_THROTTLE_HW_SLOWDOWN 0x8ull
#define VX_NVML_THROTTLE_SYNC_BOOST 0x10ull
#define VX_NVML_THROTTLE_SW_THERMAL 0x20ull
#define VX_NVML_THROTTLE_HW_THERMAL 0x40ull
#define VX_NVML_THROTTLE_HW_POWER_BRAKE 0x80ull
#define VX_NVML_THROTTLE_DISPLAY_CLOCK 0x100ull

#define nvmlEventTypeSingleBitEccError 0x1ull
#define nvmlEventTypeDoubleBitEccError 0x2ull
#define nvmlEventTypePState 0x4ull
#define nvmlEventTypeXidCriticalError 0x8ull
#define nvmlEventTypeClock 0x10ull
#define nvmlEventMigConfigChange 0x100ull

typedef struct {
    char busIdLegacy[16];
    unsigned int domain, bus, device;
    unsigned int pciDeviceId;
    unsigned int pciSubSystemId; /* from _v2 on */
    char busId[32];              /* from _v3 on */
} nvmlPciInfo_t;
VX_SIZE(nvmlPciInfo_t, 68);

typedef struct {
    unsigned int gpu, memory; /* per cent of the last sample period */
} nvmlUtilization_t;
VX_SIZE(nvmlUtilization_t, 8);

typedef struct {
    unsigned long long total, free, used; /* used: with the reserved part */
} nvmlMemory_t;
typedef struct {
    unsigned int version;
    unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;
#define nvmlMemory_v2 VX_NVML_VERSION(nvmlMemory_v2_t, 2)
VX_SIZE(nvmlMemory_t, 24);
VX_SIZE(nvmlMemory_v2_t, 40);

typedef struct {
    unsigned long long bar1Total, bar1Free, bar1Used;
} nvmlBAR1Memory_t;

typedef struct {
    unsigned int pid;
    unsigned long long usedGpuMemory;
} nvmlProcessInfo_v1_t;
typedef struct {
    unsigned int pid;
    unsigned long long usedGpuMemory;
    unsigned int gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_v2_t; /* of the _v2 and the _v3 calls */
typedef nvmlProcessInfo_v2_t nvmlProcessInfo_t;
VX_SIZE(nvmlProcessInfo_v1_t, 16);
VX_SIZE(nvmlProcessInfo_v2_t, 24);

typedef struct {
    unsigned int pid;
    unsigned long long usedGpuMemory;
    unsigned int gpuInstanceId, computeInstanceId;
    unsigned long long usedGpuCcProtectedMemory;
} nvmlProcessDetail_v1_t;
typedef struct {
    unsigned int version, mode, numProcArrayEntries;
    nvmlProcessDetail_v1_t *procArray;
} nvmlProcessDetailList_v1_t;
typedef nvmlProcessDetailList_v1_t nvmlProcessDetailList_t;
#define nvmlProcessDetailList_v1 VX_NVML_VERSION(nvmlProcessDetailList_v1_t, 1)
VX_SIZE(nvmlProcessDetail_v1_t, 32);
VX_SIZE(nvmlProcessDetailList_v1_t, 24);

typedef struct {
    unsigned int pid;
    unsigned long long timeStamp; /* microseconds */
    unsigned int smUtil, memUtil, encUtil, decUtil;
} nvmlProcessUtilizationSample_t;
VX_SIZE(nvmlProcessUtilizationSample_t, 32);

typedef struct {
    unsigned long long timeStamp;
    unsigned int pid, smUtil, memUtil, encUtil, decUtil, jpgUtil, ofaUtil;
} nvmlProcessUtilizationInfo_v1_t;
typedef struct {
    unsigned int version, processSamplesCount;
    unsigned long long lastSeenTimeStamp;
    nvmlProcessUtilizationInfo_v1_t *procUtilArray;
} nvmlProcessesUtilizationInfo_v1_t;
typedef nvmlProcessesUtilizationInfo_v1_t nvmlProcessesUtilizationInfo_t;
#define nvmlProcessesUtilizationInfo_v1 \
    VX_NVML_VERSION(nvmlProcessesUtilizationInfo_v1_t, 1)
VX_SIZE(nvmlProcessUtilizationInfo_v1_t, 40);
VX_SIZE(nvmlProcessesUtilizationInfo_v1_t, 24);

typedef union {
    double dVal;
    int siVal;
    unsigned int uiVal;
    unsigned long ulVal;
    unsigned long long ullVal;
    signed long long sllVal;
    unsigned short usVal;
} nvmlValue_t;
typedef struct {
    unsigned long long timeStamp;
    nvmlValue_t sampleValue;
} nvmlSample_t;
VX_SIZE(nvmlSample_t, 16);

typedef struct {
    unsigned int fieldId, scopeId;
    long long timestamp, latencyUsec;
    nvmlValueType_t valueType;
    nvmlReturn_t nvmlReturn;
    nvmlValue_t value;
} nvmlFieldValue_t;
VX_SIZE(nvmlFieldValue_t, 40);

typedef struct {
    nvmlDevice_t device;
    unsigned long long eventType, eventData; /* data: the Xid */
    unsigned int gpuInstanceId, computeInstanceId;
} nvmlEventData_t;
VX_SIZE(nvmlEventData_t, 32);

typedef struct {
    unsigned int gpuUtilization, memoryUtilization;
    unsigned long long maxMemoryUsage, time, startTime;
    unsigned int isRunning, reserved[5];
} nvmlAccountingStats_t;
VX_SIZE(nvmlAccountingStats_t, 56);

typedef struct {
    unsigned int multiprocessorCount, sharedCopyEngineCount;
    unsigned int sharedDecoderCount, sharedEncoderCount, sharedJpegCount;
    unsigned int sharedOfaCount, gpuInstanceSliceCount;
    unsigned int computeInstanceSliceCount;
    unsigned long long memorySizeMB;
} nvmlDeviceAttributes_t;
VX_SIZE(nvmlDeviceAttributes_t, 40);

/* Kernel-enforced limits of a cgroup (driver 615 and later). */
typedef struct {
    const char *nameSpace; /* path of the cgroup */
    unsigned long long softLimit, hardLimit;
} nvmlSetMemoryLimits_v1_t;
typedef struct {
    const char *nameSpace;
    unsigned long long softLimit, hardLimit, currentUsed;
} nvmlGetMemoryLimits_v1_t;
VX_SIZE(nvmlSetMemoryLimits_v1_t, 24);
VX_SIZE(nvmlGetMemoryLimits_v1_t, 32);

/* MIG. */
enum {
    NVML_GPU_INSTANCE_PROFILE_1_SLICE = 0,
    NVML_GPU_INSTANCE_PROFILE_2_SLICE = 1,
    NVML_GPU_INSTANCE_PROFILE_3_SLICE = 2,
    NVML_GPU_INSTANCE_PROFILE_4_SLICE = 3,
    NVML_GPU_INSTANCE_PROFILE_7_SLICE = 4,
    NVML_GPU_INSTANCE_PROFILE_8_SLICE = 5,
    NVML_GPU_INSTANCE_PROFILE_6_SLICE = 6,
    NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1 = 7,
    NVML_GPU_INSTANCE_PROFILE_2_SLICE_REV1 = 8,
    NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2 = 9,
    NVML_GPU_INSTANCE_PROFILE_COUNT = 17,
    NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE = 0,
    NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE = 1,
    NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE = 2,
    NVML_COMPUTE_INSTANCE_PROFILE_4_SLICE = 3,
    NVML_COMPUTE_INSTANCE_PROFILE_7_SLICE = 4,
    NVML_COMPUTE_INSTANCE_PROFILE_8_SLICE = 5,
    NVML_COMPUTE_INSTANCE_PROFILE_6_SLICE = 6,
    NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE_REV1 = 7,
    NVML_COMPUTE_INSTANCE_PROFILE_COUNT = 8,
    NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED = 0
};

typedef struct {
    unsigned int start, size;
} nvmlGpuInstancePlacement_t;
typedef nvmlGpuInstancePlacement_t nvmlComputeInstancePlacement_t;

typedef struct {
    unsigned int id, isP2pSupported, sliceCount, instanceCount;
    unsigned int multiprocessorCount, copyEngineCount, decoderCount;
    unsigned int encoderCount, jpegCount, ofaCount;
    unsigned long long memorySizeMB;
} nvmlGpuInstanceProfileInfo_t;
typedef struct {
    unsigned int version, id, isP2pSupported, sliceCount, instanceCount;
    unsigned int multiprocessorCount, copyEngineCount, decoderCount;
    unsigned int encoderCount, jpegCount, ofaCount;
    unsigned long long memorySizeMB;
    char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
} nvmlGpuInstanceProfileInfo_v2_t;
typedef struct {
    unsigned int version, id, sliceCount, instanceCount;
    unsigned int multiprocessorCount, copyEngineCount, decoderCount;
    unsigned int encoderCount, jpegCount, ofaCount;
    unsigned long long memorySizeMB;
    char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
    unsigned int capabilities;
} nvmlGpuInstanceProfileInfo_v3_t;
#define nvmlGpuInstanceProfileInfo_v2 \
    VX_NVML_VERSION(nvmlGpuInstanceProfileInfo_v2_t, 2)
#define nvmlGpuInstanceProfileInfo_v3 \
    VX_NVML_VERSION(nvmlGpuInstanceProfileInfo_v3_t, 3)
VX_SIZE(nvmlGpuInstanceProfileInfo_t, 48);
VX_SIZE(nvmlGpuInstanceProfileInfo_v2_t, 152);
VX_SIZE(nvmlGpuInstanceProfileInfo_v3_t, 152);

typedef struct {
    nvmlDevice_t device;
    unsigned int id, profileId;
    nvmlGpuInstancePlacement_t placement;
} nvmlGpuInstanceInfo_t;
VX_SIZE(nvmlGpuInstanceInfo_t, 24);

typedef struct {
    unsigned int id, sliceCount, instanceCount, multiprocessorCount;
    unsigned int sharedCopyEngineCount, sharedDecoderCount;
    unsigned int sharedEncoderCount, sharedJpegCount, sharedOfaCount;
} nvmlComputeInstanceProfileInfo_t;
typedef struct {
    nvmlDevice_t device;
    nvmlGpuInstance_t gpuInstance;
    unsigned int id, profileId;
    nvmlComputeInstancePlacement_t placement;
} nvmlComputeInstanceInfo_t;
VX_SIZE(nvmlComputeInstanceProfileInfo_t, 36);
VX_SIZE(nvmlComputeInstanceInfo_t, 32);

#undef VX_SIZE

#endif
