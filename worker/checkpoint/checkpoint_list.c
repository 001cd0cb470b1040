/* checkpoint/checkpoint_list.c - list the contents of a folder's checkpoint */

#include "hoop/checkpoint.h"

#include "base/error.h"
#include "base/interrupt.h"
#include "checkpoint/folder.h"

enum hoop_status
hoop_checkpoint_list(const char *folder,
                     struct hoop_checkpoint_contents **out_contents)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    struct folder opened = FOLDER_CLOSED;
    struct checkpoint_manifest *manifest = NULL;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_contents)
        return error_raise(HOOP_E_INVALID, "out_contents is NULL");
    enum hoop_status status = folder_open(folder, &opened);
    if (status == HOOP_OK)
        status = folder_load_manifest(&opened, &manifest);
    folder_close(&opened);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_contents = &manifest->contents;
    return HOOP_OK;
}

void
hoop_checkpoint_contents_free(struct hoop_checkpoint_contents *contents)
{
    if (contents)
        manifest_destroy(
            CONTAINER_OF(contents, struct checkpoint_manifest, contents));
}
