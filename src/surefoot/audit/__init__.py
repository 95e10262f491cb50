"""Audit: whether an agent's uncertainty is right, compared with what happens."""

from surefoot.audit.run import Audit, Config, audit

__all__ = ["Audit", "Config", "audit"]
