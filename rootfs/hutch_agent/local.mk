# The Python package of agents: plain files, no build step.
HUTCH_AGENT = %D%/__init__.py %D%/__main__.py %D%/aio.py %D%/app.py \
	%D%/endpoint.py %D%/errors.py %D%/events.py %D%/frameworks.py \
	%D%/http.py %D%/load.py %D%/log.py %D%/openapi.py %D%/program.py \
	%D%/request.py %D%/run.py %D%/services.py %D%/stream.py \
	%D%/upstream.py %D%/wire.py %D%/worker.py
HUTCH_AGENT_ADAPTERS = %D%/adapters/__init__.py %D%/adapters/agentscope.py \
	%D%/adapters/agentscope2.py %D%/adapters/agno.py \
	%D%/adapters/autogen.py %D%/adapters/inputs.py %D%/adapters/lane.py \
	%D%/adapters/langgraph.py %D%/adapters/media.py \
	%D%/adapters/ms_agent_framework.py %D%/adapters/native.py \
	%D%/adapters/text.py %D%/adapters/usage.py
hutch_agentdir = $(pkgdatadir)/hutch_agent
dist_hutch_agent_DATA = $(HUTCH_AGENT)
hutch_agent_adaptersdir = $(pkgdatadir)/hutch_agent/adapters
dist_hutch_agent_adapters_DATA = $(HUTCH_AGENT_ADAPTERS)
