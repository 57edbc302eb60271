import format as formatting


def test_a_file_that_is_not_formatted_is_named(make_tree):
    root = make_tree({".clang-format": "BasedOnStyle: Google\n", "a.cc": "int x   =1;\n",
                      "b.cc": "int x = 1;\n"})
    assert formatting.check(root) == ["a.cc: not formatted; run ./dev fmt"]
