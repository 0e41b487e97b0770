/* expect: weft_recv: the first argument must be a channel */
#include <weft.h>

int start(weft_chan(int) ch);

int
start(weft_chan(int) ch)
{
	int v;

	return weft_recv(&ch, &v);
}
