"""Tests. A package, so that processes that a test starts find its functions before anybody else's `tests`."""
