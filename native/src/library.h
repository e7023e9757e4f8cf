/*
 * Libraries in this process: libc's own look-ups past ours, and where a
 * library that the program loaded is. Nothing is ever loaded from here.
 */
#ifndef VXPU_LIBRARY_H
#define VXPU_LIBRARY_H

#include <stdbool.h>

typedef void *(*vx_dlsym_fn)(void *, const char *);
typedef void *(*vx_dlvsym_fn)(void *, const char *, const char *);

/* libc's dlsym and dlvsym: our exports of these names come before them. */
vx_dlsym_fn vx_libc_dlsym(void);
vx_dlvsym_fn vx_libc_dlvsym(void);
/*
 * A handle on the first loaded library whose file name begins so, NULL if the
 * program has none. It stays loaded from then on.
 */
void *vx_library_loaded(const char *prefix);
/* A handle on the object that this address lies in, or NULL. */
void *vx_library_of(const void *address);
/* True when the file of the object at that address is named so. */
bool vx_library_is(const void *address, const char *prefix);
/* True when both addresses lie in one object of this process. */
bool vx_library_same(const void *address, const void *other);

#endif
