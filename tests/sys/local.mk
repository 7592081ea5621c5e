# tests/sys
