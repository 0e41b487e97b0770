/* expect: weft_recv: the pointer must point to the channel */
#include <weft.h>

struct point {
	int x, y;
};
struct other {
	int x, y;
};

int start(weft_chan(struct point) ch);

int
start(weft_chan(struct point) ch)
{
	struct other v;

	return weft_recv(ch, &v);
}
