"""The option --allow: the title of the answer that allows once, from the tests in Rust."""
import pytest


def pytest_addoption(parser):
    parser.addoption("--allow", required=True)


@pytest.fixture
def allow(request):
    return request.config.getoption("--allow")
