/* expect: weft_cap: the argument must be a channel */
#include <weft.h>

struct point {
	int x, y;
};

int start(struct point p);

int
start(struct point p)
{
	return (int)weft_cap(p);
}
