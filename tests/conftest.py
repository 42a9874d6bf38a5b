"""Settings shared by all tests."""

from hypothesis import HealthCheck, settings

# A build fails for everyone or no one: the same examples each time, on any machine.
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ci")
