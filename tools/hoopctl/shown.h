/* hoopctl/shown.h - makes texts from other hosts safe to print */

#ifndef HOOPCTL_SHOWN_H
#define HOOPCTL_SHOWN_H

#include <hoop/control.h>

/* Room for the longest key with every byte escaped. */
struct shown {
    char text[8192];
};

/* The result is in room. */
static inline const char *
show(const char *text, struct shown *room)
{
    hoop_escape(text, room->text, sizeof(room->text));
    return room->text;
}

#endif
