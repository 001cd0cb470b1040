/*
 * tests/fuzz/replay.c - a fuzz target without a fuzzer: its corpus, once
 *
 * Every argument is a folder; each of its files goes to the target, as it is
 * and cut at every length up to a bound.
 */

#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"

enum {
    INPUT_MAX = 1024 * 1024,
    CUTS_MAX = 256,
};

static uint8_t *input;

/* From a block of exactly its size, so that the sanitizer sees overreading. */
static void
replay_bytes(size_t n_bytes)
{
    uint8_t *exact = malloc(n_bytes > 0 ? n_bytes : 1);

    if (!exact)
        abort();
    memcpy(exact, input, n_bytes);
    LLVMFuzzerTestOneInput(exact, n_bytes);
    free(exact);
}

static int
replay_file(const char *folder, const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return -1;
    }
    const size_t n_bytes = fread(input, 1, INPUT_MAX, file);
    fclose(file);

    replay_bytes(n_bytes);
    for (size_t n = 0; n < n_bytes && n < CUTS_MAX; n++)
        replay_bytes(n);
    return 0;
}

/* Returns the number of files, or -1. */
static int
replay_folder(const char *folder)
{
    const struct dirent *entry;
    DIR *entries = opendir(folder);
    int n_files = 0;

    if (!entries) {
        perror(folder);
        return -1;
    }
    while (n_files >= 0 && (entry = readdir(entries)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        n_files = replay_file(folder, entry->d_name) == 0 ? n_files + 1 : -1;
    }
    closedir(entries);
    return n_files;
}

int
main(int argc, char **argv)
{
    int status = argc > 1 ? EXIT_SUCCESS : EXIT_FAILURE;

    input = malloc(INPUT_MAX);
    if (!input)
        return EXIT_FAILURE;
    for (int i = 1; i < argc; i++) {
        const int n_files = replay_folder(argv[i]);

        printf("%s: %d files\n", argv[i], n_files);
        /* An empty corpus is a wrong path. */
        if (n_files <= 0)
            status = EXIT_FAILURE;
    }
    free(input);
    return status;
}
