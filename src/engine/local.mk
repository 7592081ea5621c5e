noinst_LIBRARIES += libengine.a
libengine_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
# A run, from a worker's line to the bytes for its readers: pure.
libengine_a_SOURCES = %D%/escape.c %D%/escape.h \
	%D%/event.c %D%/event.h %D%/feed.c %D%/feed.h %D%/line.c %D%/line.h \
	%D%/line_apply.c %D%/reply.c %D%/reply.h %D%/reply_native.c %D%/run_life.c \
	%D%/run.h %D%/run_int.h %D%/run_say.c %D%/usage.c %D%/usage.h
# The agents that are offered.
libengine_a_SOURCES += %D%/call.c %D%/call.h %D%/ask_native.c %D%/ask_native.h %D%/box.c %D%/box.h %D%/code.c %D%/code.h \
	%D%/deploy.c %D%/deps.c %D%/deps.h %D%/deployment_run.c %D%/deployment.h %D%/deployment_info.c %D%/engine_life.c \
	%D%/engine.h %D%/fleet.c %D%/inner.h %D%/package.c %D%/package.h \
	%D%/ring.c %D%/ring.h %D%/spec.c %D%/spec.h %D%/worker_life.c \
	%D%/worker.h %D%/worker_int.h %D%/worker_line.c

# The package of Python agents, inside the program; the same files, the same
# bytes.
libengine_a_CPPFLAGS += -DPACKAGE_TAR='"$(abs_top_builddir)/src/engine/package.tar"'
CLEANFILES += %D%/package.tar
%D%/package.tar: $(HUTCH_AGENT) $(HUTCH_AGENT_ADAPTERS)
	$(AM_V_GEN)$(MKDIR_P) %D% && tar --sort=name --mtime=@0 --owner=0 \
		--group=0 --numeric-owner --mode=u=rwX,go=rX --format=ustar \
		--exclude=__pycache__ --exclude=local.mk -C $(srcdir)/rootfs \
		-cf $@.tmp hutch_agent && mv -f $@.tmp $@
%D%/libengine_a-package.$(OBJEXT): %D%/package.tar
# What AG-UI and A2A ask, and how they are answered.
libengine_a_SOURCES += %D%/a2a_part.c %D%/a2a_part.h %D%/a2a_shape.c \
	%D%/a2a_shape.h %D%/agui.h %D%/ask_a2a.c %D%/ask_a2a.h %D%/ask_agui.c \
	%D%/ask_agui.h %D%/ask_media.c %D%/ask_media.h %D%/invalid.c \
	%D%/invalid.h %D%/part_json.c %D%/part_json.h %D%/reply_a2a.c %D%/reply_a2a.h %D%/reply_agui.c \
	%D%/reply_agui.h %D%/reply_agui_part.c %D%/reply_mcp.c \
	%D%/reply_mcp.h

# OpenAI's two protocols: requests in, events out.
libengine_a_SOURCES += %D%/ask.c %D%/ask.h %D%/ask_chat.c %D%/ask_items.c \
	%D%/ask_parts.c %D%/ask_responses.c %D%/openai.c %D%/openai.h %D%/pick.c %D%/pick.h \
	%D%/reply_chat.c %D%/reply_chat.h %D%/reply_responses.c \
	%D%/reply_responses.h %D%/responses_int.h %D%/responses_item.c \
	%D%/responses_item.h %D%/responses_stream.c
# The agent without code: a model's words, tools in a sandbox.
libengine_a_SOURCES += %D%/builtin.c %D%/builtin.h %D%/builtin_history.c \
	%D%/services_history.c %D%/trace.c %D%/trace.h %D%/completion.c \
	%D%/completion.h %D%/model_client.c %D%/model_client.h %D%/push.c %D%/push.h %D%/react_do.c \
	%D%/react.h %D%/react_int.h %D%/react_say.c %D%/sse_in.c %D%/sse_in.h %D%/talk.c %D%/talk.h \
	%D%/toolbox.c %D%/toolbox.h
# What agents keep.
libengine_a_SOURCES += %D%/services.h %D%/services_ask.c %D%/services_box.c \
	%D%/services_int.h %D%/services_life.c
