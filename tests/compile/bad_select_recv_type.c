/* expect: WEFT_RECV: the pointer must point to the channel */
#include <weft.h>

int start(weft_chan(int) ch);

int
start(weft_chan(int) ch)
{
	long v;

	return weft_select(WEFT_RECV(ch, &v), WEFT_DEFAULT);
}
