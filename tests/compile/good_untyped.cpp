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
