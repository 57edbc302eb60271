import summary

GTEST_XML = """<testsuites><testsuite name="A">
<testcase name="Passes" status="run" result="completed" classname="A"/>
<testcase name="Skips" status="run" result="skipped" classname="A">
<skipped message="/x/y.cc:2&#x0A;no root here"/></testcase>
<testcase name="DISABLED_Off" status="notrun" result="suppressed" classname="A"/>
</testsuite></testsuites>"""
GTEST_JSON = """{"testsuites": [{"name": "B", "testsuite": [
{"name": "Passes", "status": "RUN", "result": "COMPLETED"},
{"name": "Fails", "status": "RUN", "result": "COMPLETED", "failures": [{"failure": "x"}]},
{"name": "Skips", "status": "RUN", "result": "SKIPPED"}]}]}"""
PYTEST_XML = """<testsuites><testsuite name="pytest">
<testcase classname="tests.e2e.test_x" name="test_a[1]"/>
<testcase classname="tests.e2e.test_x" name="test_b"><skipped message="no runc"/></testcase>
<testcase classname="tests.e2e.test_x" name="test_c"><error message="boom"/></testcase>
</testsuite></testsuites>"""


def run(capsys, folder, *arguments):
    code = summary.main([str(folder), *arguments])
    return code, capsys.readouterr().out.splitlines()


def test_a_run_without_failures_or_skips_passes(make_tree, capsys):
    root = make_tree({"a.xml": '<testsuites><testsuite><testcase classname="A" name="x"/>'
                               "</testsuite></testsuites>"})
    assert run(capsys, root) == (0, ["1 passed, 0 failed, 0 skipped"])


def test_failures_fail_and_are_named(make_tree, capsys):
    code, lines = run(capsys, make_tree({"b.json": GTEST_JSON, "p.xml": PYTEST_XML}))
    assert code == 1
    assert "failed: B.Fails" in lines and "failed: tests.e2e.test_x.test_c" in lines
    assert lines[-1] == "2 passed, 2 failed, 2 skipped"


def test_a_skip_that_nobody_expects_fails_with_its_reason(make_tree, capsys):
    code, lines = run(capsys, make_tree({"a.xml": GTEST_XML}))
    assert code == 1
    assert "skipped (unexpected): A.Skips: no root here" in lines
    assert "skipped (unexpected): A.DISABLED_Off: disabled" in lines


def test_expected_skips_pass(make_tree, capsys):
    root = make_tree({"r/a.xml": GTEST_XML, "skips.txt": "# known\nA.Skips  # needs root\nA.DIS*\n"})
    code, lines = run(capsys, root / "r", "--expected-skips", str(root / "skips.txt"))
    assert code == 0
    assert lines[-1] == "1 passed, 0 failed, 2 skipped"


def test_no_results_are_a_failure(tmp_path, capsys):
    code, lines = run(capsys, tmp_path / "none")
    assert code == 1 and lines[-1] == "0 passed, 1 failed, 0 skipped"


def test_a_crash_and_a_broken_result_are_failures(make_tree, capsys):
    root = make_tree({"a.crash": "a_test ended with status 139\n", "b.xml": "<testsuites><tes"})
    code, lines = run(capsys, root)
    assert code == 1
    assert "failed: a_test ended with status 139" in lines
    assert lines[-1] == "0 passed, 2 failed, 0 skipped"
