/* SPDX-License-Identifier: MIT */
/* good_sync.c: the sync objects, static and not, and every call. */
#include <weft.h>

static struct weft_mutex mutex;
static struct weft_rwmutex rwmutex;
static struct weft_cond cond;
static struct weft_wg wg;
static struct weft_sem sem;
static struct weft_once once;
static struct weft_barrier barrier;

static int
init(void)
{
	return weft_sem_init(&sem, 3) + weft_barrier_init(&barrier, 2);
}

static int
tick(void)
{
	return 0;
}

int locks(void);

int
locks(void)
{
	struct weft_mutex own = {0};
	int rc = 0;

	rc += weft_lock(&mutex);
	weft_unlock(&mutex);
	rc += weft_lock_scoped(&own);
	weft_unlock(&own);
	if (weft_try_lock(&mutex)) {
		weft_defer(weft_unlock, &mutex);
		while (rc == 0)
			rc = weft_wait(&cond, &mutex);
		weft_signal(&cond);
		weft_broadcast(&cond);
	}
	rc += weft_rlock(&rwmutex);
	weft_runlock(&rwmutex);
	rc += weft_rlock_scoped(&rwmutex);
	weft_runlock(&rwmutex);
	if (weft_try_rlock(&rwmutex))
		weft_runlock(&rwmutex);
	rc += weft_wlock(&rwmutex);
	weft_wunlock(&rwmutex);
	rc += weft_wlock_scoped(&rwmutex);
	weft_wunlock(&rwmutex);
	if (weft_try_wlock(&rwmutex))
		weft_wunlock(&rwmutex);
	return rc;
}

int counts(void);

int
counts(void)
{
	int rc = weft_once(&once, init);

	weft_wg_add(&wg, 1);
	if (weft_wg_go(&wg, tick) < 0)
		return -1;
	weft_wg_done(&wg);
	rc += weft_wg_wait(&wg);
	rc += weft_acquire(&sem, 2);
	weft_release(&sem, 2);
	if (weft_try_acquire(&sem, 1))
		weft_release(&sem, 1);
	return rc + weft_barrier_wait(&barrier);
}
