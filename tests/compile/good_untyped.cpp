// SPDX-License-Identifier: MIT
// good_untyped.cpp: the untyped part from C++.
#include <weft.h>

#include <cstddef>

namespace
{

struct arg {
	int n;
	const char *tag;
};

int
entry(void *p)
{
	const arg *a = static_cast<const arg *>(p);
	return a->n;
}

} // namespace

int start();
int channels(int n);
int scopes(weft_site *site);
int locks();

int
start()
{
	static weft_site site = {};
	weft_wg wg = {};
	weft_attr attr = {};
	arg a = {3, "x"};

	site.fn = entry;
	site.name = "entry";
	site.file = __FILE__;
	site.line = __LINE__;
	attr.name = "cxx";
	attr.save = WEFT_SAVE_CXX;
	if (weft_spawn(&site, &attr, &wg, &a, sizeof(a)) < 0)
		return -1;
	weft_yield();
	weft_checkpoint();
	weft_wg_add(&wg, 1);
	weft_wg_done(&wg);
	return weft_run_site(&site, &a, sizeof(a)) + weft_wg_wait(&wg) + weft_procs();
}

int
channels(int n)
{
	void *ch = weft_chan_make(sizeof(n), 4, "good_untyped.cpp:1");
	int ok = 0;
	weft_case cs[2] = {};

	if (weft_chan_send(ch, &n) < 0 || weft_chan_recv(ch, &n) < 0)
		return -1;
	if (weft_chan_try_send(ch, &n) < 0 || weft_chan_try_recv(ch, nullptr) < 0)
		return -1;
	cs[0].kind_ = WEFT_CASE_RECV;
	cs[0].chan_ = ch;
	cs[0].elem_ = &n;
	cs[0].ok_ = &ok;
	cs[1].kind_ = WEFT_CASE_DEFAULT;
	n += weft_selectv(cs, 2);
	n += static_cast<int>(weft_chan_len(ch) + weft_chan_cap(ch) + weft_len(ch) + weft_cap(ch));
	n += weft_chan_close(ch) + weft_close(ch);
	weft_chan_free(ch);
	weft_free(nullptr);
	return n;
}

int
scopes(weft_site *site)
{
	weft_group group;
	weft_scope outer, inner, shield;
	weft_autofd int fd = -1;
	weft_autofree char *text = nullptr;
	int rc = 0;

	weft_scope_open_timeout(&outer, WEFT_SEC);
	weft_scope_open_deadline(&inner, 3);
	weft_scope_open_shield(&shield);
	weft_group *g = weft_group_open(&group, &rc, "good_untyped.cpp:2");
	if (weft_group_limit(g, 3) < 0 || weft_spawn_in(site, nullptr, g, nullptr, 0) < 0)
		weft_cancel(g);
	weft_group_close(g);
	weft_scope_close(&shield);
	weft_scope_close(&inner);
	weft_scope_close(&outer);
	return weft_cancelled() ? fd : rc;
}

int
locks()
{
	static weft_mutex m;
	static weft_rwmutex rw;
	static weft_cond c;
	static weft_sem s;
	static struct weft_once once;
	static weft_barrier b;
	int rc = weft_lock(&m) + weft_wait(&c, &m);

	weft_unlock(&m);
	rc += weft_rlock(&rw);
	weft_runlock(&rw);
	rc += weft_wlock(&rw);
	weft_wunlock(&rw);
	weft_signal(&c);
	weft_broadcast(&c);
	rc += weft_sem_init(&s, 1) + weft_acquire(&s, 1) + weft_try_acquire(&s, 1);
	weft_release(&s, 1);
	rc += weft_once(&once, [] {
		return 0;
	});
	return rc + weft_barrier_init(&b, 1) + weft_barrier_wait(&b);
}
