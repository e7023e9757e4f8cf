/* Names and texts of the driver's codes. Both work before cuInit. */
#include "parts.h"

static const struct {
    CUresult code;
    const char *name, *text;
} errors[] = {
#define VF_ERROR(code, text) {code, #code, text},
#include "errors.def"
};

static int find(CUresult code)
{
    for (int i = 0; i < (int)(sizeof errors / sizeof errors[0]); i++)
        if (errors[i].code == code)
            return i;
    return -1;
}

VF_EXPORT CUresult cuGetErrorName(CUresult code, const char **name)
{
    int i = find(code);

    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    *name = i < 0 ? NULL : errors[i].name;
    return i < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

VF_EXPORT CUresult cuGetErrorString(CUresult code, const char **text)
{
    int i = find(code);

    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    *text = i < 0 ? NULL : errors[i].text;
    return i < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
