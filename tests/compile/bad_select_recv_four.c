/* expect: WEFT_RECV: there is no fourth argument */
#include <weft.h>

int start(weft_chan(int) ch);

int
start(weft_chan(int) ch)
{
	int v, ok;

	return weft_select(WEFT_RECV(ch, &v, &ok, 1));
}
