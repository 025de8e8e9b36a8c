import pathlib
import warnings

import app
from app import config, report, server

TEXT = "host = far\n# no setting\nport=8080\n"
EXPECTED = {"host": "far", "port": "8080"}

assert config.load_settings(TEXT) == EXPECTED
assert app.load_settings(TEXT) == EXPECTED
assert report.report(TEXT) == ["host: far", "port: 8080"]
assert server.address(TEXT) == ("far", 8080)

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert config.load_cfg(TEXT) == EXPECTED
kinds = [warning.category for warning in caught]
assert kinds == [DeprecationWarning], kinds

for path in pathlib.Path("app").glob("*.py"):
    text = path.read_text()
    if path.name == "config.py":
        assert text.count("load_cfg(") <= 2, "config.py uses the old name itself"
    else:
        assert "load_cfg" not in text, f"{path} still has the old name"
