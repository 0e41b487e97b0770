/* expect: WEFT_SEND_FROM: the pointer must point to the channel */
#include <weft.h>

int start(weft_chan(int) ch);

int
start(weft_chan(int) ch)
{
	long v = 3;

	return weft_select(WEFT_SEND_FROM(ch, &v));
}
