noinst_LIBRARIES += libengine.a
libengine_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
# A run, from a worker's line to the bytes for its readers: pure.
libengine_a_SOURCES = %D%/escape.c %D%/escape.h \
	%D%/event.c %D%/event.h %D%/feed.c %D%/feed.h %D%/line.c %D%/line.h \
	%D%/line_apply.c %D%/reply.c %D%/reply.h %D%/reply_native.c %D%/run_life.c \
	%D%/run.h %D%/run_int.h %D%/run_say.c %D%/usage.c %D%/usage.h
# The agents that are offered.
libengine_a_SOURCES += %D%/deployment.h %D%/engine.c %D%/engine.h
# What AG-UI and A2A ask, and how they are answered.
libengine_a_SOURCES += %D%/a2a_part.c %D%/a2a_part.h %D%/a2a_shape.c \
	%D%/a2a_shape.h %D%/agui.h %D%/ask_a2a.c %D%/ask_a2a.h %D%/ask_agui.c \
	%D%/ask_agui.h %D%/ask_media.c %D%/ask_media.h %D%/invalid.c \
	%D%/invalid.h %D%/reply_a2a.c %D%/reply_a2a.h %D%/reply_agui.c \
	%D%/reply_agui.h %D%/reply_agui_part.c

# OpenAI's two protocols: requests in, events out.
libengine_a_SOURCES += %D%/ask.c %D%/ask.h %D%/ask_chat.c %D%/ask_items.c \
	%D%/ask_parts.c %D%/ask_responses.c %D%/openai.c %D%/openai.h %D%/pick.c %D%/pick.h \
	%D%/reply_chat.c %D%/reply_chat.h %D%/reply_responses.c \
	%D%/reply_responses.h %D%/responses_int.h %D%/responses_item.c \
	%D%/responses_item.h %D%/responses_stream.c
