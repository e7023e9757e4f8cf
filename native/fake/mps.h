/* The simulated MPS control daemon: what its two halves share. */
#ifndef VXPU_FAKE_MPS_H
#define VXPU_FAKE_MPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    MPS_SERVERS = 16,
    MPS_DEVICES = 16,
    MPS_LINE = 256,
    MPS_REPLY = 4096
};

struct mps_settings {
    unsigned thread_permille;
    uint64_t pinned_bytes[MPS_DEVICES]; /* 0: no limit */
};

struct mps_server {
    pid_t pid;
    uid_t uid;
    struct mps_settings set;
};

struct mps_daemon {
    struct mps_settings next; /* what the next server starts with */
    struct mps_server servers[MPS_SERVERS];
    bool leaving;
};

/* Enters the pipe directory: $CUDA_MPS_PIPE_DIRECTORY or /tmp/nvidia-mps. */
bool mps_enter(bool create);
/* The socket of that directory; -1 when no daemon listens. */
int mps_connect(void);
/* Listens and serves until "quit". Returns the exit status. */
int mps_serve(bool background);
/* One command line in, what the daemon prints out. */
void mps_command(struct mps_daemon *daemon, char *line, char *reply);

#endif
