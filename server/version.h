/* version.h - which hoop this is */

#ifndef SERVER_VERSION_H
#define SERVER_VERSION_H

/* "0.1.0", from the project file. */
extern const char *const version_text;

#endif
