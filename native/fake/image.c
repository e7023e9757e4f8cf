#include "image.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum vf_image vf_image_kind(const void *image)
{
    static const uint32_t BINARY[] = {0x464c457f,  /* an ELF file */
                                      0xba55ed50,  /* a fat binary */
                                      0x466243b1}; /* a wrapper around one */
    uint32_t magic;
    if (!image)
        return VF_IMAGE_NONE;
    memcpy(&magic, image, sizeof magic);
    for (size_t i = 0; i < sizeof BINARY / sizeof BINARY[0]; i++)
        if (magic == BINARY[i])
            return VF_IMAGE_BINARY;
    return strstr(image, ".version") ? VF_IMAGE_PTX : VF_IMAGE_NONE;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static const char *skip(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

static size_t word(const char *at)
{
    size_t length = 0;
    while (is_word(at[length]))
        length++;
    return length;
}

void vf_image_entries(const char *ptx,
                      bool (*visit)(void *, const char *, size_t), void *arg)
{
    while ((ptx = strstr(ptx, ".entry"))) {
        const char *name = skip(ptx + 6);
        size_t length = word(name);
        if (length && !visit(arg, name, length))
            return;
        ptx = name + length;
    }
}

/* One directive such as .align 8, .v2, .u64: its bytes, 0 for other words. */
static uint64_t type_bytes(const char *text, size_t length)
{
    if (length < 2 || !strchr("bsuf", text[0]) || !isdigit(text[1]))
        return 0;
    return strtoull(text + 1, NULL, 10) / 8;
}

static const char *read_type(const char *at, uint64_t *bytes)
{
    *bytes = 4;
    while (*(at = skip(at)) == '.') {
        size_t length = word(++at);
        uint64_t size = type_bytes(at, length);
        if (size)
            *bytes = size;
        bool align = strncmp(at, "align", 5) == 0;
        at = skip(at + length);
        while (align && isdigit((unsigned char)*at))
            at++;
    }
    return at;
}

void vf_image_globals(const char *ptx,
                      bool (*visit)(void *, const char *, size_t, uint64_t),
                      void *arg)
{
    while ((ptx = strstr(ptx, ".global"))) {
        uint64_t bytes;
        /* st.global and ld.global are instructions, not declarations. */
        if (ptx[-1] != ' ' && ptx[-1] != '\n' && ptx[-1] != '\t') {
            ptx += 7;
            continue;
        }
        const char *name = read_type(ptx + 7, &bytes);
        size_t length = word(name);
        const char *next = name + length;
        while (*next == '[') {
            bytes *= strtoull(next + 1, NULL, 10);
            next = strchr(next, ']') ? strchr(next, ']') + 1 : next + 1;
        }
        if (length && bytes && !visit(arg, name, length, bytes))
            return;
        ptx = next;
    }
}
