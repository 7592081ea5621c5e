# tests/api
