/* expect: aligned to more than 16; pass a pointer */
#include <weft.h>

struct echo {
	_Alignas(32) char text[32];
};

int echo(struct echo *a);
int start(void);

int
start(void)
{
	return weft_go(echo) > 0;
}
