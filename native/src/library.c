#include "library.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* What a dynamic section says of its symbols. */
struct symbols {
    const ElfW(Sym) * table;
    const char *strings;
    const uint32_t *hash; /* DT_GNU_HASH */
};

/* glibc relocates these pointers in place, other loaders do not. */
static const void *at(const struct dl_phdr_info *info, ElfW(Addr) value)
{
    return (const void *)(value < info->dlpi_addr ? info->dlpi_addr + value
                                                  : value);
}

static struct symbols read_dynamic(const struct dl_phdr_info *info)
{
    struct symbols s = {0};
    const ElfW(Dyn) *d = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            d = (const ElfW(Dyn) *)(info->dlpi_addr +
                                    info->dlpi_phdr[i].p_vaddr);
    for (; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            s.table = at(info, d->d_un.d_ptr);
        else if (d->d_tag == DT_STRTAB)
            s.strings = at(info, d->d_un.d_ptr);
        else if (d->d_tag == DT_GNU_HASH)
            s.hash = at(info, d->d_un.d_ptr);
    }
    return s;
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t h = 5381;
    for (; *name; name++)
        h = h * 33 + (unsigned char)*name;
    return h;
}

/* First definition of that name, whatever its version. */
static void *find_in(const struct dl_phdr_info *info, const char *name)
{
    struct symbols s = read_dynamic(info);
    if (!s.table || !s.strings || !s.hash)
        return NULL;
    uint32_t buckets = s.hash[0], first = s.hash[1], words = s.hash[2];
    const uint32_t *bucket =
        s.hash + 4 + words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = bucket + buckets;
    uint32_t h = gnu_hash(name);
    uint32_t i = buckets ? bucket[h % buckets] : 0;
    for (; i && i >= first; i++) {
        const ElfW(Sym) *sym = &s.table[i];
        if ((chain[i - first] | 1) == (h | 1) && sym->st_shndx != SHN_UNDEF &&
            strcmp(s.strings + sym->st_name, name) == 0)
            return (void *)(info->dlpi_addr + sym->st_value);
        if (chain[i - first] & 1)
            break;
    }
    return NULL;
}

static bool is_file(const char *path, const char *prefix)
{
    const char *base = path ? strrchr(path, '/') : NULL;
    base = base ? base + 1 : path;
    return base && strncmp(base, prefix, strlen(prefix)) == 0;
}

struct want {
    const char *name;
    void *function;
};

/* libdl held these calls before glibc 2.34. */
static int note_libc(struct dl_phdr_info *info, size_t size, void *out)
{
    struct want *want = out;
    (void)size;
    if (is_file(info->dlpi_name, "libc.so") || is_file(info->dlpi_name, "libdl.so"))
        want->function = find_in(info, want->name);
    return want->function != NULL;
}

/* Not by a look-up: each of those would ask our own dlsym or dlvsym. */
static void *of_libc(const char *name)
{
    struct want want = {.name = name};
    dl_iterate_phdr(note_libc, &want);
    return want.function;
}

vx_dlvsym_fn vx_libc_dlvsym(void)
{
    static _Atomic(vx_dlvsym_fn) cached;
    vx_dlvsym_fn f = atomic_load_explicit(&cached, memory_order_relaxed);
    if (f)
        return f;
    void *p = of_libc("dlvsym");
    memcpy(&f, &p, sizeof f);
    atomic_store(&cached, f);
    return f;
}

/* The next dlsym after ours, which may be another interposer's. */
static void *next_dlsym(void)
{
    /* The base version of each machine first: a miss would call malloc. */
    static const char *const versions[] = {"GLIBC_2.2.5", "GLIBC_2.17",
                                           "GLIBC_2.34"};
    void *p = NULL;
    for (unsigned i = 0; !p && i < 3; i++)
        p = vx_libc_dlvsym()(RTLD_NEXT, "dlsym", versions[i]);
    /* Behind the shim we may come after libc. */
    return p ? p : of_libc("dlsym");
}

vx_dlsym_fn vx_libc_dlsym(void)
{
    static _Atomic(vx_dlsym_fn) cached;
    vx_dlsym_fn f = atomic_load_explicit(&cached, memory_order_relaxed);
    if (f)
        return f;
    void *p = next_dlsym();
    memcpy(&f, &p, sizeof f);
    atomic_store(&cached, f);
    return f;
}

struct search {
    const char *prefix;
    char path[4096];
};

static int note_path(struct dl_phdr_info *info, size_t size, void *out)
{
    struct search *s = out;
    (void)size;
    if (!is_file(info->dlpi_name, s->prefix))
        return 0;
    snprintf(s->path, sizeof s->path, "%s", info->dlpi_name);
    return 1;
}

void *vx_library_loaded(const char *prefix)
{
    struct search s = {.prefix = prefix};
    dl_iterate_phdr(note_path, &s);
    return s.path[0] ? dlopen(s.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

void *vx_library_of(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) && info.dli_fname
               ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
               : NULL;
}

bool vx_library_same(const void *address, const void *other)
{
    Dl_info a, b;
    return dladdr(address, &a) && dladdr(other, &b) &&
           a.dli_fbase == b.dli_fbase;
}

bool vx_library_is(const void *address, const char *prefix)
{
    Dl_info info;
    return dladdr(address, &info) && is_file(info.dli_fname, prefix);
}
