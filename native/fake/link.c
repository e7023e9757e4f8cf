/* The linker: what was added last is the image that comes out. */
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "module_parts.h"

#define LINK_MAGIC 0x6c696e6bU

struct CUlinkState_st {
    uint32_t magic;
    void *image;
    size_t size;
};

static CUresult find(CUlinkState state)
{
    return state && state->magic == LINK_MAGIC ? CUDA_SUCCESS
                                               : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult create(CUlinkState *out)
{
    CUcontext context;
    CUresult r = vf_enter("cuLinkCreate", &context);
    if (r || !out)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    CUlinkState state = calloc(1, sizeof *state);
    if (!state)
        return CUDA_ERROR_OUT_OF_MEMORY;
    state->magic = LINK_MAGIC;
    *out = state;
    return CUDA_SUCCESS;
}

#define CREATE(name)                                                        \
    VF_EXPORT CUresult name(unsigned count, CUjit_option *options,          \
                            void **values, CUlinkState *out)                \
    {                                                                       \
        (void)count, (void)options, (void)values;                           \
        return create(out);                                                 \
    }
CREATE(cuLinkCreate)
CREATE(cuLinkCreate_v2)

static CUresult add(CUlinkState state, const void *data, size_t size)
{
    CUresult r = find(state);
    if (r || !data || size < 4)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    char *copy = calloc(1, size + 1); /* PTX may come without its last zero */
    if (!copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(copy, data, size);
    if (vf_image_kind(copy) == VF_IMAGE_NONE) {
        free(copy);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    free(state->image);
    state->image = copy;
    state->size = size + 1;
    return CUDA_SUCCESS;
}

#define ADD(name)                                                           \
    VF_EXPORT CUresult name(CUlinkState state, CUjitInputType type,         \
                            void *data, size_t size, const char *label,     \
                            unsigned count, CUjit_option *options,          \
                            void **values)                                  \
    {                                                                       \
        (void)type, (void)label, (void)count, (void)options, (void)values;  \
        return add(state, data, size);                                      \
    }
ADD(cuLinkAddData)
ADD(cuLinkAddData_v2)

static CUresult add_file(CUlinkState state, const char *path)
{
    char *image = path ? vf_read_file(path) : NULL;
    if (!image)
        return path ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
    CUresult r = vf_image_kind(image) == VF_IMAGE_PTX
                     ? add(state, image, strlen(image))
                     : CUDA_ERROR_NOT_SUPPORTED;
    free(image);
    return r;
}

#define ADD_FILE(name)                                                      \
    VF_EXPORT CUresult name(CUlinkState state, CUjitInputType type,         \
                            const char *path, unsigned count,               \
                            CUjit_option *options, void **values)           \
    {                                                                       \
        (void)type, (void)count, (void)options, (void)values;               \
        return add_file(state, path);                                       \
    }
ADD_FILE(cuLinkAddFile)
ADD_FILE(cuLinkAddFile_v2)

VF_EXPORT CUresult cuLinkComplete(CUlinkState state, void **image,
                                  size_t *size)
{
    CUresult r = vf_enter_driver("cuLinkComplete");
    if (!r)
        r = find(state);
    if (r || !image || !state->image)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    *image = state->image;
    if (size)
        *size = state->size;
    return CUDA_SUCCESS;
}

VF_EXPORT CUresult cuLinkDestroy(CUlinkState state)
{
    CUresult r = find(state);
    if (r)
        return r;
    state->magic = 0;
    free(state->image);
    free(state);
    return CUDA_SUCCESS;
}
