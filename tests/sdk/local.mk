# tests/sdk: the SDK from the registry against our daemon; not in `make check`,
# for it needs the network and the image of the base sandbox.
SDK_TEST = %D%/sdk.t
dist_check_SCRIPTS += $(SDK_TEST)
EXTRA_DIST += %D%/house.py %D%/run.py %D%/test_base.py %D%/test_files.py \
	%D%/test_sessions.py
check-sdk: all
	$(MAKE) check TESTS='$(SDK_TEST)'
.PHONY: check-sdk
