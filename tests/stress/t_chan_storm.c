/* SPDX-License-Identifier: MIT */
/* t_chan_storm.c: ten goroutines, four channels, plain operations and selects, by seed. fence-mode */
#include "integ/waiting.h"

#include <errno.h>

enum { CHANS = 4 };

static weft_chan(int) ch[CHANS];
static int64_t sent[CHANS], received[CHANS]; /* sums of values */

/* ---- as many sends as receives on each channel: it ends, and the sums agree */

struct plain {
	int k, n;
	bool sends;
};

static int
plain(struct plain *a)
{
	int64_t sum = 0;
	int v;

	for (int i = 1; i <= a->n; i++) {
		if (a->sends) {
			EXPECT_EQ(weft_send(ch[a->k], i), 0);
			v = i;
		} else {
			EXPECT_EQ(weft_recv(ch[a->k], &v), 1);
		}
		sum += v;
	}
	add(a->sends ? &sent[a->k] : &received[a->k], sum);
	return 0;
}

struct selecting {
	int n;
	bool sends;
	uint64_t seed;
};

static int
selecting(struct selecting *a)
{
	int count[CHANS] = {0}, v[CHANS], open = CHANS;
	uint64_t r = a->seed;
	weft_chan(int) c[CHANS];

	memcpy(c, ch, sizeof(c));
	while (open > 0) {
		struct weft_case cases[CHANS + 1];
		int order[CHANS], rc, k, n = CHANS;

		for (int i = 0; i < CHANS; i++)
			order[i] = i;
		for (int i = CHANS - 1; i > 0; i--) { /* in any order */
			int j = (int)(test_rand(&r) % (unsigned)(i + 1)), t = order[i];

			order[i] = order[j];
			order[j] = t;
		}
		for (int i = 0; i < CHANS; i++) {
			k = order[i];
			v[k] = count[k] + 1;
			cases[i] = a->sends ? WEFT_SEND_FROM(c[k], &v[k]) : WEFT_RECV(c[k], &v[k]);
		}
		if (test_rand(&r) % 16 == 0)
			cases[n++] = WEFT_DEFAULT;
		rc = weft_selectv(cases, n);
		EXPECT(rc >= 0 && rc < n);
		if (rc == CHANS) {
			weft_yield();
			continue;
		}
		k = order[rc];
		add(a->sends ? &sent[k] : &received[k], v[k]);
		if (++count[k] == a->n) {
			c[k] = NULL;
			open--;
		}
	}
	return 0;
}

struct storm {
	uint64_t seed;
	int n;
};

static int
storm(struct storm *a)
{
	struct weft_wg wg = {0};
	uint64_t r = a->seed;

	for (int k = 0; k < CHANS; k++) {
		ch[k] = weft_make(int, test_rand(&r) % 4);
		sent[k] = received[k] = 0;
	}
	for (int k = 0; k < CHANS; k++) {
		weft_wg_go(&wg, plain, k, a->n, true);
		weft_wg_go(&wg, plain, k, a->n, false);
	}
	weft_wg_go(&wg, selecting, a->n, true, test_rand(&r));
	weft_wg_go(&wg, selecting, a->n, false, test_rand(&r));
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	for (int k = 0; k < CHANS; k++) {
		EXPECT_EQ(sent[k], received[k]);
		EXPECT_EQ(weft_len(ch[k]), 0);
		expect_idle(ch[k]);
		weft_free(ch[k]);
	}
	return 0;
}

/* Go's TestSelectStress */
TEST(ten_goroutines_four_channels)
{
	EXPECT_EQ(weft_run(storm, test_seed(), scaled(100000)), 0);
}

TEST(many_short_storms)
{
	uint64_t r = test_seed();

	for (int i = 0; i < scaled(300); i++)
		EXPECT_EQ(weft_run(storm, test_rand(&r), 1 + (int)(test_rand(&r) % 300)), 0);
}

/* ---- anything at any time: what was sent was received, or is still there */

struct wild {
	uint64_t seed;
	int n;
	int depth;
};

static int64_t n_sent, n_received;

static void
count(int rc, bool sends, int v)
{
	EXPECT(rc >= 0 || rc == -ECANCELED || rc == -EAGAIN || rc == -ETIMEDOUT);
	if (rc < 0)
		return;
	add(sends ? &n_sent : &n_received, 1);
	add(sends ? &sent[0] : &received[0], v);
}

static int wild(struct wild *a);

static void
one_step(struct wild *a, uint64_t *r)
{
	int k = (int)(test_rand(r) % CHANS), l = (int)(test_rand(r) % CHANS), rc;
	int v = (int)(test_rand(r) % 1000), w = -1;

	switch (test_rand(r) % 10) {
	case 0:
		count(weft_send(ch[k], v), true, v);
		break;
	case 1:
		rc = weft_recv(ch[k], &w);
		count(rc, false, w);
		break;
	case 2:
		count(weft_try_send(ch[k], v), true, v);
		break;
	case 3:
		rc = weft_try_recv(ch[k], &w);
		count(rc, false, w);
		break;
	case 4:
		count(weft_select(WEFT_SEND(ch[k], v), WEFT_SEND(ch[l], v)), true, v);
		break;
	case 5:
		rc = weft_select(WEFT_RECV(ch[k], &w), WEFT_RECV(ch[l], &w));
		count(rc, false, w);
		break;
	case 6: /* both ways, perhaps on one channel */
		rc = weft_select(WEFT_RECV(ch[k], &w), WEFT_SEND(ch[l], v));
		count(rc, rc == 1, rc == 1 ? v : w);
		break;
	case 7:
		rc = weft_select(WEFT_SEND(ch[k], v), WEFT_RECV(ch[l], &w), WEFT_DEFAULT);
		if (rc < 2)
			count(rc, rc == 0, rc == 0 ? v : w);
		break;
	case 8:
		weft_timeout(0) {
			rc = weft_select(WEFT_SEND(ch[k], v), WEFT_RECV(ch[l], &w));
			count(rc, rc == 0, rc == 0 ? v : w);
		}
		break;
	default:
		if (a->depth == 0 || test_rand(r) % 4)
			break;
		weft_group(g, NULL) {
			for (uint64_t n = test_rand(r) % 4; n > 0; n--)
				weft_go_in(g, wild, test_rand(r), 20, a->depth - 1);
			for (uint64_t n = test_rand(r) % 10; n > 0; n--)
				weft_yield();
			weft_cancel(g);
		}
	}
}

static int
wild(struct wild *a)
{
	uint64_t r = a->seed;

	for (int i = 0; i < a->n && !weft_cancelled(); i++)
		one_step(a, &r);
	return 0;
}

struct wild_storm {
	uint64_t seed;
	int n;
};

static int
wild_storm(struct wild_storm *a)
{
	uint64_t r = a->seed;
	int v, rc = 0;

	n_sent = n_received = sent[0] = received[0] = 0;
	for (int k = 0; k < CHANS; k++)
		ch[k] = weft_make(int, test_rand(&r) % 3);
	weft_group(g, &rc) {
		/* nobody need be left to serve the last: the group ends them all */
		for (int i = 0; i < 10; i++)
			weft_go_in(g, wild, test_rand(&r), a->n, 2);
		for (int last = -1; weft_count() > 1;) {
			int now = (int)(load(&n_sent) + load(&n_received));

			for (int i = 0; i < 20; i++)
				weft_yield();
			if (now == last)
				break;
			last = now;
		}
		weft_cancel(g);
	}
	EXPECT_EQ(rc, 0);
	for (int k = 0; k < CHANS; k++) {
		expect_idle(ch[k]);
		while (weft_try_recv(ch[k], &v) > 0)
			count(0, false, v);
		weft_free(ch[k]);
	}
	EXPECT_EQ(n_sent, n_received);
	EXPECT_EQ(sent[0], received[0]);
	return 0;
}

TEST(wild_mix_with_cancels_loses_no_value)
{
	uint64_t r = test_seed();

	for (int i = 0; i < scaled(100); i++)
		EXPECT_EQ(weft_run(wild_storm, test_rand(&r), 1000), 0);
}

struct resizes {
	int *stop;
};

static int
resizes(struct resizes *a)
{
	uint64_t r = test_seed();

	while (!load(a->stop)) {
		EXPECT(weft_set_procs(1 + (int)(test_rand(&r) % 6)) > 0);
		for (int i = 0; i < 50; i++)
			weft_yield();
	}
	return 0;
}

static int
with_resizes(struct storm *a)
{
	struct weft_wg wg = {0};
	int stop = 0;

	weft_wg_go(&wg, resizes, &stop);
	EXPECT_EQ(storm(a), 0);
	store(&stop, 1);
	EXPECT_EQ(weft_wg_wait(&wg), 0);
	return 0;
}

struct resized {
	struct storm s;
};

static int
resized(struct resized *a)
{
	return with_resizes(&a->s);
}

TEST(storm_while_procs_come_and_go)
{
	EXPECT_EQ(weft_run(resized, {test_seed(), scaled(10000)}), 0);
}
