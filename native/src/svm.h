/* Map from SVM pointers to what they were charged. Thread-safe. */
#ifndef VXPU_SVM_H
#define VXPU_SVM_H

#include <stdbool.h>
#include <stdint.h>

bool vx_svm_put(const void *pointer, uint64_t bytes);
/* Takes the entry out; 0 when the pointer is unknown. */
uint64_t vx_svm_take(const void *pointer);
void vx_svm_after_fork(void);

#endif
