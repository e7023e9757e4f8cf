/* A program without OpenCL: what it sees must not change. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    void *self = dlopen(NULL, RTLD_LAZY);
    printf("default=%d self=%d null=%d libc=%d parent=%d\n",
           dlsym(RTLD_DEFAULT, "clGetPlatformIDs") != NULL,
           dlsym(self, "clCreateBuffer") != NULL,
           dlsym(RTLD_DEFAULT, "no_such_symbol") != NULL,
           dlsym(RTLD_DEFAULT, "getpid") != NULL, (int)getppid());
    return dlerror() == NULL;
}
