from html.parser import HTMLParser

from forge_ugc.evaluation.page import Section, TextTable, render_page


class Seen(HTMLParser):
    """Elements that are open, attributes that lead elsewhere, and the text of cells."""

    def __init__(self):
        super().__init__()
        self.open, self.links, self.cells = [], [], []

    def handle_starttag(self, tag, attributes):
        if tag not in {"meta", "link", "img"}:
            self.open.append(tag)
        self.links += [v for k, v in attributes if k in {"src", "href"}]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in {"td", "th"}:
            self.cells.append(data)


def test_a_page_is_whole_and_needs_nothing_else():
    table = TextTable(title="T", heads=("engine", "s"), rows=(("a<b>", "1"), ("why", "x" * 50)))
    sections = [
        Section(title="One", text=("it & that",), tables=(table,)),
        Section(title="Two", figures=("<svg></svg>",)),
    ]
    text = render_page("Results <1>", {"cpu": "A & B"}, sections)
    seen = Seen()
    seen.feed(text)
    assert seen.open == []
    assert seen.cells == ["engine", "s", "a<b>", "1", "why", "x" * 50]
    assert seen.links == ["#s1", "#s2"]
    assert "it &amp; that" in text
    assert "cpu: A &amp; B" in text
    assert "<title>Results &lt;1&gt;</title>" in text
    assert "<figure><svg></svg></figure>" in text
    assert "<script" not in text


def test_a_single_section_needs_no_list_of_them():
    assert "<nav>" not in render_page("t", {}, [Section(title="One")])
