/* tests/integration/checkpoint/checkpoint_case.c - makes and recognizes
 * tensors */

#include "integration/checkpoint/checkpoint_case.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "integration/daemon.h"
#include "temporary.h"

char case_folder[CASE_PATH];

void
case_folder_make(char out_path[CASE_PATH])
{
    snprintf(out_path, CASE_PATH, "hoop-checkpoint-XXXXXX");
    if (!temporary_folder(out_path, CASE_PATH) || chmod(out_path, 0755) != 0)
        abort();
}

void
case_folder_remove(const char *path)
{
    const struct dirent *entry;
    DIR *entries = opendir(path);
    char name[CASE_PATH + 260];

    while (entries && (entry = readdir(entries))) {
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        unlink(name);
    }
    if (entries)
        closedir(entries);
    rmdir(path);
}

int
case_setup(void **state)
{
    case_folder_make(case_folder);
    return daemon_setup(state);
}

int
case_teardown(void **state)
{
    case_folder_remove(case_folder);
    return daemon_teardown(state);
}

unsigned
case_count_files(const char *path, const char *suffix)
{
    const struct dirent *entry;
    DIR *entries = opendir(path);
    unsigned count = 0;

    while (entries && (entry = readdir(entries))) {
        const size_t n_name = strlen(entry->d_name);
        const size_t n_suffix = strlen(suffix);

        count += entry->d_name[0] != '.' && n_name >= n_suffix &&
                 strcmp(entry->d_name + n_name - n_suffix, suffix) == 0;
    }
    if (entries)
        closedir(entries);
    return count;
}

static void
fill(struct hoop_tensor *tensor, size_t n_bytes, uint64_t content)
{
    uint8_t *bytes = tensor->data;

    for (size_t i = 0; i < n_bytes; i++)
        bytes[i] = (uint8_t)((i * 0x9e3779b97f4a7c15 + content * 0xbf58476d) >>
                             ((i + content) % 5 * 8));
}

hoop_dtensor_t *
case_tensor(enum hoop_dtype dtype,
            const struct hoop_shape *shape,
            const struct hoop_tensor_spec *spec,
            uint64_t content)
{
    struct hoop_tensor whole = {.data = NULL};
    hoop_dtensor_t *dtensor = NULL;
    size_t count;

    if (hoop_tensor_create(dtype, shape, &whole) != HOOP_OK ||
        hoop_shape_count(shape, &count) != HOOP_OK)
        return NULL;
    fill(&whole, count * hoop_dtype_size(dtype), content);
    if (hoop_dtensor_from_global(&whole, spec, &dtensor) != HOOP_OK)
        dtensor = NULL;
    hoop_tensor_free(&whole);
    return dtensor;
}

bool
case_is(const hoop_dtensor_t *dtensor, uint64_t content)
{
    const struct hoop_tensor *local = hoop_dtensor_local(dtensor);
    hoop_dtensor_t *expected =
        case_tensor(hoop_dtensor_dtype(dtensor), hoop_dtensor_shape(dtensor),
                    hoop_dtensor_spec(dtensor), content);
    const struct hoop_tensor *other = hoop_dtensor_local(expected);
    size_t count;

    const bool is_same =
        local && other && hoop_shape_equal(&local->shape, &other->shape) &&
        hoop_shape_count(&local->shape, &count) == HOOP_OK &&
        (count == 0 || memcmp(local->data, other->data,
                              count * hoop_dtype_size(local->dtype)) == 0);
    hoop_dtensor_free(expected);
    return is_same;
}

hoop_mesh_t *
case_mesh(hoop_session_t *session,
          uint32_t n_rows,
          uint32_t n_columns,
          const uint32_t *ranks)
{
    const struct hoop_mesh_axis axes[] = {{"rows", n_rows},
                                          {"columns", n_columns}};
    const struct hoop_mesh_options options = {axes, 2, ranks};
    hoop_mesh_t *mesh = NULL;

    if (hoop_mesh_create(session, &options, &mesh) != HOOP_OK)
        return NULL;
    return mesh;
}
