/* expect: too few arguments */
#include <weft.h>

void put(int *p, int n);

int start(int *p);

int
start(int *p)
{
	weft_defer(put, p);
	return 0;
}
