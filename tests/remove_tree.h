/* remove_tree.h - removes a folder of a test, with all that is in it. */
#ifndef STELE_TESTS_REMOVE_TREE_H
#define STELE_TESTS_REMOVE_TREE_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>

static void remove_tree(const char *path) {
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        char inner[1024];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
        remove_tree(inner);
    }
    if (d) closedir(d);
    (void)remove(path);
}

#endif
