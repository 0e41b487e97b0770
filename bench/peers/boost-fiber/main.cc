// SPDX-License-Identifier: MIT

// The workloads of bench/weft on Boost.Fiber: same parameters, same rows, same output. It has no
// select.
//
// One processor: its round-robin scheduler. More: its work-stealing scheduler, whose idle threads
// spin. Stacks come from a cache, as malloc is ten times slower here and its own pool is not safe for
// fibers that end on another thread than they began on. They have 16 KiB: with 8 some rows overflow.

#include "../row.h"

#include <boost/fiber/all.hpp>
#include <boost/version.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <thread>
#include <vector>

namespace fibers = boost::fibers;

namespace {

constexpr std::size_t stack_bytes = 16 * 1024;

using channel = fibers::unbuffered_channel<int64_t>;
using buffered = fibers::buffered_channel<int64_t>;

// A cache of stacks for each thread, and one for all of them that evens out.
class cached_stack
{
      public:
	boost::context::stack_context allocate()
	{
		boost::context::stack_context stack;

		if (own.empty())
			refill();
		stack.size = stack_bytes;
		stack.sp = own.back() + stack_bytes;
		own.pop_back();
		return stack;
	}

	void deallocate(boost::context::stack_context &stack) noexcept
	{
		own.push_back(static_cast<char *>(stack.sp) - stack_bytes);
		if (own.size() >= 2 * batch)
			move(own, shared);
	}

      private:
	using list = std::vector<char *>;
	static constexpr std::size_t batch = 512;
	static thread_local list own;
	static list shared;
	static std::mutex lock;

	static bool move(list &from, list &to)
	{
		std::lock_guard<std::mutex> held{lock};

		if (from.size() < batch)
			return false;
		to.insert(to.end(), from.end() - batch, from.end());
		from.resize(from.size() - batch);
		return true;
	}

	static void refill()
	{
		if (move(shared, own))
			return;
		void *fresh = mmap(nullptr, batch * stack_bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (fresh == MAP_FAILED)
			throw std::bad_alloc{};
		for (std::size_t i = 0; i < batch; i++)
			own.push_back(static_cast<char *>(fresh) + i * stack_bytes);
	}
};

thread_local cached_stack::list cached_stack::own;
cached_stack::list cached_stack::shared;
std::mutex cached_stack::lock;

template <typename F> fibers::fiber go(F &&f)
{
	return fibers::fiber{fibers::launch::post, std::allocator_arg, cached_stack{},
			     std::forward<F>(f)};
}

void join(std::vector<fibers::fiber> &all)
{
	for (auto &f : all)
		f.join();
	all.clear();
}

// Runs f with as many threads as there are processors; the others only steal.
void with_threads(void (*f)())
{
	static std::atomic<bool> over{false};
	static fibers::mutex lock;
	static fibers::condition_variable_any done;
	const unsigned procs = static_cast<unsigned>(row_procs());
	std::vector<std::thread> others;

	if (procs == 1) {
		f();
		return;
	}
	for (unsigned i = 1; i < procs; i++)
		others.emplace_back([procs] {
			fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(procs);
			std::unique_lock<fibers::mutex> held{lock};
			done.wait(held, [] { return over.load(); });
		});
	fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(procs);
	f();
	{
		std::unique_lock<fibers::mutex> held{lock};
		over = true;
	}
	done.notify_all();
	for (auto &t : others)
		t.join();
}

// ---- fibers alone

void yield_all(int64_t count, int64_t each)
{
	std::vector<fibers::fiber> all;

	for (int64_t i = 0; i < count; i++)
		all.push_back(go([each] {
			for (int64_t j = 0; j < each; j++)
				boost::this_fiber::yield();
		}));
	join(all);
}

void yields(int64_t count)
{
	int64_t each = row_scaled(YIELDS) / count;
	char row[32];

	yield_all(count, 1 + each / 100);
	auto start = row_now();
	yield_all(count, each);
	snprintf(row, sizeof(row), "yield%d", static_cast<int>(count));
	row_report_ns(row, "warm", each * count, row_since(start));
}

void spawn_and_wait(int64_t count)
{
	std::vector<fibers::fiber> all;

	all.reserve(static_cast<std::size_t>(count));
	for (int64_t i = 0; i < count; i++)
		all.push_back(go([] {}));
	join(all);
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
	int64_t a, b;

	if (n < 2)
		return n;
	auto child = go([n, &a] { a = fib(n - 1); });
	b = fib(n - 2);
	child.join();
	return a + b;
}

void bench_fib()
{
	row_fib(fib);
}

void join_node(int64_t number, int64_t leaves, int64_t *sum)
{
	int64_t sums[FANOUT], part = leaves / FANOUT;
	fibers::fiber children[FANOUT];

	if (leaves == 1) {
		*sum = number;
		return;
	}
	for (int i = 0; i < FANOUT; i++)
		children[i] = go([=, &sums] { join_node(number + i * part, part, &sums[i]); });
	*sum = 0;
	for (int i = 0; i < FANOUT; i++) {
		children[i].join();
		*sum += sums[i];
	}
}

void chan_node(int64_t number, int64_t leaves, channel *result)
{
	if (leaves == 1) {
		result->push(number);
		return;
	}
	channel results;
	int64_t sum = 0, part = leaves / FANOUT;

	for (int i = 0; i < FANOUT; i++)
		go([=, &results] { chan_node(number + i * part, part, &results); }).detach();
	for (int i = 0; i < FANOUT; i++)
		sum += results.value_pop();
	result->push(sum);
}

row_time skynet_join_once(int64_t leaves)
{
	int64_t sum = -1;
	auto start = row_now();

	go([=, &sum] { join_node(0, leaves, &sum); }).join();
	auto took = row_since(start);
	row_check("skynet_join", sum, leaves * (leaves - 1) / 2);
	return took;
}

row_time skynet_once(int64_t leaves)
{
	channel result;
	auto start = row_now();

	go([=, &result] { chan_node(0, leaves, &result); }).detach();
	int64_t sum = result.value_pop();
	auto took = row_since(start);
	row_check("skynet", sum, leaves * (leaves - 1) / 2);
	return took;
}

void skynet_join()
{
	auto cold = skynet_join_once(row_leaves());
	auto warm = skynet_join_once(row_leaves());

	row_report_ms("skynet_join_cold", "cold", cold);
	row_report_ms("skynet_join", "warm", warm);
}

void skynet()
{
	auto cold = skynet_once(row_leaves());
	auto warm = skynet_once(row_leaves());

	row_report_ms("skynet_cold", "cold", cold);
	row_report_ms("skynet", "warm", warm);
}

void mem()
{
	int64_t count = row_scaled(TASKS);
	int64_t rss = row_status_kb("VmRSS"), pte = row_status_kb("VmPTE");
	fibers::promise<void> gate;
	auto opened = gate.get_future().share();
	std::atomic<int64_t> started{0};
	std::vector<fibers::fiber> all;
	auto start = row_now();

	all.reserve(static_cast<std::size_t>(count));
	for (int64_t i = 0; i < count; i++)
		all.push_back(go([&] {
			started++;
			opened.wait();
		}));
	while (started < count)
		boost::this_fiber::yield();
	boost::this_fiber::yield(); // the last to count may not wait yet
	auto took = row_since(start);
	rss = row_status_kb("VmRSS") - rss;
	pte = row_status_kb("VmPTE") - pte;
	row_report("mem", "parked", "B",
		   static_cast<double>(rss) * 1024 / static_cast<double>(count), took);
	row_report("mem_pte", "parked", "kB", static_cast<double>(pte), took);
	gate.set_value();
	join(all);
}

// ---- fibers that wait for each other

void round_trips(int64_t count)
{
	channel ping, pong;
	auto echo = go([&] {
		int64_t v;

		while (ping.pop(v) == fibers::channel_op_status::success)
			pong.push(v);
	});

	for (int64_t i = 0; i < count; i++) {
		ping.push(i);
		row_check("pingpong", pong.value_pop(), i);
	}
	ping.close();
	echo.join();
}

void pingpong()
{
	int64_t count = row_scaled(ROUND_TRIPS);

	round_trips(1 + count / 100);
	auto start = row_now();
	round_trips(count);
	row_report_ns("pingpong", "warm", count, row_since(start));
}

template <typename Channel> void stream(Channel &ch, int pairs, int64_t each)
{
	std::vector<fibers::fiber> producers, consumers;
	std::vector<int64_t> sums(static_cast<std::size_t>(pairs));
	int64_t sum = 0;

	for (auto &to : sums) {
		consumers.push_back(go([&ch, &to] {
			int64_t v, total = 0;

			while (ch.pop(v) == fibers::channel_op_status::success)
				total += v;
			to = total;
		}));
		producers.push_back(go([&ch, each] {
			for (int64_t i = 0; i < each; i++)
				ch.push(i);
		}));
	}
	join(producers);
	ch.close();
	join(consumers);
	for (auto s : sums)
		sum += s;
	row_check("stream", sum, pairs * (each * (each - 1) / 2));
}

void buffered_stream(const char *row, int pairs)
{
	int64_t each = std::max<int64_t>(row_scaled(BUF_VALUES) / pairs, 1);
	buffered warm{2 * BUFFER}, ch{2 * BUFFER}; // a power of two; it holds one less than that

	stream(warm, pairs, 1 + each / 100);
	auto start = row_now();
	stream(ch, pairs, each);
	row_report_ns(row, "warm", each * pairs, row_since(start));
}

void chan_buf()
{
	buffered_stream("chan_buf", 1);
}

void chan_mpmc()
{
	buffered_stream("chan_mpmc", MPMC_PAIRS);
}

void chan_unbuf_stream()
{
	int64_t count = row_scaled(UNBUF_VALUES);
	channel warm, ch;

	stream(warm, 1, 1 + count / 100);
	auto start = row_now();
	stream(ch, 1, count);
	row_report_ns("chan_unbuf_stream", "warm", count, row_since(start));
}

row_time sieve_once(int count, int64_t *prime)
{
	std::vector<std::unique_ptr<channel>> chain;
	std::vector<fibers::fiber> all;
	std::atomic<bool> stopped{false};
	auto start = row_now();

	chain.push_back(std::make_unique<channel>());
	all.push_back(go([&stopped, out = chain.back().get()] {
		for (int64_t n = 2; !stopped; n++)
			out->push(n);
		out->close();
	}));
	*prime = chain.back()->value_pop();
	for (int i = 1; i < count; i++) {
		channel *in = chain.back().get();

		chain.push_back(std::make_unique<channel>());
		all.push_back(go([in, out = chain.back().get(), p = *prime] {
			int64_t n;

			while (in->pop(n) == fibers::channel_op_status::success)
				if (n % p != 0)
					out->push(n);
			out->close();
		}));
		*prime = chain.back()->value_pop();
	}
	auto took = row_since(start);
	int64_t rest;

	stopped = true;
	while (chain.back()->pop(rest) == fibers::channel_op_status::success)
		continue;
	join(all);
	return took;
}

void sieve()
{
	int count = row_primes();
	int64_t prime;

	sieve_once(count, &prime);
	auto took = sieve_once(count, &prime);
	row_check("sieve", prime, row_nth_prime(count));
	row_report_ms("sieve", "warm", took);
}

void lock_all(int64_t each)
{
	std::vector<fibers::fiber> all;
	fibers::mutex lock;
	int64_t n = 0;

	for (int i = 0; i < LOCKERS; i++)
		all.push_back(go([&, each] {
			for (int64_t j = 0; j < each; j++) {
				lock.lock();
				n++;
				lock.unlock();
			}
		}));
	join(all);
	row_check("mutex", n, LOCKERS * each);
}

void mutex()
{
	int64_t each = row_scaled(LOCKS);

	lock_all(1 + each / 100);
	auto start = row_now();
	for (int i = 0; i < LOCK_REPEAT; i++)
		lock_all(each);
	row_report_ns("mutex", "warm", LOCK_REPEAT * LOCKERS * each, row_since(start));
}

void pipeline_once(int64_t items, int64_t steps)
{
	buffered in{2 * BUFFER}, out{2 * BUFFER};
	std::vector<fibers::fiber> all;
	int64_t count = items * WORKERS, sum = 0;

	for (int i = 0; i < WORKERS; i++)
		all.push_back(go([&, items, steps] {
			uint64_t x = 0;

			for (int64_t j = 0; j < items; j++) {
				int64_t v = in.value_pop();

				x = row_work(x, steps);
				out.push(v);
			}
		}));
	all.push_back(go([&, count] {
		for (int64_t i = 0; i < count; i++)
			in.push(i);
	}));
	for (int64_t i = 0; i < count; i++)
		sum += out.value_pop();
	join(all);
	row_check("pipeline", sum, count * (count - 1) / 2);
}

void pipeline()
{
	int64_t items = row_scaled(ITEMS), steps = row_steps_per_us();

	pipeline_once(1 + items / 100, steps);
	auto start = row_now();
	pipeline_once(items, steps);
	row_report_ms("pipeline", "warm", row_since(start));
}

template <void (*F)()> void threaded()
{
	with_threads(F);
}

void yield2()
{
	yields(2);
}

void yield1000()
{
	yields(1000);
}

const row_entry table[] = {
    {"yield 2", threaded<yield2>},
    {"yield 1000", threaded<yield1000>},
    {"spawn_join", threaded<spawn_join>},
    {"spawn_storm", threaded<spawn_storm>},
    {"fib", threaded<bench_fib>},
    {"skynet_join", threaded<skynet_join>},
    {"skynet", threaded<skynet>},
    {"pingpong", threaded<pingpong>},
    {"chan_stream chan_buf", threaded<chan_buf>},
    {"chan_stream chan_mpmc", threaded<chan_mpmc>},
    {"chan_stream chan_unbuf_stream", threaded<chan_unbuf_stream>},
    {"sieve", threaded<sieve>},
    {"mutex", threaded<mutex>},
    {"pipeline", threaded<pipeline>},
    {"mem", threaded<mem>},
    {nullptr, nullptr},
};

} // namespace

int main(int argc, char **argv)
{
	return row_main(argc, argv, "Boost " BOOST_LIB_VERSION ", g++ -O2", table);
}
