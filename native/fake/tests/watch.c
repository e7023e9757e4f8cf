/*
 * watch MS: the device time that each process of card 0 gets in MS
 * milliseconds of the card's time, as JSON. Starts as engine.c does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../card.h"

static const uint64_t MS = 1000000;

/* The time up to which the card is told. */
static uint64_t read_busy(struct vf_card *card, uint64_t *busy)
{
    vf_advance(card);
    vf_lock(card);
    for (int i = 0; i < VF_PROCESSES; i++)
        busy[i] = card->engine.queues[i].busy_ns;
    uint64_t at = card->engine.time_ns;
    vf_unlock(card);
    return at;
}

int main(int argc, char **argv)
{
    static uint64_t before[VF_PROCESSES], after[VF_PROCESSES];
    struct vf_card *card = vf_card(0);
    char line[8];
    if (argc < 2 || !card)
        return 2;
    vxfake_join();
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        return 1;
    vxfake_sleep_ns(100 * MS); /* all are under way */
    uint64_t from = read_busy(card, before);
    for (uint64_t end = from + strtoull(argv[1], NULL, 0) * MS;
         vxfake_now_ns() < end;)
        vxfake_sleep_ns(end - vxfake_now_ns());
    uint64_t to = read_busy(card, after);
    printf("{\"took_ns\": %" PRIu64 ", \"got_ns\": [", to - from);
    const char *comma = "";
    for (int i = 0; i < VF_PROCESSES; i++) {
        if (card->processes[i].state != VF_LIVE)
            continue;
        printf("%s%" PRIu64, comma, after[i] - before[i]);
        comma = ", ";
    }
    puts("]}");
    return 0;
}
