dist_check_SCRIPTS = %D%/floors %D%/sizes
TESTS += %D%/floors %D%/sizes
EXTRA_DIST += %D%/format
