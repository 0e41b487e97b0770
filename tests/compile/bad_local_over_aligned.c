/* expect: weft_local: alignment above 16 */
#include <weft.h>

struct wide {
	_Alignas(64) char line[64];
};

weft_local(struct wide, wide);
