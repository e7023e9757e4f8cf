/* The MPS control daemon's process: one socket, one command a connection. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "mps.h"

static const char socket_name[] = "control";
static const char pid_name[] = "nvidia-cuda-mps-control.pid";

/* Entered, not joined to a path: a socket's path must be short. */
bool mps_enter(bool create)
{
    const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");

    if (!folder || !*folder)
        folder = "/tmp/nvidia-mps";
    if (create)
        mkdir(folder, 0755);
    return chdir(folder) == 0;
}

static int open_socket(struct sockaddr_un *address)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    strcpy(address->sun_path, socket_name);
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

int mps_connect(void)
{
    struct sockaddr_un address;
    int fd = open_socket(&address);

    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int listen_here(void)
{
    struct sockaddr_un address;
    int fd = open_socket(&address);

    unlink(socket_name);
    if (fd >= 0 && (bind(fd, (struct sockaddr *)&address, sizeof address) ||
                    chmod(socket_name, 0666) || listen(fd, 64))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void write_pid(void)
{
    FILE *file = fopen(pid_name, "w");

    if (!file)
        return;
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
}

static void answer(struct mps_daemon *daemon, int fd)
{
    static char reply[MPS_REPLY];
    char line[MPS_LINE];
    struct timeval patience = {.tv_sec = 1};
    ssize_t length;

    /* Who connects and says nothing must not hold up the others. */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    length = recv(fd, line, sizeof line - 1, 0);
    if (length > 0) {
        line[length] = '\0';
        mps_command(daemon, line, reply);
        send(fd, reply, strlen(reply), MSG_NOSIGNAL);
    }
    close(fd);
}

static void bury(struct mps_daemon *daemon)
{
    pid_t pid;

    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        for (int i = 0; i < MPS_SERVERS; i++)
            if (daemon->servers[i].pid == pid)
                memset(&daemon->servers[i], 0, sizeof daemon->servers[i]);
}

static int serve_socket(int listener)
{
    struct mps_daemon daemon = {.next = {.thread_permille = 1000}};

    while (!daemon.leaving) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

        bury(&daemon);
        if (fd >= 0)
            answer(&daemon, fd);
        else if (errno != EINTR && errno != ECONNABORTED)
            break;
    }
    unlink(socket_name);
    unlink(pid_name);
    for (int i = 0; i < MPS_SERVERS; i++)
        if (daemon.servers[i].pid)
            kill(daemon.servers[i].pid, SIGKILL);
    return 0;
}

static void let_go_of_terminal(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    setsid();
    for (int fd = 0; null >= 0 && fd < 3; fd++)
        dup2(null, fd);
}

int mps_serve(bool background)
{
    int other = mps_connect();
    int listener;

    if (other >= 0) {
        close(other);
        fputs("An instance of this daemon is already running\n", stderr);
        return 1;
    }
    listener = listen_here();
    if (listener < 0) {
        perror("Failed to listen in the pipe directory");
        return 1;
    }
    if (background) {
        pid_t child = fork();

        if (child)
            return child > 0 ? 0 : 1;
        let_go_of_terminal();
    }
    write_pid();
    return serve_socket(listener);
}
