/* expect: assign */
#include <weft.h>

int start(void);

int
start(void)
{
	weft_group(g, NULL) {
		g = NULL;
	}
	return 0;
}
