/* What a library of the fake shows to the world; all else is hidden. */
#ifndef VXPU_FAKE_EXPORT_H
#define VXPU_FAKE_EXPORT_H

#define VF_EXPORT __attribute__((visibility("default")))

#endif
