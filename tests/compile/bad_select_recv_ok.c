/* expect: WEFT_RECV: the third argument must be an int * */
#include <weft.h>

int start(weft_chan(int) ch);

int
start(weft_chan(int) ch)
{
	int v;
	bool ok;

	return weft_select(WEFT_RECV(ch, &v, &ok));
}
