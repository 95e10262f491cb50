"""Audit: is an agent's uncertainty right, compared with what happens?"""

from surefoot.audit.run import Audit, Config, audit

__all__ = ["Audit", "Config", "audit"]
