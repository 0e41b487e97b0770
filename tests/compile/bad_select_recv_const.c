/* expect: WEFT_RECV: the pointer must point to the channel */
#include <weft.h>

int start(weft_chan(int) ch, const int *to);

int
start(weft_chan(int) ch, const int *to)
{
	return weft_select(WEFT_RECV(ch, to));
}
