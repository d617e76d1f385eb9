import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinity.rewards.extract import program_in


@pytest.mark.parametrize(
    ("text", "function", "program"),
    [
        ("x\n```python\nprint(1)\n```\nrun:\n```bash\npython a.py\n```", None, "print(1)"),
        ("```\nprint(1)\n```\noutput\n```\n3\n```", None, "print(1)"),
        ("```python\ndef f(): pass\n```\ntests\n```python\nassert f()\n```", "f", "def f(): pass"),
        ("```python\nprint(1)", None, "print(1)"),
        ("~~~python\nprint(1)\n~~~", None, "print(1)"),
        ("1. code\n   ```python\n   x=1\n   if x:\n       print(1)\n   ```", None, "x=1\nif x:\n    print(1)"),
        ("```python\r\nprint(1)\r\n```\r\n", None, "print(1)"),
        ("````python\ns='''\n```\n'''\nprint(s)\n````", None, "s='''\n```\n'''\nprint(s)"),
        ("````markdown\nhi\n```python\nprint(1)\n```\n````", None, "print(1)"),
        ("print(1)", None, "print(1)"),
        ("just prose here", None, ""),
        ("hello", None, ""),
        ("42", None, ""),
        ("x = 1\nprint(x)", None, "x = 1\nprint(x)"),
        ("Here: ```python\nprint(1)\n```", None, "print(1)"),
        ("```python\nprint(1)```", None, "print(1)"),
        ("```cpp\nint main(){}\n```", None, ""),
        ("```Python3\nprint(1)\n```", None, "print(1)"),
        ("``` python\nprint(1)\n```", None, "print(1)"),
        (
            "```python\nclass Solution:\n    def f(self): pass\n```\n"
            "Complexity: `O(n)`\n```python\nprint(Solution().f())\n```",
            "f",
            "class Solution:\n    def f(self): pass",
        ),
        (
            '```python\ndef f():\n    """\n    ```\n    x\n    ```\n    """\n    return 1\n```',
            "f",
            'def f():\n    """\n    ```\n    x\n    ```\n    """\n    return 1',
        ),
        ("```text\nfoo\n```", None, ""),
        ("", None, ""),
        ("```\n```", None, ""),
        ("```python\nprint(1) ```", None, "print(1)"),
        ("> ```python\n> if x:\n>     print(1)\n>\n> ```\nSo.", None, "if x:\n    print(1)\n"),
        ("> > ```python\n> > print(1)\n> > ```", None, "print(1)"),
        ("> - ```python\n>   print(1)\n>   ```", None, "print(1)"),
        ("> Run this:\n\n```python\nprint(1 > 0)\n```", None, "print(1 > 0)"),
    ],
)
def test_robust(text: str, function: str | None, program: str) -> None:
    assert program_in(text, "robust", function) == program


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("print(1)", ""),
        ("```python\nprint(1)", ""),
        ("```python\nprint(1)\n```", "print(1)"),
        ("```python\nprint(1)\n```\n```\n3\n```", "3"),
        ("~~~\nprint(1)\n~~~", ""),
    ],
)
def test_official_is_what_stands_between_the_last_two_fences(text: str, program: str) -> None:
    assert program_in(text, "official") == program


@given(st.text(alphabet="ab =(){}\n\t#'\"", max_size=60), st.sampled_from(["```", "````", "~~~"]))
def test_a_tagged_block_comes_back_as_it_was(program: str, fence: str) -> None:
    assert program_in(f"So:\n{fence}python\n{program}\n{fence}\nDone.", "robust") == program


@pytest.mark.parametrize(
    "piece",
    [
        "```",
        "```\n",
        "````\n```\n",
        "`",
        "~~~\n",
        " ",
        "> ",
        "-(",
        "```python\n",
        "a`",
        "a```",
        "a``` x\n",
        "> ```\n",
        "> ```\n> a\n",
    ],
)
def test_a_megabyte_is_read_in_linear_time(piece: str) -> None:
    text = piece * (10**6 // len(piece))
    started = time.process_time()
    program_in(text, "robust", "f")
    assert time.process_time() - started < 5
