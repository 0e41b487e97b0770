/* expect: weft_wg */
#include <weft.h>

int tick(void);
int start(void);

int
start(void)
{
	int wg = 0;

	return weft_wg_go(&wg, tick) > 0;
}
