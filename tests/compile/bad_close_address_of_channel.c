/* expect: weft_close: the argument must be a channel */
#include <weft.h>

int start(weft_chan(int) ch);

int
start(weft_chan(int) ch)
{
	return weft_close(&ch);
}
