# The simulated card: libcuda.so.1 and libnvidia-ml.so.1 of our own, and the
# command that makes cards. Entry points have the ABI's prototypes, not ours.
FAKE_CFLAGS = $(filter-out -fvisibility=hidden -Wmissing-prototypes,$(CFLAGS)) -Ifake
FAKE_LDFLAGS = -shared -pthread -Wl,-Bsymbolic -Wl,-z,now -Wl,-z,relro
FAKE_HEADERS = $(wildcard fake/*.h fake/*.def include/vxpu/*)

FAKE_BOTH = $(filter $(wildcard fake/*.c),$(addprefix fake/,card.c clock.c engine.c paging.c inject.c identity.c mig.c account.c))
FAKE_NVML = $(wildcard fake/nvml*.c)
FAKE_MPS = $(wildcard fake/mps_*.c)
FAKE_PROGRAMS = fake/cardctl.c fake/create.c $(FAKE_MPS)
FAKE_CUDA = $(filter-out $(FAKE_BOTH) $(FAKE_NVML) $(FAKE_PROGRAMS),$(wildcard fake/*.c))
fake_objects = $(patsubst fake/%.c,build/fake/obj/%.o,$(1))

fake: build/fake/libcuda.so.1 build/fake/libnvidia-ml.so.1 \
      build/fake/vxpu-fake-card \
      $(patsubst fake/mps_control.c,build/fake/nvidia-cuda-mps-control,$(wildcard fake/mps_control.c))

build/fake/libcuda.so.1: $(call fake_objects,$(FAKE_BOTH) $(FAKE_CUDA)) fake/libcuda.map
	$(CC) $(filter %.o,$^) $(FAKE_LDFLAGS) -Wl,-soname,libcuda.so.1 \
	      -Wl,--version-script=fake/libcuda.map -o $@

build/fake/libnvidia-ml.so.1: $(call fake_objects,$(FAKE_BOTH) $(FAKE_NVML)) fake/libnvidia-ml.map
	$(CC) $(filter %.o,$^) $(FAKE_LDFLAGS) -Wl,-soname,libnvidia-ml.so.1 \
	      -Wl,--version-script=fake/libnvidia-ml.map -o $@

build/fake/vxpu-fake-card: $(call fake_objects,fake/cardctl.c fake/create.c $(FAKE_BOTH))
	$(CC) $^ -pthread -o $@

build/fake/nvidia-cuda-mps-control: $(call fake_objects,$(FAKE_MPS))
	$(CC) $^ -pthread -o $@

build/fake/obj/%.o: fake/%.c $(FAKE_HEADERS) Makefile fake/fake.mk
	@mkdir -p $(@D)
	$(CC) $(FAKE_CFLAGS) -c $< -o $@

# Clients of the card's own tests.
tests: build/fake/tests/engine build/fake/tests/watch

build/fake/tests/engine: fake/tests/engine.c build/fake/libcuda.so.1
	@mkdir -p $(@D)
	$(CC) $(FAKE_CFLAGS) $^ -o $@

build/fake/tests/watch: fake/tests/watch.c $(call fake_objects,$(FAKE_BOTH))
	@mkdir -p $(@D)
	$(CC) $(FAKE_CFLAGS) $^ -o $@
