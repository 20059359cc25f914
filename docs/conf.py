"""The site: Sphinx, MyST Markdown, Furo. `make docs` builds it into .site; warnings are errors."""

import re
from pathlib import Path
from typing import Any

import lookalike

project = "lookalike"
author = "the lookalike authors"
version = release = lookalike.__version__
html_show_copyright = False

extensions = ["myst_parser", "sphinx_copybutton"]
exclude_patterns = ["data", "README.md"]

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3

python_display_short_literal_types = True
maximum_signature_line_length = 88
toc_object_entries = False
add_module_names = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_here_doc_delimiter = "EOF"

html_theme = "furo"
html_title = "lookalike"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_favicon = "_static/mark.svg"
html_theme_options = {
    "light_logo": "mark.svg",
    "dark_logo": "mark.svg",
    "light_css_variables": {"color-brand-primary": "#1c5d99", "color-brand-content": "#1c5d99"},
    "dark_css_variables": {"color-brand-primary": "#7fb8ea", "color-brand-content": "#7fb8ea"},
}
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
pygments_style = "friendly"
pygments_dark_style = "github-dark"


def list_the_rest(app: Any, page: str, source: list[str]) -> None:
    """In index.md, FOLDER/* stands for the pages of the folder that are not listed one by one."""
    if page == "index":
        source[0] = re.sub(
            r"^([a-z-]+)/\*$", lambda found: _unlisted(found[1], source[0]), source[0], flags=re.MULTILINE
        )


def _unlisted(folder: str, index: str) -> str:
    pages = sorted(f"{folder}/{path.stem}" for path in (Path(__file__).parent / folder).glob("*.md"))
    return "\n".join(page for page in pages if not re.search(rf"^(.*<)?{page}>?$", index, re.MULTILINE))


def setup(app: Any) -> None:
    app.connect("source-read", list_the_rest)
