"""Sphinx's configuration for the guide; tools/guide.py runs it."""

project = "Stele"
author = "The authors of Stele"
copyright = author  # noqa: A001 (Sphinx's name for it)
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "Stele: the guide"
html_show_copyright = html_show_sphinx = html_copy_source = html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["guide.css"]
exclude_patterns = ["README.md"]


def setup(app):
    from pygments.lexers.sql import PostgresLexer  # which knows dollar quotes

    app.add_lexer("sql", PostgresLexer)
