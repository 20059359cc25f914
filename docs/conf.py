"""The site: Sphinx, MyST Markdown, Furo. `make docs` builds it into .site; warnings are errors."""

import lookalike

project = "lookalike"
author = "the lookalike authors"
version = release = lookalike.__version__
html_show_copyright = False

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["data", "README.md"]
templates_path: list[str] = []

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings: list[str] = []

default_role = "code"  # docstrings write `names` as Markdown does
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_use_legacy_class_based = False
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
pygments_style = "friendly"
pygments_dark_style = "github-dark"
