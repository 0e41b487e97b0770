/* SPDX-License-Identifier: MIT */
/* good_local.c: goroutine-locals of several types. */
#include <weft.h>

struct session {
	long id;
	char name[100];
};

weft_local(struct session, session);
weft_local(int, counter);
weft_local(const char *, label);

long use(void);

long
use(void)
{
	*counter() += 1;
	*label() = "x";
	session()->id = *counter();
	return session()->id + **label();
}
