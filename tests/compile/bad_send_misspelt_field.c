/* expect: z */
#include <weft.h>

struct point {
	int x, y;
};

int start(weft_chan(struct point) ch);

int
start(weft_chan(struct point) ch)
{
	return weft_send(ch, {.x = 1, .z = 2});
}
