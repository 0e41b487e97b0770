/* expect: incompatible-pointer-types */
#include <weft.h>

int tick(void);

int start(struct weft_wg *wg);

int
start(struct weft_wg *wg)
{
	return weft_go_in(wg, tick) > 0;
}
