"""How far one comparison moves a belief: the functions v and w of TrueSkill, safe in the far tails.

With t the difference of two performances in units of its deviation c, e the draw margin in the same unit, N the density
and F the distribution function of the standard normal (Herbrich, Minka, Graepel: TrueSkill, NIPS 2006):

    win    v = N(t - e) / F(t - e)                              w = v (v + t - e)
    draw   v = (N(-e - t) - N(e - t)) / (F(e - t) - F(-e - t))  w = v^2 + ((e - t) N(e - t) + (e + t) N(e + t)) / same

v shifts the means, w in [0, 1] shrinks the variances. F is computed by the complementary error function of Press et al.
(Numerical Recipes in C, 2nd edition, section 6.2; fractional error below 1.2e-7), because the `trueskill` package uses
that one: folds of thousands of games then agree with it to about 1e-13, where the exact function would drift by 1e-5.
"""

from math import exp, pi, sqrt

SQRT_HALF = sqrt(0.5)
SQRT_2_OVER_PI = sqrt(2.0 / pi)
TWO_OVER_SQRT_PI = 2.0 / sqrt(pi)
# Beyond this |argument| of erfc the numbers underflow soon after; the asymptotic series is exact to 1e-12 there.
TAIL = 26.0


def scaled_erfc(z: float) -> float:
    """erfc(z) * exp(z * z) for z >= 0, by Press et al.: never underflows."""
    t = 2.0 / (2.0 + z)
    p = 0.27886807 + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277)))
    return t * exp(t * (1.00002368 + t * (0.37409196 + t * (0.09678418 + t * (-0.18628806 + t * p)))) - 1.26551223)


def win_moments(x: float) -> tuple[float, float]:
    """(v, w) of a win; x is the winner's lead less the draw margin, in units of c.

    A favourite's certain win (x large) teaches nothing: (0, 0). An upset however large stays finite, w below 1.
    """
    z = x * -SQRT_HALF
    if z < 0.0:
        e = exp(-z * z)
        v = SQRT_2_OVER_PI * e / (2.0 - e * scaled_erfc(-z))
        return v, v * (v + x)
    if z < TAIL:
        v = SQRT_2_OVER_PI / scaled_erfc(z)
        return v, v * (v + x)
    short = _mills_shortfall(-x)  # v = -x / (1 - short); v + x without the cancellation of two large numbers
    v = -x / (1.0 - short)
    return v, -v * x * short / (1.0 - short)


def draw_moments(t: float, e: float) -> tuple[float, float]:
    """(v, w) of a draw; t is the first player's lead and e > 0 the draw margin, both in units of c.

    v has the sign that pulls the two together. Where e is small, the error of erfc may lift w above 1 by 1e-6 t^2,
    which does no harm: a variance shrinks by less than w.
    """
    lead = -t if t < 0.0 else t
    near, far = (lead - e) * SQRT_HALF, (lead + e) * SQRT_HALF
    if near >= TAIL:
        v, w = _draw_tail(lead, e)
    else:
        at_near, at_far = exp(-near * near), exp(-far * far)
        above_near = at_near * scaled_erfc(near) if near >= 0.0 else 2.0 - at_near * scaled_erfc(-near)
        inside = above_near - at_far * scaled_erfc(far)
        v = SQRT_2_OVER_PI * (at_far - at_near) / inside
        w = v * v - TWO_OVER_SQRT_PI * (near * at_near - far * at_far) / inside
    return (-v if t < 0.0 else v), w


def _mills_shortfall(x: float) -> float:
    """1 - x F(-x) / N(x) for x > 36, from the asymptotic series of Mills' ratio (Abramowitz and Stegun 26.2.12)."""
    u = 1.0 / (x * x)
    return u * (1.0 - u * (3.0 - u * (15.0 - u * 105.0)))


def _draw_tail(lead: float, e: float) -> tuple[float, float]:
    """Moments of a draw so unlikely that its probability underflows: everything divided by N(lead - e)."""
    a, b = lead - e, lead + e
    ratio = exp(-2.0 * lead * e)  # N(b) / N(a)
    inside = (1.0 - _mills_shortfall(a)) / a - ratio * (1.0 - _mills_shortfall(b)) / b
    v = (ratio - 1.0) / inside
    return v, min(1.0, max(0.0, v * v - (a - b * ratio) / inside))
