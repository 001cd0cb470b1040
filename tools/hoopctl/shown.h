/* hoopctl/shown.h - texts that came from other hosts, as they may be printed */

#ifndef HOOPCTL_SHOWN_H
#define HOOPCTL_SHOWN_H

#include <hoop/control.h>

/* Room for the longest key, all of it spelt out. */
struct shown {
    char text[8192];
};

/* Of room; lives as long. */
static inline const char *
show(const char *text, struct shown *room)
{
    hoop_escape(text, room->text, sizeof(room->text));
    return room->text;
}

#endif
