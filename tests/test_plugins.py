"""Passes, operators and backends of other packages are found through their entry points."""

import subprocess
import sys

PLUGIN = """
from forge_ugc.passes.base import GraphPass, PassResult, graph_pass

@graph_pass("from-outside")
class FromOutside(GraphPass):
    def run(self, graph_module, options):
        return PassResult(changed=0)
"""
SHOW = "from forge_ugc.passes.base import registered; print('from-outside' in registered())"


def install(folder, module):
    info = folder / "outside-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[forge_ugc.plugins]\noutside = {module}\n")
    (folder / "outside_passes.py").write_text(PLUGIN)


def run(folder, code):
    path = f"import sys; sys.path.insert(0, {str(folder)!r}); "
    return subprocess.run([sys.executable, "-c", path + code], capture_output=True, text=True)


def test_a_pass_of_another_package_is_registered(tmp_path):
    install(tmp_path, "outside_passes")
    shown = run(tmp_path, SHOW)
    assert shown.stdout == "True\n", shown.stderr


def test_a_plugin_that_cannot_be_imported_is_named(tmp_path):
    install(tmp_path, "not_there")
    shown = run(tmp_path, SHOW)
    assert "the plugin 'outside' (not_there) cannot be imported" in shown.stderr
    assert "No module named 'not_there'" in shown.stderr
