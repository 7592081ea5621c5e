dist_check_SCRIPTS += %D%/floors %D%/sizes
TESTS += %D%/floors %D%/sizes
EXTRA_DIST += %D%/leakcheck %D%/bootstrap %D%/check \
	%D%/demo %D%/demo-client %D%/common.sh %D%/format \
	%D%/sdk-python tests/sdk/requirements.txt
EXTRA_DIST += %D%/fuzz
