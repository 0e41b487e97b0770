/* SPDX-License-Identifier: MIT */
/* good_chan.c: every form of channels and select compiles without a warning. */
#include <weft.h>
#include <stdio.h>
#include <string.h>

/* A whole program. */
struct worker {
	int id;
	weft_chan(int) jobs;
	weft_chan(long) results;
};

static int
worker(struct worker *w)
{
	int n;

	while (weft_recv(w->jobs, &n) > 0)
		weft_send(w->results, (long)n * n);
	return 0;
}

struct app {
	int workers;
};

static int
app(struct app *a)
{
	weft_chan(int) jobs = weft_make(int, 64);
	weft_chan(long) results = weft_make(long, 64);
	long sum = 0, v = 0;
	int rc = 0;

	weft_group(g, &rc) {
		for (int i = 0; i < a->workers; i++)
			weft_go_in(g, worker, .id = i, .jobs = jobs, .results = results);
		for (int got = 0, sent = 0; got < 1000;)
			switch (sent < 1000
				    ? weft_select(WEFT_RECV(results, &v), WEFT_SEND(jobs, sent))
				    : weft_select(WEFT_RECV(results, &v))) {
			case 0:
				sum += v;
				got++;
				break;
			case 1:
				sent++;
				break;
			default:
				got = 1000;
				break; /* cancelled */
			}
		weft_close(jobs);
	}
	weft_free(jobs);
	weft_free(results);
	printf("sum of squares: %ld\n", sum);
	return rc;
}

int
main(void)
{
	return weft_run(app, .workers = 4);
}

/* A channel of a type that holds a channel of itself, one of a type nobody completes, and the
   same type from two places. */
struct req {
	int id;
	const char *text;
	weft_chan(struct req) reply;
};
struct unknown;

static int
tick(void)
{
	return 0;
}

weft_chan(int) shared;
weft_chan(int) make_shared(size_t cap);

weft_chan(int) make_shared(size_t cap)
{
	shared = weft_make(int, cap);
	return shared;
}

enum colour { RED, GREEN };
union number {
	int i;
	float f;
};
typedef void (*callback)(void *);

int elements(callback f, const char *text, void *p);

int
elements(callback f, const char *text, void *p)
{
	weft_chan(weft_chan(int)) chans = weft_make(weft_chan(int), 1);
	weft_chan(const char *) texts = weft_make(const char *, 1);
	weft_chan(enum colour) colours = weft_make(enum colour, 1);
	weft_chan(union number) numbers = weft_make(union number, 1);
	weft_chan(callback) callbacks = weft_make(callback, 1);
	weft_chan(void *) pointers = weft_make(void *, 1);
	weft_chan(_Bool) flags = weft_make(_Bool, 1);
	weft_chan(char) chars = weft_make(char, 1);
	weft_chan(double) doubles = weft_make(double, 1);
	weft_chan(int) inner = NULL;
	enum colour colour;
	char c[1];

	weft_send(chans, inner);
	weft_recv(chans, &inner);
	weft_send(texts, text);
	weft_send(texts, "literal");
	weft_send(texts, NULL);
	weft_recv(texts, &text);
	weft_send(colours, GREEN);
	weft_recv(colours, &colour);
	weft_send(numbers, {.f = 1});
	weft_send(callbacks, f);
	weft_recv(callbacks, &f);
	weft_send(pointers, p);
	weft_send(pointers, &text);
	weft_recv(pointers, &p);
	weft_send(flags, text != NULL);
	weft_send(chars, 'x');
	weft_recv(chars, c);
	weft_recv(chars, p); /* a void * may point to anything */
	weft_send(doubles, 1);
	return colour + c[0];
}

/* As any initialiser: what is left out is zero. */
int values(weft_chan(struct req) ch, struct req r, const struct req *fixed);

int
values(weft_chan(struct req) ch, struct req r, const struct req *fixed)
{
	int rc = 0;

	rc += weft_send(ch, r);
	rc += weft_send(ch, *fixed);
	rc += weft_send(ch, {1, "x"});
	rc += weft_send(ch, {1, "x", ch});
	rc += weft_send(ch, {.id = 1, .reply = ch});
	rc += weft_send(ch, (struct req){.text = "x"});
	rc += weft_send(ch, {0});
	rc += weft_try_send(ch, {1});
	rc += weft_try_send(r.reply, {.text = "x"});
	if (weft_send(ch, {2}) < 0 || weft_try_send(ch, {3}) < 0)
		return rc;
	return weft_send(fixed->reply, {.id = weft_try_send(ch, r)});
}

/* Where a value goes, and what else a channel can do. */
int calls(weft_chan(int) ch, weft_chan(struct unknown) far, struct unknown *u);

int
calls(weft_chan(int) ch, weft_chan(struct unknown) far, struct unknown *u)
{
	weft_chan(int) list[4] = {ch, ch, ch, ch};
	weft_chan(int) const fixed = ch;
	int v = 0, more[3], i = 0;
	int *const to = &v;

	if (weft_recv(ch, &v) > 0 && weft_recv(ch, NULL) == 0 && weft_recv(fixed, to) < 0)
		return v;
	v += weft_try_recv(ch, more);
	v += weft_try_recv(ch, &more[1]);
	v += weft_try_recv(list[i++], &more[2]);
	v += weft_recv((weft_chan(int))NULL, &v);
	v += weft_recv(far, u);
	v += weft_recv(far, NULL);
	v += weft_send(list[i++], more[0]);
	/* one inside the argument of another */
	v += weft_send(ch, weft_send(ch, weft_send(ch, v)));
	v += weft_recv(make_shared(1), &more[weft_try_recv(ch, NULL)]);
	v += weft_send(ch, (int)weft_go(tick));
	v += (int)weft_go(worker, .jobs = weft_make(int, 1), .id = weft_recv(ch, NULL));
	v += (int)(weft_len(ch) + weft_cap(ch) + weft_len(far) + weft_cap(fixed));
	v += weft_close(ch) + weft_close(list[i++]);
	weft_free(fixed);
	weft_free(list[0]);
	weft_free(NULL);
	weft_free(weft_make(int, 0));
	return v;
}

/* Every case, alone and together. */
int cases(weft_chan(int) ch, weft_chan(struct req) reqs, struct req r, const struct req *fixed);

int
cases(weft_chan(int) ch, weft_chan(struct req) reqs, struct req r, const struct req *fixed)
{
	int v = 0, ok = 0, fd = 3, sum = 0;

	sum += weft_select(WEFT_RECV(ch, &v));
	sum += weft_select(WEFT_RECV(ch, &v, &ok));
	sum += weft_select(WEFT_RECV(ch, NULL), WEFT_RECV(ch, NULL, NULL));
	sum += weft_select(WEFT_SEND(ch, v), WEFT_DEFAULT);
	sum += weft_select(WEFT_RECV(ch, &v), WEFT_RECV(reqs, &r, &ok), WEFT_SEND(ch, 1),
			   WEFT_SEND(reqs, r), WEFT_SEND(reqs, *fixed), WEFT_SEND(reqs, {1, "x"}),
			   WEFT_SEND(reqs, {.reply = reqs}), WEFT_SEND_FROM(reqs, fixed),
			   WEFT_SEND_FROM(reqs, &r), WEFT_AFTER(10 * WEFT_MS), WEFT_READABLE(fd),
			   WEFT_WRITABLE(fd), WEFT_DEFAULT);
	sum += weft_select(WEFT_RECV((weft_chan(int))NULL, &v), WEFT_AFTER(v), );
	/* one inside the argument of another */
	sum += weft_select(WEFT_SEND(ch, weft_select(WEFT_SEND(ch, weft_try_recv(ch, &v)))));
	switch (weft_select(WEFT_RECV(r.reply, &r), WEFT_SEND(fixed->reply, {.id = sum}))) {
	case 0:
		return r.id;
	case 1:
		return ok;
	}
	while (weft_select(WEFT_RECV(ch, &v), WEFT_DEFAULT) == 0)
		sum += v;
	return sum;
}

int run_time_number(weft_chan(int) * list, int n, const int *from);

int
run_time_number(weft_chan(int) * list, int n, const int *from)
{
	struct weft_case cs[8] = {WEFT_DEFAULT};
	int v[8];

	for (int i = 1; i < n && i < 8; i++) {
		cs[i] = i % 2 ? WEFT_RECV(list[i], &v[i]) : WEFT_SEND_FROM(list[i], &from[i]);
		if (i == 7)
			cs[i] = WEFT_AFTER(WEFT_SEC);
	}
	memset(v, 0, sizeof(v));
	return weft_selectv(cs, n) + v[0];
}

void for_ever(void);

void
for_ever(void)
{
	weft_select();
	weft_select(WEFT_RECV((weft_chan(int))NULL, NULL));
}
