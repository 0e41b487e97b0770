// SPDX-License-Identifier: MIT

// The fork-join rows of bench/weft on oneTBB: same parameters, same rows, same output. Its tasks run
// to completion and cannot wait for each other over channels.

#include "../row.h"

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/version.h>


namespace {

void spawn_and_wait(int64_t count)
{
	tbb::task_group all;

	for (int64_t i = 0; i < count; i++)
		all.run([] {});
	all.wait();
}

void spawn_join()
{
	row_spawn_join(spawn_and_wait);
}

void spawn_storm()
{
	row_spawn_storm(spawn_and_wait);
}

int64_t fib(int n)
{
	tbb::task_group child;
	int64_t a, b;

	if (n < 2)
		return n;
	child.run([n, &a] { a = fib(n - 1); });
	b = fib(n - 2);
	child.wait();
	return a + b;
}

void bench_fib()
{
	row_fib(fib);
}

void node(int64_t number, int64_t leaves, int64_t *sum)
{
	if (leaves == 1) {
		*sum = number;
		return;
	}
	tbb::task_group children;
	int64_t sums[FANOUT], part = leaves / FANOUT;

	for (int i = 0; i < FANOUT; i++)
		children.run([=, &sums] { node(number + i * part, part, &sums[i]); });
	children.wait();
	*sum = 0;
	for (auto s : sums)
		*sum += s;
}

row_time skynet_once(int64_t leaves)
{
	int64_t sum = -1;
	auto start = row_now();

	node(0, leaves, &sum);
	auto took = row_since(start);
	row_check("skynet_join", sum, leaves * (leaves - 1) / 2);
	return took;
}

void skynet_join()
{
	auto cold = skynet_once(row_leaves());
	auto warm = skynet_once(row_leaves());

	row_report_ms("skynet_join_cold", "cold", cold);
	row_report_ms("skynet_join", "warm", warm);
}

template <void (*F)()> void threaded()
{
	tbb::global_control limit{tbb::global_control::max_allowed_parallelism,
				  static_cast<std::size_t>(row_procs())};
	tbb::task_arena arena{row_procs()};

	arena.execute([] { F(); });
}

const row_entry table[] = {
    {"spawn_join", threaded<spawn_join>},   {"spawn_storm", threaded<spawn_storm>},
    {"fib", threaded<bench_fib>},           {"skynet_join", threaded<skynet_join>},
    {nullptr, nullptr},
};

} // namespace

int main(int argc, char **argv)
{
	char version[64];

	snprintf(version, sizeof(version), "oneTBB %s, g++ -O2", TBB_runtime_version());
	return row_main(argc, argv, version, table);
}
