/* expect: incompatible-pointer-types */
#include <weft.h>

struct point {
	int x, y;
};

void put(struct point *p);

int start(void);

int
start(void)
{
	int v = 3;

	weft_defer(put, &v);
	return v;
}
