/* expect: incompatible type */
#include <weft.h>

struct point {
	int x, y;
};

int start(weft_chan(int) ch, struct point p);

int
start(weft_chan(int) ch, struct point p)
{
	return weft_send(ch, p);
}
