/* expect: incompatible-pointer-types */
#include <weft.h>

struct point {
	int x, y;
};

int start(weft_chan(struct point *) ch);

int
start(weft_chan(struct point *) ch)
{
	int v = 3;

	return weft_send(ch, &v);
}
