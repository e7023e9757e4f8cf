/* Names by which both libraries call a card. */
#include <stdio.h>
#include <string.h>

#include "card.h"

void vf_uuid_text(const char *prefix, const uint8_t uuid[16],
                  char text[VF_UUID_TEXT])
{
    size_t used = strlen(prefix);

    memcpy(text, prefix, used);
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text[used++] = '-';
        used += (size_t)snprintf(text + used, 3, "%02x", uuid[i]);
    }
}
