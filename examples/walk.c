/*
 * walk.c: everything below a directory, with at most eight directories read at once.
 *
 *   ./weft run examples/walk.c [DIRECTORY]
 *
 * A child that finds a directory puts it on a list; only the body of the group starts children.
 * That is what makes the limit safe: weft_go_in waits while the limit is reached, and children
 * that waited for each other's end would wait for ever.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <weft.h>

enum { AT_ONCE = 8 };

struct todo {
	struct todo *next;
	char path[];
};

struct walk {
	struct weft_mutex mutex; /* guards what follows */
	struct weft_cond changed;
	struct todo *list;
	int busy;                  /* directories taken off the list and not finished */
	int readers, most_readers; /* ... and those that are being read at this moment */
	long dirs, files, unreadable;
	long long bytes, largest;
	char largest_path[1024];
};

static void
found_dir(struct walk *w, const char *parent, const char *name)
{
	size_t n = strlen(parent) + strlen(name) + 2;
	struct todo *t = malloc(sizeof(*t) + n);

	if (!t)
		abort();
	snprintf(t->path, n, "%s%s%s", parent, *parent ? "/" : "", name);
	weft_lock(&w->mutex);
	t->next = w->list;
	w->list = t;
	w->dirs++;
	weft_signal(&w->changed);
	weft_unlock(&w->mutex);
}

static void
found_file(struct walk *w, const char *parent, const char *name, long long bytes)
{
	weft_lock(&w->mutex);
	w->files++;
	w->bytes += bytes;
	if (bytes >= w->largest) {
		w->largest = bytes;
		snprintf(w->largest_path, sizeof(w->largest_path), "%s/%s", parent, name);
	}
	weft_unlock(&w->mutex);
}

static int
read_dir(struct walk *w, const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	struct stat st;

	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue; /* gone since it was listed */
		if (S_ISDIR(st.st_mode))
			found_dir(w, path, e->d_name);
		else
			found_file(w, path, e->d_name, st.st_size);
	}
	closedir(d);
	return 0;
}

struct visit {
	struct walk *w;
	struct todo *dir;
};

static int
visit(struct visit *a)
{
	struct walk *w = a->w;
	int rc;

	weft_lock(&w->mutex);
	if (++w->readers > w->most_readers)
		w->most_readers = w->readers;
	weft_unlock(&w->mutex);
	rc = read_dir(w, a->dir->path);
	free(a->dir);

	weft_lock(&w->mutex);
	w->unreadable += rc < 0;
	w->readers--;
	w->busy--;
	weft_signal(&w->changed);
	weft_unlock(&w->mutex);
	return 0; /* a negative result would cancel the rest of the walk: not for one directory */
}

/* The next directory, or NULL when all are done: the list is empty and nobody can add to it. */
static struct todo *
take(struct walk *w)
{
	struct todo *t;

	weft_lock(&w->mutex);
	while (!w->list && w->busy > 0)
		weft_wait(&w->changed, &w->mutex);
	t = w->list;
	if (t) {
		w->list = t->next;
		w->busy++;
	}
	weft_unlock(&w->mutex);
	return t;
}

struct app {
	const char *root;
};

static int
app(struct app *a)
{
	struct walk w = {0};
	struct todo *dir;

	found_dir(&w, "", a->root);
	weft_group(g, NULL) {
		weft_group_limit(g, AT_ONCE);
		while ((dir = take(&w)))
			if (weft_go_in(g, visit, &w, dir) < 0) /* waits at the limit */
				abort();
	}
	printf("%ld directories (%ld unreadable), %ld files, %.1f MB; at most %d read at once\n",
	       w.dirs, w.unreadable, w.files, (double)w.bytes / 1e6, w.most_readers);
	if (w.files > 0)
		printf("largest: %s, %.1f MB\n", w.largest_path, (double)w.largest / 1e6);
	if (w.unreadable == w.dirs)
		fprintf(stderr, "walk: cannot read %s\n", a->root);
	return w.unreadable == w.dirs || w.most_readers > AT_ONCE;
}

int
main(int argc, char **argv)
{
	return weft_run(app, .root = argc > 1 ? argv[1] : ".");
}
