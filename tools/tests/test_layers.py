import layers

TABLE = "base : -\nhttp : base\nrouter : base http\nrouter/*_plan.* : base\nprograms : base http router\n"


def test_an_edge_of_the_table_is_fine(make_tree):
    root = make_tree({"tools/layers.txt": TABLE,
                      "src/http/a.h": '#include "base/x.h"\n#include "http/b.h"\n#include <map>\n'})
    assert layers.check(root) == []


def test_an_edge_that_is_not_in_the_table_is_named_with_its_line(make_tree):
    root = make_tree({"tools/layers.txt": TABLE, "src/http/a.cc": '\n#include "router/x.h"\n'})
    assert layers.check(root) == ["src/http/a.cc:2: http may not include router/"]


def test_a_pattern_narrows_what_a_folder_may(make_tree):
    root = make_tree({"tools/layers.txt": TABLE, "src/router/a_plan.h": '#include "http/x.h"\n'})
    assert layers.check(root) == ["src/router/a_plan.h:1: router may not include http/"]


def test_tests_may_include_every_library_but_no_program(make_tree):
    root = make_tree({"tools/layers.txt": TABLE,
                      "src/base/a_test.cc": '#include "router/x.h"\n#include "programs/y.h"\n'})
    assert layers.check(root) == ["src/base/a_test.cc:2: base may not include programs/"]


def test_a_cycle_is_found(make_tree):
    root = make_tree({"tools/layers.txt": "a : b\nb : c\nc : a\n"})
    assert layers.check(root) == ["tools/layers.txt: a cycle: a -> b -> c -> a"]


def test_a_folder_without_a_line_is_found(make_tree):
    root = make_tree({"tools/layers.txt": TABLE, "src/util/a.h": ""})
    assert layers.check(root) == ["src/util/a.h: the folder util is not in tools/layers.txt"]


def test_what_cmake_links_is_held_to_the_table(make_tree):
    root = make_tree({"tools/layers.txt": TABLE,
                      "CMakeLists.txt": "agenttier_library(base DEPS http LIBS fmt::fmt)\n"
                                        "agenttier_library(http DEPS base LIBS ssl)\n"})
    assert layers.check(root) == ["CMakeLists.txt: base may not depend on http"]

