/* hoop-checkpoint/main.c - shows what a checkpoint's folder holds, and checks
 * it */

#include <hoop/checkpoint.h>
#include <stdio.h>
#include <stdlib.h>

#include "hoop-checkpoint/inventory.h"
#include "hoop-checkpoint/options.h"
#include "standard_output.h"

static int
failure_show(enum hoop_status status)
{
    fprintf(stderr, "hoop-checkpoint: %s: %s\n", hoop_status_name(status),
            hoop_error_text());
    return EXIT_FAILURE;
}

static int
folder_verify(const char *folder)
{
    const enum hoop_status status = hoop_checkpoint_verify(folder);

    if (status != HOOP_OK)
        return failure_show(status);
    printf("all files are as they were written\n");
    return EXIT_SUCCESS;
}

int
main(int argc, char **argv)
{
    struct hoop_checkpoint_contents *contents = NULL;
    struct options options;

    standard_output_check_at_exit();
    options_parse(argc, argv, &options);
    const enum hoop_status status =
        hoop_checkpoint_list(options.folder, &contents);
    if (status != HOOP_OK)
        return failure_show(status);
    inventory_print(contents, options.detail, stdout);
    hoop_checkpoint_contents_free(contents);
    fflush(stdout);
    return options.check == OPTIONS_VERIFY ? folder_verify(options.folder)
                                           : EXIT_SUCCESS;
}
