# The shim in the driver's place. It finds libvxpu.so and the real driver at
# fixed paths (DT_RPATH: before LD_LIBRARY_PATH); the testing build beside it.
SHIM_FLAGS = -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -Wl,-z,now \
             -Wl,-z,relro -Wl,-z,defs -Wl,--version-script=shim/libcuda.map \
             -Wl,--disable-new-dtags
SHIM_SOURCES = shim/shim.c shim/libcuda.map include/vxpu/shim.h \
               include/vxpu/driver_symbols.def shim/shim.mk

# Its thunks are written for x86-64; preloading works anywhere.
SHIM = $(if $(filter x86_64,$(shell uname -m)),build/shim/libcuda.so.1 build/shim-test/libcuda.so.1)
shim: $(SHIM)

build/shim/libcuda.so.1: $(SHIM_SOURCES) build/libvxpu.so
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) shim/shim.c $(SHIM_FLAGS) -Wl,-rpath,/run/vxpu/lib \
	    -Lbuild -l:libvxpu.so -o $@

build/shim-test/libcuda.so.1: $(SHIM_SOURCES) build/libvxpu-test.so
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -DVX_TESTING shim/shim.c $(SHIM_FLAGS) \
	    -Wl,-rpath,'$$ORIGIN/..' -Lbuild -l:libvxpu-test.so -o $@
