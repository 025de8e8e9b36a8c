"""The title of the answer that allows once, as the tests in Rust know it."""
import pytest


def pytest_addoption(parser):
    parser.addoption("--allow", required=True)


@pytest.fixture
def allow(request):
    return request.config.getoption("--allow")
