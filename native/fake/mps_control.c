/*
 * nvidia-cuda-mps-control, simulated: "-d" starts the daemon, "-f" runs it in
 * the foreground; else each line of standard input is a command for it.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>

#include "mps.h"

static bool ask(const char *line)
{
    char reply[MPS_REPLY];
    int fd = mps_connect();
    ssize_t length;

    if (fd < 0) {
        fputs("Cannot find MPS control daemon process\n", stderr);
        return false;
    }
    send(fd, line, strlen(line), MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    while ((length = recv(fd, reply, sizeof reply, 0)) > 0)
        fwrite(reply, 1, (size_t)length, stdout);
    fflush(stdout);
    close(fd);
    return true;
}

int main(int count, char **words)
{
    /* "-M", many users at a time, is how it always is here. */
    int first = count > 1 && !strcmp(words[1], "-M") ? 2 : 1;
    bool background = count == first + 1 && !strcmp(words[first], "-d");
    bool foreground = count == first + 1 && !strcmp(words[first], "-f");
    char line[MPS_LINE];

    if (count > 1 && !background && !foreground) {
        fprintf(stderr, "usage: %s [[-M] -d | -f]   (simulated)\n", words[0]);
        return 2;
    }
    if (!mps_enter(background || foreground)) {
        fputs("Cannot find MPS control daemon process\n", stderr);
        return 1;
    }
    if (background || foreground)
        return mps_serve(background);
    while (fgets(line, sizeof line, stdin))
        if (!ask(line))
            return 1;
    return 0;
}
