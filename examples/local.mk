exampledir = $(docdir)/examples
dist_example_DATA = %D%/agent.py
