"""Pairs of reference and answer that mean the same, and pairs that do not, by kind of difference."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinity.rewards.maths.equality import equal_answers

SAME = r"""
1/2 ## 0.5
x=5 ## 5
5 ## x=5
x \in [-2,7] ## [-2,7]
-2 \le x \le 7 ## x \in [-2,7]
[-2,7] ## -2 \leq x \leq 7
(2,\infty) ## x > 2
x>2 ## (2, \infty)
(-\infty, 2) \cup (3, \infty) ## x<2 \text{ or } x>3
x \ne 3 ## (-\infty,3)\cup(3,\infty)
\mathbb{R} ## (-\infty,\infty)
\mathbb{R} \setminus \{3\} ## (-\infty,3)\cup(3,\infty)
1 \pm \sqrt{19} ## 1+\sqrt{19}, 1-\sqrt{19}
1 \pm \sqrt{19} ## x = 1 - \sqrt{19} \text{ or } x = 1 + \sqrt{19}
\{1\pm\sqrt{5},-2\} ## -2, 1+\sqrt5, 1-\sqrt5
y = 2x + 3 ## 2x+3
y = 2x + 3 ## y=3+2x
y = 2x + 3 ## 2x - y + 3 = 0
5x - 7y + 11z + 4 = 0 ## -5x+7y-11z=4
\begin{pmatrix} -2 \\ -14 \\ -7 \end{pmatrix} ## \begin{bmatrix} -2 \\ -14 \\ -7 \end{bmatrix}
\begin{pmatrix} -2 \\ -14 \\ -7 \end{pmatrix} ## (-2,-14,-7)
\begin{pmatrix} -1/3 \\ 2/3 \\ 5/3 \end{pmatrix} ## \frac{1}{3}\begin{pmatrix} -1 \\ 2 \\ 5 \end{pmatrix}
90^\circ ## 90
90^\circ ## 90 \text{ degrees}
90 ## 90°
\frac{270}7\text{ degrees} ## \frac{270}{7}^\circ
\$18.90 ## 18.90
\$18.90 ## 18.9 \text{ dollars}
\$36 ## 36 dollars
15\mbox{ cm}^2 ## 15 \text{ cm}^2
15\mbox{ cm}^2 ## 15
864 \mbox{ inches}^2 ## 864 \text{ square inches}
5.4 \text{ cents} ## 5.4
10,\!080 ## 10080
10,\!080 ## 10,080
58,500 ## 58500
11,\! 111,\! 111,\! 100 ## 11111111100
1\frac{4}{5} ## 9/5
137 \frac{1}{2} ## 137.5
.0000672 ## 6.72 \times 10^{-5}
.0000672 ## 6.72e-5
2516_8 ## 2516_{8}
2516_8 ## 2516
4210_{5} ## 4210_5
\text{(C)} ## C
\text{(C)} ## (C)
\text{(C)} ## \text{C}
\text{(C)} ## C)
\text{Evelyn} ## evelyn
\text{east} ## East
\text{ellipse} ## \text{an ellipse}
\cot x ## \frac{\cos x}{\sin x}
\cot x ## \frac{1}{\tan x}
x^8 + x^7 + x^6 + x^5 + x^4 + x^3 + x^2 + x + 1 ## \frac{x^9-1}{x-1}
(a+5)(b+2) ## ab+2a+5b+10
p - q ## -q+p
0.333333 ## 333333/1000000
\frac{1}{3} ## 0.\overline{3}
(11,7)or(7,11) ## (7,11),\ (11,7)
7:32 ## 14:64
7:32 ## 7/32
3:15 ## 3:15 \text{ p.m.}
1,-2 ## x=-2, x=1
(1,-2) ## x=1, y=-2
(1,-2) ## y=-2, x=1
x=1, y=-2 ## y=-2, x=1
28\% ## 28
28\% ## 0.28
28 ## 28\%
\sqrt{2} ## \frac{2}{\sqrt{2}}
\sqrt{2}+\sqrt{3} ## \sqrt{5+2\sqrt{6}}
6+9i ## 9i+6
e^{i\pi} ## -1
\infty ## +\infty
\frac{\pi}{6} ## \pi/6
1000 ## 10^3
\frac{20000}{\pi} ## 20000/π
\log_2 3 ## \frac{\ln 3}{\ln 2}
1 \text{ m} ## 100 \text{ cm}
60 \text{ miles per hour} ## 60 \text{ mi/h}
\{1,2,3\} ## 3,2,1
\{1,2,3\} ## {1, 2, 3}
\{5\} ## 5
1,2 ## 1 and 2
2,4 ## 2 \text{ and } 4
\emptyset ## \{\}
\text{no solution} ## \emptyset
f(x)=x^2 ## x^2
f(x)=x^2 ## y=x^2
x+1 ## 1+x
n! ## n(n-1)!
2^{10} ## 1024
\left[ \frac{\pi^2}{8}, \frac{5 \pi^2}{4} \right] ## [\pi^2/8, 5\pi^2/4]
x^2+y^2=1 ## x^2+y^2-1=0
y=\frac{1}{x} ## xy=1
y > 2x+3 ## 2x - y + 3 < 0
0<x<12.5 ## (0,12.5)
(0,12.5) ## 0<x<12.5
0<x<12.5 ## x \in (0,12.5)
3, 5, 7 ## 7,5,3
\frac43 ## 1\frac13
\frac{17}{50} ## 34\%
0.15 ## 15\%
100,200,300 ## 100, 200, 300
\text{Monday} ## Monday
2x > 4 ## x > 2
\frac{x}{2}+1 ## 0.5x+1
x \geq 5 ## 5 \leq x
\sum_{k=1}^{10} k ## 55
9.5 ## 9.50
\pi ## \pi \approx 3.14
3.14 ## \pi \approx 3.14
A=\pi r^2 ## \pi r^2
1+2i ## 2i + 1
\text{Yes} ## yes
4 \text{ units} ## 4
\frac{1}{2} \text{ hour} ## 30 \text{ minutes}
16\pi \text{ square units} ## 16\pi
x = 3, -3 ## \pm 3
\pm 3 ## -3, 3
5\sqrt{3} ## 5√3
1e-3 ## 0.001
\dfrac{1}{2} ## \tfrac12
\$3.50 ## 350 \text{ cents}
1234 ## 1,234
(1000, 2000) ## (1,000, 2,000)
\langle 1, 2, 3 \rangle ## (1,2,3)
\frac{a}{b+c} ## a/(b+c)
-\frac{1}{2} ## \frac{-1}{2}
-\frac{1}{2} ## -0.5
\overline{AB} ## \overline{AB}
x^{3/2} ## x\sqrt{x}
\lfloor 3.7 \rfloor ## 3
2^{2005} ## 2^{2005}
2k+2 ## 2(k+1)
a^{-1} ## \frac{1}{a}
12 \text{ noon} ## 12
\text{Thursday} ## Thursday.
\text{2, 3} ## 3,2
5 \text{ feet} ## 5 ft
3 \text{ m} ## 3 m
3 \text{ m} ## 3\text{m}
9.8 \text{ m/s}^2 ## 9.8 m/s^2
5 ## 5 m
\text{odd} ## odd
x\le 5 ## (-\infty,5]
\left(\frac{3}{5},\frac{8}{3}\right] ## \frac35 < x \le \frac83
2,3 ## x_{1}=2, x_{2}=3
x_1=2,x_2=3 ## 3, 2
(1,2) ## \left\{\begin{array}{l}x=1\\y=2\end{array}\right.
\begin{cases} x = 1 \\ y = 2 \end{cases} ## x=1, y=2
5500 \mathrm{~km} ## 5.5 \times 10^{3}\mathrm{~km}
1\frac{11}{27} ## \frac{38}{27}
\frac{\sqrt{3}}{2}R^2 ## \frac{R^2\sqrt3}{2}
x \in\{1,2\} ## \{1,2\}
x \in\{1,2\} ## x=1 \text{ or } x=2
\mathbf{111} ## 111
15^\circ ## 15^{\circ}
3\text{ hours} ## 3
10.0\% ## 10\%
\text{Cannot be determined} ## cannot be determined
k=1, l=-3 ## l=-3, k=1
\overrightarrow{AB} ## \overrightarrow{AB}
8 \text{ hours } 30 \text{ minutes} ## 8.5 \text{ hours}
a^2+b^2 ## b^{2}+a^{2}
x>1 \text{ and } x<5 ## (1,5)
1<x<5 ## x>1, x<5
-1<x\le 2 ## (-1,2]
(-\infty,-1)\cup(-1,\infty) ## x\neq -1
\frac{1}{x+1}, x \ne -1 ## \frac{1}{1+x}, x\neq -1
2+3i, 2-3i ## 2\pm 3i
\log 2 ## \log 2
2 \sin 30^\circ ## 1
\arcsin\frac12 ## \frac{\pi}{6}
\tan^{-1} 1 ## \pi/4
4\sqrt{2} ## \sqrt{32}
\sqrt[3]{4} ## 4^{1/3}
\frac{-3 \pm \sqrt{5}}{2} ## \frac{-3+\sqrt5}{2}, \frac{-3-\sqrt5}{2}
\text{A} ## A
A, C ## \text{A and C}
A, B ## B, A
\text{A, C} ## C, A
\text{Monday, Tuesday} ## Tuesday and Monday
\text{(A)}, \text{(B)} ## (B), (A)
6 \text{ feet } 2 \text{ inches} ## 6 \text{ feet } 2 \text{ inches}
1.0 ## 1
007 ## 7
1{,}000{,}000 ## 10^6
one ## one
50\text{ cents} ## \$0.50
20 \text{ mph} ## 20 \text{ miles per hour}
\frac{3}{4} \text{ cup} ## 0.75
\frac{3}{4} \text{ cup} ## \frac34
2:3 ## 2 : 3
2:3 ## 4:6
2:3:4 ## 4:6:8
2:3 ## \frac{2}{3}
2 \text{ to } 3 ## 2:3
12:00 ## 12:00 \text{ PM}
\infty ## \text{infinity}
+5 ## 5
x^2 + 2x + 1 = 0 ## (x+1)^2 = 0
a = b+1 ## b = a-1
\{x \mid x>2\} ## (2,\infty)
\{x : x>2\} ## x > 2
[1,\infty) ## x\geqslant 1
y\in[1,2] ## [1,2]
\frac{n(n+1)}{2} ## \frac{n^2+n}{2}
3^{n}-1 ## 3^n - 1
2^{n+1} ## 2\cdot 2^n
C = 5 ## 5
\theta = 30^\circ ## 30
\angle ABC = 30^\circ ## 30^\circ
AB = 5 ## 5
|x| ## \sqrt{x^2}
9 \times 10^8 ## 9 \cdot 10^8
\binom{10}{3} ## 120
5x ## 5 \cdot x
-x+3 ## 3-x
1/2, 1/3 ## 0.5, \frac13
0.1\overline{6} ## 1/6
0.\dot{3} ## 1/3
0.333\ldots ## 1/3
\frac{2}{3} ## 0.666...
101_2 ## 101_{2}
101_2 ## (101)_2
\text{AB}_{16} ## AB_{16}
\mathrm{AB}_{16} ## \text{ab}_{16}
\sqrt{3}:1 ## \sqrt3 : 1
\text{none} ## \text{None}
\text{True} ## true
2\pi r ## 2 \pi r
e^2 ## \mathrm{e}^{2}
\frac{1}{2}e ## e/2
(x-1)(x-2)=0 ## x^2-3x+2=0
x = y ## y = x
3x - 2 ## f(x) = 3x-2
0 ## -0
\text{3 and 4} ## 3,4
\dfrac{\pi}{3} \text{ radians} ## \pi/3
-2\frac{1}{3} ## -\frac{7}{3}
-2\frac{1}{3} ## -2.\overline{3}
5, 5 ## 5,5
(0,0), (1,1) ## (1,1), (0,0)
\{(0,0), (1,1)\} ## (1,1) and (0,0)
(x,y)=(3,2) ## (3,2)
(3,2) ## (x, y) = (3, 2)
(5,8),(8,5) ## (x, y) = (5, 8) \quad \text{and} \quad (8, 5)
\begin{pmatrix}1&2\\3&4\end{pmatrix} ## A^{-1}=\begin{pmatrix}1&2\\3&4\end{pmatrix}
\begin{pmatrix}1&2\\3&4\end{pmatrix} ## M^2 = \begin{bmatrix}1&2\\[2pt]3&4\end{bmatrix}
\frac12 ## \frac{AB}{CD}=\frac12
\frac{NO}{BO}=\frac{1}{\sqrt{6}} ## \frac{1}{\sqrt{6}}
x^2+1 ## \frac{dy}{dx}=x^2+1
0<f(x)<1 ## (0,1)
5 ## \text{5 cm}
5 ## \text{$5$ cm}
5 ## \text{5 dollars}
5 ## \text{The answer is 5}
3 ## three
18 ## \text{eighteen}
42 ## forty-two
42 ## \text{forty-two (42)}
7 ## seven dollars
2500000 ## 2.5 million
2.5 ## 2.5 million
\$5,000,000 ## 5 million dollars
1.22 ## 1,22
1000.99 ## 1000,99
0,111 ## 0.111
\frac{1}{12} ## 0.0833333333333333
\sqrt{2} ## 1.41421356237
\frac23 ## 0.666666666666667
\frac23 ## 0.6666666666666666
\frac12 ## {1 \over 2}
120 ## {10 \choose 3}
(0,9) ## ]0,9[
[0,9) ## [0,9[
(0,1)\cup(2,3) ## ]0,1[ \cup ]2,3[
-2 ## \begin{vmatrix}1&2\\3&4\end{vmatrix}
B ## \text{(B) } 12
\text{DNE} ## \text{does not exist}
5\text{ m/s} ## 5\,\mathrm{m\,s^{-1}}
5\text{ m/s} ## 18 \text{ km/h}
5 \text{ m/s} ## 5 \text{ m}\cdot\text{s}^{-1}
10 \text{ kg m/s} ## 10 \text{ kg·m/s}
9.8 \text{ m/s}^2 ## 9.8\ \mathrm{m/s²}
5 \text{ V} ## 5000 \text{ mV}
120000 \text{ N} ## 120 \text{ kN}
10 \text{ N} ## 10 \text{ kg m/s}^2
1 \text{ L} ## 1000 \text{ cm}^3
100 ^\circ\text{C} ## 100 °C
100 \text{ degrees Celsius} ## 100^\circ C
30 ## 30 mph
"""

DIFFERENT = r"""
1/3 ## 0.333
1/3 ## 0.33333333333
1 - \frac{1}{\mathrm{e}} ## 1 + \frac{1}{\mathrm{e}}
\frac{1}{2^{99}} ## \frac{1}{2^{98}}
4 ## 4\sqrt(2)
4\sqrt(2) ## 4
(0,9) ## [0,9)
(0,9) ## [0,9]
(1,2) ## (2,1)
(1,2,3) ## (3,2,1)
\{1,2\} ## (1,2)
(1,2) ## \{1,2\}
2x + z = 1 ## 1
1 ## 2x+z=1
x=5 ## y=5
x=5 ## 6
1,-2 ## 1,2
1,-2 ## 1
1 ## 1,-2
1 \pm \sqrt{19} ## 1+\sqrt{19}
2516_8 ## 2516_9
2516_8 ## 2517_8
52_8 ## 42
7:32 ## 32:7
3:15 ## 6:30
3:15 \text{ a.m.} ## 3:15 \text{ p.m.}
\text{(C)} ## (D)
\text{(C)} ## \text{Copper}
\text{Evelyn} ## Carla
\begin{pmatrix}1 & 2 \\ 3 & 4\end{pmatrix} ## \begin{pmatrix}1 & 2 \\ 3 & 5\end{pmatrix}
\begin{pmatrix}1 & 2\end{pmatrix} ## \begin{pmatrix}1 \\ 2\end{pmatrix}
1\frac{4}{5} ## \frac{4}{5}
1\frac{4}{5} ## 1.45
5 \text{ cm} ## 5 \text{ m}
3 \text{ cm} ## 3 m
3 \text{ m} ## 3 g
5 \text{ cm}^2 ## 5 \text{ cm}
28\% ## 0.0028
28 ## 0.28
x > 2 ## x \ge 2
x>2 ## x<2
(2,\infty) ## [2,\infty)
y=2x+3 ## y=2x-3
D = (0, 1) ## D = (0, 1.5)
3*x-1*y+13=0 ## 3x + 4y + 14=0
n=2, 3, 4 ## n=1, 2, 3
19, 46, and 82 ## 21, 36, and 82
2 ## AZYUK2A
d ## \text{E}
6+9i ## 6-9i
e^{100} ## e^{100}+1
\infty ## -\infty
\sqrt{2} ## 1.41421356
\pi ## 3.14159
x^2 ## x^3
x ## |x|
10^{100} ## 10^{100}+1
\frac{1}{10^{30}} ## 0
0 ## 10^{-40}
(0,1) ## (0,1) \cup (1,2)
1,234 ## 1
xy ## x+y
\text{no} ## \text{on}
5! ## 5
\{1,2,3\} ## \{1,2\}
1,1,2 ## 1,2
a+b ## a-b
6.72 \times 10^{-5} ## 6.72 \times 10^{-6}
2^{100} ## 2^{101}
\frac{x+1}{x-1} ## \frac{x-1}{x+1}
12 ## 1,2
-5 ## 5
1/2 ## 2/1
\cos x ## \sin x
0<x<12.5 ## [0,12.5)
\$18.90 ## 18.09
9**9**9 ## 9
3\frac{1}{2} ## \frac{3}{2}
\text{even} ## \text{odd}
p ## q
y \ge 2x ## y \le 2x
x=1,y=2 ## x=2,y=1
[1,2] ## (1,2)
\frac{1}{7} ## 0.142857
100 ## 1000
9^{9^{9^9}} ## 1
\$5 ## 5 \text{ cents}
1, 2, 3 ## 1, 2
16\pi ## 16
\ln 2 ## \log_{10} 2
e ## 2.71828
-1 ## i
1+i ## 1
\begin{pmatrix}1\\2\end{pmatrix} ## (2,1)
x^2+1 ## x^2
30 ## 30x
2 \text{ and } 3 ## 2
\{x \mid x>2\} ## [2,\infty)
\infty ## 8
(2,3) ## 2.3
1,5 ## 1.5
8 \text{ hours } 30 \text{ minutes} ## 8.3 \text{ hours}
101_2 ## 5_3
12:30 ## 12:03
\text{AB}_{16} ## AC_{16}
3.0001 ## 3
\frac{22}{7} ## \pi
x \in (1,2) ## x \in [1,2]
\sqrt{-1} ## 1
10\% ## 10.1\%
y = x^2 ## x = y^2
a = b ## a = -b
2^{30} ## 2^{31}
\text{Monday} ## \text{Tuesday}
\text{A, C} ## A, B
A ## A, B
(1,2),(3,4) ## (1,3),(2,4)
(1,2) ## (1,2),(3,4)
5 \text{ inches} ## 5 \text{ feet}
\frac12 ## 12
\frac{1}{2} ## 1,2
x^{12} ## x^1 2
|x| ## x
\log_2 8 ## \log_3 8
n! ## n
1:2 ## 2:1
\sin 2x ## \sin x
\sqrt{x} ## x
[1,2,3] ## [1,3,2]
\begin{pmatrix} 1 & 2 \end{pmatrix} ## \begin{pmatrix} 2 & 1 \end{pmatrix}
100,000 ## 100
1,000 ## 1,000,000
-(1,2) ## (1,2)
10^{-20} ## 10^{-21}
10^{-20} ## 0
1+10^{-30} ## 1
e^{\pi} - \pi ## 20
\sqrt{10^{40}+1} ## 10^{20}
(x,y)=(3,2) ## (2,3)
2 ## a+b=2
1 ## x^2=1
1 ## A^{-1}=2
5 ## \text{6 cm}
5 ## \text{5 or 6}
\text{3 am} ## \text{3 pm}
\text{2B} ## \text{2C}
3 ## four
42 ## forty-three
2.5 million ## 2.5 billion
1,22 ## 1.22
1.234 ## 1,234
\frac{1}{12} ## 0.0833333
\frac{1}{12} ## 0.0833333333334
1 ## 0.999999999999999
1+10^{-30} ## 1.0000000000001
0.123456789012345 ## 0.123456789012346
(0,9) ## ]0,9]
[0,9] ## [0,9[
(0,1],[2,3) ## (0,1),(2,3)
2 ## \begin{vmatrix}1&2\\3&4\end{vmatrix}
B ## \text{(C) } 12
90^\circ ## 90\text{ radians}
5 \text{ N} ## 5 \text{ kN}
5 \text{ V} ## 5 \text{ mV}
5 \text{ J} ## 5 \text{ eV}
10 \text{ MHz} ## 10 \text{ mHz}
5 \text{ m/s} ## 5 \text{ km/h}
5 \text{ m/s} ## 5 \text{ m}
100^\circ\text{C} ## 100^\circ\text{F}
"""


def pairs(block: str) -> list[tuple[str, str]]:
    """Lines of the form `reference ## answer`."""
    return [(gold, answer) for gold, _, answer in (line.partition(" ## ") for line in block.strip().split("\n"))]


@pytest.mark.parametrize(("gold", "answer"), pairs(SAME))
def test_answers_that_mean_the_same(gold: str, answer: str) -> None:
    assert equal_answers(gold, answer)


@pytest.mark.parametrize(("gold", "answer"), pairs(DIFFERENT))
def test_answers_that_differ(gold: str, answer: str) -> None:
    assert not equal_answers(gold, answer)


@given(st.fractions(max_denominator=999), st.fractions(max_denominator=999))
def test_fractions_are_compared_exactly(first: object, second: object) -> None:
    assert equal_answers(str(first), str(second)) is (first == second)


@given(st.integers(-(10**30), 10**30))
def test_thousands_separators_do_not_matter(number: int) -> None:
    spaced = f"{number:,}"
    for text in (spaced, spaced.replace(",", "{,}"), spaced.replace(",", ",\\!"), spaced.replace(",", " ")):
        assert equal_answers(str(number), text)
        assert not equal_answers(str(number + 1), text)


@given(st.decimals(-(10**6), 10**6, places=4), st.integers(-30, 30))
def test_scientific_notation_is_exact(number: object, exponent: int) -> None:
    plain = f"{number}\\times 10^{{{exponent}}}"
    assert equal_answers(plain, f"{number}e{exponent}")
    assert equal_answers(plain, f"{number} x 10^{exponent}")


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=5))
def test_lists_have_no_order_and_tuples_have(numbers: list[int]) -> None:
    turned = numbers[1:] + numbers[:1]
    assert equal_answers(", ".join(map(str, numbers)), ", ".join(map(str, turned)))
    same = equal_answers(f"({', '.join(map(str, numbers))})", f"({', '.join(map(str, turned))})")
    assert same is (numbers == turned)


@given(st.integers(-9, 9), st.integers(-9, 9), st.integers(-9, 9))
def test_expanded_and_factored_polynomials_are_equal(a: int, b: int, c: int) -> None:
    factored, expanded = f"(x+({a}))(x+({b}))", f"x^2+({a + b})x+({a * b})"
    assert equal_answers(factored, expanded)
    assert equal_answers(factored, f"{expanded}+({c})") is (c == 0)
