"""The visible text of HTML pages, in files and in web archives."""

from __future__ import annotations

from functools import partial

from lookalike.errors import MissingExtra
from lookalike.io.files import wide_encoding


def require_web(what: str) -> None:
    """Raise MissingExtra unless the packages that read HTML and web archives are installed."""
    try:
        import fastwarc.warc  # noqa: F401
        import resiliparse  # noqa: F401
    except ImportError as error:
        raise MissingExtra(what, "web") from error


def text_of_html(content: bytes, charset: str | None) -> bytes:
    """Return the visible text in UTF-8, with a line for each paragraph. Styles are not applied.

    charset: None for the one that the page states.

    >>> text_of_html(b"<title>T</title><script>var x</script><p>An <b>apple</b></p><p>a day</p>", None).split()
    [b'An', b'apple', b'a', b'day']
    """
    from resiliparse.extract.html2text import extract_plain_text

    page = decoded(content, charset, html=True)
    text = extract_plain_text(page, preserve_formatting=True, skip_elements=["[hidden]"])
    return str(text).encode("utf-8", "replace")


def decoded(content: bytes, charset: str | None, *, html: bool = False) -> str:
    """Decode a page. charset: None, or a name that is no encoding, for the one that the page states or that fits."""
    from resiliparse.parse.encoding import bytes_to_str, detect_encoding

    charset = charset or wide_encoding(content[:4])
    detected = partial(detect_encoding, content, from_html_meta=html)
    try:
        return str(bytes_to_str(content, charset or detected() or "utf-8", errors="replace"))
    except LookupError:
        return str(bytes_to_str(content, detected() or "utf-8", errors="replace"))
