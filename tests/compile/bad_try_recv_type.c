/* expect: weft_try_recv: the pointer must point to the channel */
#include <weft.h>

int start(weft_chan(char *) ch);

int
start(weft_chan(char *) ch)
{
	const char *v;

	return weft_try_recv(ch, &v);
}
