/* SPDX-License-Identifier: MIT */
/* weft/chan.h: channels, and select over them. */
#ifndef WEFT_CHAN_H
#define WEFT_CHAN_H

#include <weft/core.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the untyped functions under the macros, for other languages too. elem points to an element
   of the channel's size. A NULL channel is never ready: its length and capacity are 0. */
WEFT_API void *weft_chan_make(size_t elem_bytes, size_t cap, const char *where); /* N */
WEFT_API int weft_chan_send(void *ch, const void *elem);     /* B; 0 or -errno, closed: -EPIPE */
WEFT_API int weft_chan_recv(void *ch, void *elem);           /* B; 1, closed: 0, or -errno */
WEFT_API int weft_chan_try_send(void *ch, const void *elem); /* N; also -EAGAIN */
WEFT_API int weft_chan_try_recv(void *ch, void *elem);       /* N; also -EAGAIN */
WEFT_API int weft_chan_close(void *ch);                      /* N; 0, or -EPIPE if it was closed */
WEFT_API size_t weft_chan_len(const void *ch);               /* N */
WEFT_API size_t weft_chan_cap(const void *ch);               /* N */
WEFT_API void weft_chan_free(void *ch);                      /* N; NULL: nothing */

/* The same by the names of the macros below, for weft_defer(weft_free, ch). */
WEFT_API int weft_close(void *ch);        /* N */
WEFT_API size_t weft_len(const void *ch); /* N */
WEFT_API size_t weft_cap(const void *ch); /* N */
WEFT_API void weft_free(void *ch);        /* N */

/* ---- select */
enum weft_case_kind {
	WEFT_CASE_NEVER = 0,
	WEFT_CASE_RECV,
	WEFT_CASE_SEND,
	WEFT_CASE_DEFAULT,
	WEFT_CASE_AFTER,
	WEFT_CASE_READABLE,
	WEFT_CASE_WRITABLE,
};

struct weft_case {
	int kind_; /* enum weft_case_kind */
	void *chan_;
	void *elem_;
	union {
		int *ok_;     /* of a RECV */
		int64_t arg_; /* of the last three: nanoseconds, or a descriptor */
	};
};

/* The index of the case that fired, or -errno. */
WEFT_API int weft_selectv(struct weft_case *, int n); /* B */

#ifdef __cplusplus
}
#else

/*
 * weft_chan(T) is the type of a channel of T; the same T gives the same type everywhere. T is
 * unqualified and no array, and may be incomplete until weft_make. The type is never what the
 * pointer points to: it carries T to the checks.
 */
#define weft_chan(T) __typeof__(__typeof__(T) *(*)[])

/* N; a channel with room for cap elements, or NULL. */
#define weft_make(T, cap)                                                                          \
	((weft_chan(T))weft_chan_make(                                                             \
	    sizeof(__typeof__(T)[1]) +                                                             \
		WEFT_CHECK_(__builtin_types_compatible_p(                                          \
				__typeof__(T) *, __typeof__(((void)0, *(__typeof__(T) *)0)) *),    \
			    "weft_make: the element type must be unqualified and no array"),       \
	    cap, WEFT_WHERE_))

/* B and N; value... is anything that can initialise a T, {1, 2} too. 0, or -EPIPE if closed; the
   second also -EAGAIN. */
#define weft_send(ch, ...)     WEFT_SEND_CALL_(__COUNTER__, send, ch, __VA_ARGS__)
#define weft_try_send(ch, ...) WEFT_SEND_CALL_(__COUNTER__, try_send, ch, __VA_ARGS__)

/* B and N; the value goes to *p, or nowhere if p is NULL. 1 value, 0 closed and drained (*p is
   zeroed), or -errno; the second also -EAGAIN. */
#define weft_recv(ch, p)       WEFT_RECV_CALL_(__COUNTER__, recv, ch, p)
#define weft_try_recv(ch, p)   WEFT_RECV_CALL_(__COUNTER__, try_recv, ch, p)

/* N; the functions above, which take any pointer, for channels only. */
#define weft_close(ch)         WEFT_CHAN_CALL_(__COUNTER__, close, ch)
#define weft_len(ch)           WEFT_CHAN_CALL_(__COUNTER__, len, ch)
#define weft_cap(ch)           WEFT_CHAN_CALL_(__COUNTER__, cap, ch)
#define weft_free(ch)          WEFT_CHAN_CALL_(__COUNTER__, free, ch)

/*
 * B; weft_select(cases...) waits until one of its cases can go on, and returns its index, or
 * -errno. WEFT_RECV(ch, p) and WEFT_RECV(ch, p, ok) receive; ok is an
 * int *, set to 1 for a value and 0 for closed. The value of WEFT_SEND(ch, value...) lives to the
 * end of the block, that of WEFT_SEND_FROM(ch, p) as long as *p: use it for weft_selectv.
 */
#define weft_select(...)       WEFT_SELECT_(__COUNTER__, __VA_ARGS__)
#define WEFT_RECV(ch, ...)                                                                         \
	WEFT_FOURTH_(__VA_ARGS__, WEFT_RECV4_, WEFT_RECV3_, WEFT_RECV2_, )(ch, __VA_ARGS__)
#define WEFT_SEND(ch, ...)    WEFT_SEND_CASE_(__COUNTER__, ch, __VA_ARGS__)
#define WEFT_SEND_FROM(ch, p) WEFT_SEND_FROM_(__COUNTER__, ch, p)
#define WEFT_DEFAULT          ((struct weft_case){.kind_ = WEFT_CASE_DEFAULT})
#define WEFT_AFTER(ns)        ((struct weft_case){.kind_ = WEFT_CASE_AFTER, .arg_ = (ns)})
#define WEFT_READABLE(fd)     ((struct weft_case){.kind_ = WEFT_CASE_READABLE, .arg_ = (fd)})
#define WEFT_WRITABLE(fd)     ((struct weft_case){.kind_ = WEFT_CASE_WRITABLE, .arg_ = (fd)})

/* ---- how they are made */

#define WEFT_ELEM_(ch)                __typeof__(***(ch))
#define WEFT_FOURTH_(a, b, c, d, ...) d

/* 0, or an error that says why, inside an expression */
#define WEFT_CHECK_(ok, why)                                                                       \
	(0 * sizeof(struct {                                                                       \
		 _Static_assert(ok, why);                                                          \
		 char weft_;                                                                       \
	 }))

/* Is x, a variable, a T *(*)[]? What cannot be followed is replaced by something that can and is
   no channel, so that a wrong argument meets this check and not the stars. */
#define WEFT_IS_CHAN_(x)                                                                           \
	__builtin_types_compatible_p(__typeof__(x),                                                \
				     __typeof__(((void)0, *WEFT_FOLLOW_(*WEFT_FOLLOW_(x))))(*)[])
#define WEFT_IS_VOID_(x)                                                                           \
	(__builtin_types_compatible_p(__typeof__(x), void *) ||                                    \
	 __builtin_types_compatible_p(__typeof__(x), const void *))
#define WEFT_FOLLOW_(x)                                                                            \
	__builtin_choose_expr(__builtin_classify_type(x) == 5 && !WEFT_IS_VOID_(x), x, (char ***)0)

#define WEFT_IS_ELEM_(p, ch)                                                                       \
	(__builtin_types_compatible_p(__typeof__(p), WEFT_ELEM_(ch) *) ||                          \
	 __builtin_types_compatible_p(__typeof__(p), void *))

#define WEFT_CHAN_CALL_(n, f, ch) WEFT_CHAN_CALL2_(n, f, ch)
#define WEFT_CHAN_CALL2_(n, f, ch)                                                                 \
	__extension__({                                                                            \
		__auto_type weft_ch_##n = (ch);                                                    \
		_Static_assert(WEFT_IS_CHAN_(weft_ch_##n) || WEFT_IS_VOID_(weft_ch_##n),           \
			       "weft_" #f ": the argument must be a channel");                     \
		weft_chan_##f(weft_ch_##n);                                                        \
	})

#define WEFT_RECV_CALL_(n, f, ch, p) WEFT_RECV_CALL2_(n, f, ch, p)
#define WEFT_RECV_CALL2_(n, f, ch, p)                                                              \
	__extension__({                                                                            \
		__auto_type weft_ch_##n = (ch);                                                    \
		__auto_type weft_to_##n = (p);                                                     \
		_Static_assert(WEFT_IS_CHAN_(weft_ch_##n),                                         \
			       "weft_" #f ": the first argument must be a channel");               \
		_Static_assert(WEFT_IS_ELEM_(weft_to_##n, weft_ch_##n),                            \
			       "weft_" #f                                                          \
			       ": the pointer must point to the channel's element type");          \
		weft_chan_##f(weft_ch_##n, weft_to_##n);                                           \
	})

#define WEFT_SEND_CALL_(n, f, ch, ...) WEFT_SEND_CALL2_(n, f, ch, __VA_ARGS__)
#define WEFT_SEND_CALL2_(n, f, ch, ...)                                                            \
	__extension__({                                                                            \
		__auto_type weft_ch_##n = (ch);                                                    \
		_Static_assert(WEFT_IS_CHAN_(weft_ch_##n),                                         \
			       "weft_" #f ": the first argument must be a channel");               \
		WEFT_VALUE_(WEFT_ELEM_(weft_ch_##n), weft_value_##n, __VA_ARGS__);                 \
		weft_chan_##f(weft_ch_##n, &weft_value_##n);                                       \
	})

/* Fields that are left out are zero, as in any initialiser, and no reason for a warning. */
#define WEFT_VALUE_(T, name, ...)                                                                  \
	_Pragma("GCC diagnostic push")                                                             \
	    _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"") T name =            \
		__VA_ARGS__;                                                                       \
	_Pragma("GCC diagnostic pop")

/* The channel, and the place of its element, of a case */
#define WEFT_CASE_CHAN_(n, name, ch)                                                               \
	__extension__({                                                                            \
		__auto_type weft_ch_##n = (ch);                                                    \
		_Static_assert(WEFT_IS_CHAN_(weft_ch_##n),                                         \
			       name ": the first argument must be a channel");                     \
		(void *)weft_ch_##n;                                                               \
	})

#define WEFT_RECV2_(ch, p)     WEFT_RECV_CASE_(__COUNTER__, ch, p, (int *)0)
#define WEFT_RECV3_(ch, p, ok) WEFT_RECV_CASE_(__COUNTER__, ch, p, ok)
#define WEFT_RECV4_(...)                                                                           \
	((struct weft_case){.arg_ = WEFT_CHECK_(0, "WEFT_RECV: there is no fourth argument")})
#define WEFT_RECV_CASE_(n, ch, p, ok) WEFT_RECV_CASE2_(n, ch, p, ok)
#define WEFT_RECV_CASE2_(n, ch, p, ok)                                                             \
	((struct weft_case){                                                                       \
	    .kind_ = WEFT_CASE_RECV,                                                               \
	    .chan_ = WEFT_CASE_CHAN_(n, "WEFT_RECV", ch),                                          \
	    .elem_ = __extension__({                                                               \
		    __auto_type weft_to_##n = (p);                                                 \
		    _Static_assert(                                                                \
			WEFT_IS_ELEM_(weft_to_##n, ch),                                            \
			"WEFT_RECV: the pointer must point to the channel's element type");        \
		    (void *)weft_to_##n;                                                           \
	    }),                                                                                    \
	    .ok_ = __extension__({                                                                 \
		    __auto_type weft_ok_##n = (ok);                                                \
		    _Static_assert(__builtin_types_compatible_p(__typeof__(weft_ok_##n), int *) || \
				       WEFT_IS_VOID_(weft_ok_##n),                                 \
				   "WEFT_RECV: the third argument must be an int *");              \
		    weft_ok_##n;                                                                   \
	    })})

#define WEFT_SEND_CASE_(n, ch, ...) WEFT_SEND_CASE2_(n, ch, __VA_ARGS__)
#define WEFT_SEND_CASE2_(n, ch, ...)                                                               \
	((struct weft_case){.kind_ = WEFT_CASE_SEND,                                               \
			    .chan_ = WEFT_CASE_CHAN_(n, "WEFT_SEND", ch),                          \
			    .elem_ = (WEFT_ELEM_(ch)[1]){__extension__({                           \
				    WEFT_VALUE_(WEFT_ELEM_(ch), weft_value_##n, __VA_ARGS__);      \
				    weft_value_##n;                                                \
			    })}})

#define WEFT_SEND_FROM_(n, ch, p) WEFT_SEND_FROM2_(n, ch, p)
#define WEFT_SEND_FROM2_(n, ch, p)                                                                 \
	((struct weft_case){                                                                       \
	    .kind_ = WEFT_CASE_SEND,                                                               \
	    .chan_ = WEFT_CASE_CHAN_(n, "WEFT_SEND_FROM", ch),                                     \
	    .elem_ = __extension__({                                                               \
		    __auto_type weft_from_##n = (p);                                               \
		    _Static_assert(                                                                \
			__builtin_types_compatible_p(__typeof__(weft_from_##n),                    \
						     WEFT_ELEM_(ch) *) ||                          \
			    __builtin_types_compatible_p(__typeof__(weft_from_##n),                \
							 const WEFT_ELEM_(ch) *),                  \
			"WEFT_SEND_FROM: the pointer must point to the channel's element type");   \
		    (void *)(uintptr_t)weft_from_##n;                                              \
	    })})

#define WEFT_SELECT_(n, ...) WEFT_SELECT2_(n, __VA_ARGS__)
#define WEFT_SELECT2_(n, ...)                                                                      \
	__extension__({                                                                            \
		struct weft_case weft_cases_##n[] = {__VA_ARGS__};                                 \
		weft_selectv(weft_cases_##n,                                                       \
			     (int)(sizeof(weft_cases_##n) / sizeof(struct weft_case)));            \
	})

#endif /* __cplusplus */
#endif
