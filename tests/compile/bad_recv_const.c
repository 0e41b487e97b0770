/* expect: weft_recv: the pointer must point to the channel */
#include <weft.h>

int start(weft_chan(int) ch, const int *to);

int
start(weft_chan(int) ch, const int *to)
{
	return weft_recv(ch, to);
}
