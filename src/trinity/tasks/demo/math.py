"""Domains of demo_math: equations, areas, percentages. The answer is a boxed whole number."""

import numpy as np

from trinity.tasks.demo.question import Question, between, near, pick


def equations(draw: np.random.Generator) -> Question:
    """A linear equation in one unknown."""
    coefficient, constant, root = between(draw, 2, 19), between(draw, 1, 60), between(draw, 2, 40)
    equation = f"{coefficient}x + {constant} = {coefficient * root + constant}"
    text = pick(
        draw,
        [
            f"Solve the linear equation {equation} for the unknown variable x. "
            "Isolate x by subtracting the constant term and dividing by the coefficient.",
            f"Which value of the variable x satisfies the linear equation {equation}? "
            "Subtract the constant term, then divide both sides by the coefficient of x.",
            f"The unknown x obeys the linear equation {equation}. "
            "Rearrange both sides, eliminate the constant term, and solve for the variable x.",
        ],
    )
    steps = pick(
        draw,
        [
            "Subtracting the constant term and dividing by the coefficient solves the equation",
            "Isolating the variable on one side of the equation and dividing by its coefficient",
        ],
    )
    return Question(
        key=equation,
        text=f"{text} Put it in \\boxed{{}}.",
        reference=str(root),
        right=f"{steps}: x = \\boxed{{{root}}}.",
        wrong=f"{steps}: x = \\boxed{{{near(draw, root, 3, least=2)}}}.",
        malformed=f"{steps}, the unknown variable x follows, and so on for both sides",
    )


def areas(draw: np.random.Generator) -> Question:
    """The area of a rectangle or of a right triangle."""
    width, length = between(draw, 4, 40), between(draw, 4, 40)
    surface, material = pick(draw, [("garden", "turf"), ("floor", "carpet"), ("field", "grass"), ("roof", "tiles")])
    triangle = pick(draw, [False, True])
    if triangle:
        base = 2 * width
        shape = f"triangular {surface} with base {base} metres and height {length} metres"
        wrong = near(draw, width, 2) * length
    else:
        shape = f"rectangular {surface} with width {width} metres and length {length} metres"
        wrong = width * near(draw, length, 2)
    text = pick(
        draw,
        [
            f"How many square metres of {material} cover a {shape}? Compute the area of the whole surface.",
            f"Workers lay {material} over a {shape}. Find the area of the surface in square metres.",
            f"A {shape} gets new {material}. What area in square metres does the surface measure?",
        ],
    )
    product = "Half of base times height" if triangle else "Width times length"
    steps = f"{product} gives the area of the {surface} that the {material} must cover in square metres"
    return Question(
        key=shape,
        text=f"{text} Put it in \\boxed{{}}.",
        reference=str(width * length),
        right=f"{steps}: \\boxed{{{width * length}}}.",
        wrong=f"{steps}: \\boxed{{{wrong}}}.",
        malformed=f"{steps}, measured over the whole surface, edges and corners included",
    )


def percentages(draw: np.random.Generator) -> Question:
    """A price after a discount or with tax."""
    price, percent = 20 * between(draw, 2, 40), 5 * between(draw, 2, 16)
    goods = pick(draw, ["jacket", "bicycle", "camera", "lamp", "guitar", "watch"])
    discount = pick(draw, [False, True])
    other = 5 * near(draw, percent // 5, 2, least=2)
    if discount:
        event = f"a {goods} priced {price} dollars is sold at a discount of {percent} percent"
        right, wrong = (price * (100 - rate) // 100 for rate in (percent, other))
    else:
        event = f"a {goods} priced {price} dollars is charged a sales tax of {percent} percent"
        right, wrong = (price * (100 + rate) // 100 for rate in (percent, other))
    text = pick(
        draw,
        [
            f"In a shop {event}. How many dollars does the customer pay the cashier for this purchase?",
            f"During the shop's sale {event}. What is the customer's bill in dollars at the cashier?",
            f"At the cashier {event}. State the dollars that the customer pays the shop for this purchase.",
        ],
    )
    change = "the discount" if discount else "the sales tax"
    steps = f"Applying {change} in percent to the price, the customer pays in dollars"
    return Question(
        key=event,
        text=f"{text} Put it in \\boxed{{}}.",
        reference=str(right),
        right=f"{steps}: \\boxed{{{right}}}.",
        wrong=f"{steps}: \\boxed{{{wrong}}}.",
        malformed=f"{steps} whatever the cashier of the shop asks for this purchase",
    )
