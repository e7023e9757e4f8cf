/* The language of the MPS control daemon, as far as an operator's agent asks. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>

#include "mps.h"

enum { ARGUMENTS = 4 };

struct request {
    int count;
    char *word[ARGUMENTS + 1]; /* the command's own name first */
    char *reply;
};

static void say(const struct request *request, const char *format, ...)
{
    size_t used = strlen(request->reply);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(request->reply + used, MPS_REPLY - used, format, arguments);
    va_end(arguments);
}

static struct mps_server *find(struct mps_daemon *daemon, pid_t pid)
{
    for (int i = 0; i < MPS_SERVERS; i++)
        if (pid > 0 && daemon->servers[i].pid == pid)
            return &daemon->servers[i];
    return NULL;
}

static struct mps_server *server_of(struct mps_daemon *daemon,
                                    const struct request *request)
{
    struct mps_server *server = find(daemon, atoi(request->word[1]));

    if (!server)
        say(request, "Server %s not found\n", request->word[1]);
    return server;
}

static void set_threads(struct mps_settings *set,
                        const struct request *request, const char *text)
{
    char *end;
    double percent = strtod(text, &end);

    if (end == text || *end || !(percent > 0 && percent <= 100)) {
        say(request, "Invalid active thread percentage: %s\n", text);
        return;
    }
    set->thread_permille = (unsigned)(percent * 10 + 0.5);
    say(request, "%.1f\n", set->thread_permille / 10.0);
}

/* "512M", "2G": a whole number and its unit. */
static bool parse_bytes(const char *text, uint64_t *bytes)
{
    char *end;
    unsigned long long number;

    errno = 0;
    number = strtoull(text, &end, 10);
    if (errno || end == text || number >> 32 || !*end || end[1])
        return false;
    if (*end != 'M' && *end != 'G')
        return false;
    *bytes = number << (*end == 'M' ? 20 : 30);
    return true;
}

static uint64_t *pinned(struct mps_settings *set,
                        const struct request *request, const char *device)
{
    char *end;
    long ordinal = strtol(device, &end, 10);

    if (end != device && !*end && ordinal >= 0 && ordinal < MPS_DEVICES)
        return &set->pinned_bytes[ordinal];
    say(request, "Invalid device: %s\n", device);
    return NULL;
}

static void show_pinned(const struct request *request, uint64_t bytes)
{
    if (bytes && bytes % (1u << 30) == 0)
        say(request, "%lluG\n", (unsigned long long)(bytes >> 30));
    else
        say(request, "%lluM\n", (unsigned long long)(bytes >> 20));
}

static void set_pinned(struct mps_settings *set, const struct request *request,
                       const char *device, const char *text)
{
    uint64_t *slot = pinned(set, request, device);
    uint64_t bytes;

    if (!slot)
        return;
    if (!parse_bytes(text, &bytes)) {
        say(request, "Invalid memory limit: %s\n", text);
        return;
    }
    *slot = bytes;
    show_pinned(request, bytes);
}

static void get_pinned(struct mps_settings *set, const struct request *request,
                       const char *device)
{
    uint64_t *slot = pinned(set, request, device);

    if (slot)
        show_pinned(request, *slot);
}

/* A server here is a process that does nothing, so that its pid is real. */
static void start_server(struct mps_daemon *daemon,
                         const struct request *request)
{
    struct mps_server *server = NULL;
    pid_t parent = getpid();

    for (int i = 0; i < MPS_SERVERS && !server; i++)
        if (!daemon->servers[i].pid)
            server = &daemon->servers[i];
    if (!server || strcmp(request->word[1], "-uid")) {
        say(request, "Failed to start server\n");
        return;
    }
    server->set = daemon->next;
    server->uid = (uid_t)strtoul(request->word[2], NULL, 10);
    server->pid = fork();
    if (server->pid < 0) {
        server->pid = 0;
        say(request, "Failed to start server\n");
    }
    if (server->pid)
        return;
    prctl(PR_SET_NAME, "fake-mps-server");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    while (getppid() == parent)
        pause();
    _exit(0);
}

static void list_servers(struct mps_daemon *daemon,
                         const struct request *request)
{
    for (int i = 0; i < MPS_SERVERS; i++)
        if (daemon->servers[i].pid)
            say(request, "%d\n", (int)daemon->servers[i].pid);
}

static void quit(struct mps_daemon *daemon, const struct request *request)
{
    (void)request;
    daemon->leaving = true;
}

static void shutdown_server(struct mps_daemon *daemon,
                            const struct request *request)
{
    struct mps_server *server = server_of(daemon, request);

    if (!server)
        return;
    kill(server->pid, SIGKILL);
    memset(server, 0, sizeof *server);
}

static void set_default_threads(struct mps_daemon *daemon,
                                const struct request *request)
{
    set_threads(&daemon->next, request, request->word[1]);
}

static void get_default_threads(struct mps_daemon *daemon,
                                const struct request *request)
{
    say(request, "%.1f\n", daemon->next.thread_permille / 10.0);
}

static void set_server_threads(struct mps_daemon *daemon,
                               const struct request *request)
{
    struct mps_server *server = server_of(daemon, request);

    if (server)
        set_threads(&server->set, request, request->word[2]);
}

static void get_server_threads(struct mps_daemon *daemon,
                               const struct request *request)
{
    struct mps_server *server = server_of(daemon, request);

    if (server)
        say(request, "%.1f\n", server->set.thread_permille / 10.0);
}

static void set_default_pinned(struct mps_daemon *daemon,
                               const struct request *request)
{
    set_pinned(&daemon->next, request, request->word[1], request->word[2]);
}

static void get_default_pinned(struct mps_daemon *daemon,
                               const struct request *request)
{
    get_pinned(&daemon->next, request, request->word[1]);
}

static void set_server_pinned(struct mps_daemon *daemon,
                              const struct request *request)
{
    struct mps_server *server = server_of(daemon, request);

    if (server)
        set_pinned(&server->set, request, request->word[2], request->word[3]);
}

static void get_server_pinned(struct mps_daemon *daemon,
                              const struct request *request)
{
    struct mps_server *server = server_of(daemon, request);

    if (server)
        get_pinned(&server->set, request, request->word[2]);
}

static const struct verb {
    const char *name;
    int arguments;
    void (*run)(struct mps_daemon *daemon, const struct request *request);
} verbs[] = {
    {"quit", 0, quit},
    {"get_server_list", 0, list_servers},
    {"start_server", 2, start_server},
    {"shutdown_server", 1, shutdown_server},
    {"set_default_active_thread_percentage", 1, set_default_threads},
    {"get_default_active_thread_percentage", 0, get_default_threads},
    {"set_active_thread_percentage", 2, set_server_threads},
    {"get_active_thread_percentage", 1, get_server_threads},
    {"set_default_device_pinned_mem_limit", 2, set_default_pinned},
    {"get_default_device_pinned_mem_limit", 1, get_default_pinned},
    {"set_device_pinned_mem_limit", 3, set_server_pinned},
    {"get_device_pinned_mem_limit", 2, get_server_pinned},
};

void mps_command(struct mps_daemon *daemon, char *line, char *reply)
{
    struct request request = {.reply = reply};
    char *rest = NULL;

    *reply = '\0';
    for (char *word = strtok_r(line, " \t\r\n", &rest);
         word && request.count <= ARGUMENTS;
         word = strtok_r(NULL, " \t\r\n", &rest))
        request.word[request.count++] = word;
    if (!request.count)
        return;
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        if (!strcmp(verbs[i].name, request.word[0])) {
            if (request.count - 1 == verbs[i].arguments)
                verbs[i].run(daemon, &request);
            else
                say(&request, "Invalid number of arguments\n");
            return;
        }
    say(&request, "Unknown command: %s\n", request.word[0]);
}
