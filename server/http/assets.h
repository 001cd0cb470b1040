/*
 * http/assets.h - the files of web/, embedded at build
 *
 * web/embed.py writes the table.
 */

#ifndef HTTP_ASSETS_H
#define HTTP_ASSETS_H

#include <stddef.h>

struct asset {
    const char *path; /* "/", "/app.js" */
    const char *type; /* for Content-Type */
    const char *etag; /* with its quotes; changes with the bytes */
    const unsigned char *bytes;
    size_t n_bytes;
};

extern const struct asset assets[];
extern const size_t n_assets;

#endif
