"""What is appended of a reply (spec section 4.5): the reply itself, its middle cut when it is too long."""


def cap(text: str, max_chars: int) -> str:
    """The text, or its head and tail around a mark that says how much was cut, in at most `max_chars` characters.

    Grading never sees this: it reads the reply as it came. The cut is made when an output is appended and never
    later, so that a transcript only grows at its end.
    """
    text = text.strip()
    if len(text) <= max_chars:
        return text
    room = max_chars - len(_mark(len(text)))
    head = room - room // 2
    tail = room // 2
    return text[:head] + _mark(len(text) - head - tail) + text[len(text) - tail :]


def _mark(cut: int) -> str:
    return f"\n[... {cut} characters cut ...]\n"
