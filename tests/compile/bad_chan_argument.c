/* expect: incompatible-pointer-types */
#include <weft.h>

struct worker {
	weft_chan(long) jobs;
};

int worker(struct worker *w);

int start(weft_chan(int) ch);

int
start(weft_chan(int) ch)
{
	return weft_go(worker, .jobs = ch) > 0;
}
