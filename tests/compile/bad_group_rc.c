/* expect: incompatible-pointer-types */
#include <weft.h>

int start(void);

int
start(void)
{
	long rc = 0;

	weft_group(g, &rc) {
		weft_cancel(g);
	}
	return 0;
}
