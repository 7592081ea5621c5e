# hutch_agent by itself: workers that are spoken to by lines; no root.
EXTRA_DIST += tests/lib/agentworker.py
dist_check_SCRIPTS += %D%/worker.t %D%/endpoints.t %D%/services.t %D%/example.t %D%/adapters.t
TESTS += %D%/worker.t %D%/endpoints.t %D%/services.t %D%/example.t %D%/adapters.t
