/* SPDX-License-Identifier: MIT */
/* t_glist.c: lists of Gs. qemu */
#include "test.h"

#include "core/glist.h"

static struct wf_g gs[8];

static void
expect_list(struct wf_glist *l, const char *order)
{
	uint32_t n = 0;
	struct wf_g *last = NULL;

	for (struct wf_g *g = l->head; g; g = g->link, n++) {
		EXPECT_EQ(g - gs, order[n] - '0');
		last = g;
	}
	EXPECT_EQ(order[n], 0);
	EXPECT_EQ(l->size, n);
	EXPECT_EQ(l->tail, last);
}

/* GLIST-1 */
TEST(push_and_pop_keep_order)
{
	struct wf_glist l = {0};

	EXPECT(wf_glist_pop(&l) == NULL);
	for (int i = 0; i < 3; i++)
		wf_glist_push(&l, &gs[i]);
	wf_glist_push_head(&l, &gs[7]);
	expect_list(&l, "7012");
	EXPECT_EQ(wf_glist_pop(&l), &gs[7]);
	EXPECT(gs[7].link == NULL);
	expect_list(&l, "012");
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(wf_glist_pop(&l), &gs[i]);
	expect_list(&l, "");
	EXPECT(wf_glist_pop(&l) == NULL);
}

TEST(push_head_on_an_empty_list_sets_both_ends)
{
	struct wf_glist l = {0};

	wf_glist_push_head(&l, &gs[3]);
	expect_list(&l, "3");
	wf_glist_push(&l, &gs[4]);
	expect_list(&l, "34");
}

TEST(join_moves_all_to_the_end)
{
	struct wf_glist a = {0}, b = {0};

	wf_glist_join(&a, &b);
	expect_list(&a, "");
	wf_glist_push(&b, &gs[1]);
	wf_glist_push(&b, &gs[2]);
	wf_glist_join(&a, &b);
	expect_list(&a, "12");
	expect_list(&b, "");
	wf_glist_push(&b, &gs[3]);
	wf_glist_join(&a, &b);
	expect_list(&a, "123");
	wf_glist_join(&a, &b);
	expect_list(&a, "123");
}
