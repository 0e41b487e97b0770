/* expect: weft_recv: the pointer must point to the channel */
#include <weft.h>

int start(weft_chan(int) ch);

int
start(weft_chan(int) ch)
{
	long v;

	return weft_recv(ch, &v);
}
