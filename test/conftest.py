"""The settings of hypothesis for every test: what fails on a machine that is busy says nothing about the code."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "any-machine",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("any-machine")
