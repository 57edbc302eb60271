import links


def test_links_to_files_and_headings_are_followed(make_tree):
    root = make_tree({
        "README.md": "[a](docs/a.md) [b](docs/a.md#two-words) [c](#top) [d](https://x.y/z)\n# Top\n"
                     "`[code](nowhere.md)`\n```\n[more code](nowhere.md)\n```\n",
        "docs/a.md": "# Two words!\n[up](../README.md)\n"})
    assert links.check(root) == []


def test_a_link_that_leads_nowhere_is_named_with_its_line(make_tree):
    root = make_tree({"a.md": "\n[x](b.md)\n[y](#none)\n[z](a.md#none)\n", "c.txt": ""})
    assert links.check(root) == [
        "a.md:2: b.md leads nowhere", "a.md:3: #none: there is no such heading",
        "a.md:4: a.md#none: there is no such heading"]


def test_a_link_out_of_the_repository_leads_nowhere(make_tree):
    root = make_tree({"in/a.md": "[x](../../)\n"})
    assert links.check(root) == ["in/a.md:1: ../../ leads nowhere"]
