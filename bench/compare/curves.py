"""bench/compare/curves.py - pictures, as SVG

A picture has panels side by side, each of which has lines over the same places
on the x axis: the times, and below them the times over hoop's, where hoop is the
level line at 1. Both are logarithmic. Colours are told apart by the
colour-blind, too.
"""

import math

STYLES = {
    'hoop': ('#d62728', 3, ''),
    'Intel MPI': ('#000000', 1.6, ''),
    'Open MPI 5': ('#0072b2', 1.6, ''),
    'Open MPI 4': ('#0072b2', 1.2, '2 2'),
    'MPICH 5': ('#56b4e9', 1.6, ''),
    'MPICH 4': ('#56b4e9', 1.2, '2 2'),
    'oneCCL': ('#8a6d3b', 1.6, ''),
    'MLX': ('#e69f00', 1.6, ''),
    'Gloo': ('#009e73', 1.6, ''),
    'torch': ('#cc79a7', 1.6, ''),
    'limit': ('#555555', 1.6, '5 3'),
}
OTHER = ('#999999', 1.6, '')
PANEL_WIDTH, PANEL_HEIGHT = 280, 190
LEFT, TOP, GAP, BOTTOM = 58, 52, 24, 34
RATIOS = (1 / 4, 1 / 2, 1, 2, 4, 8, 16)  # what is more is drawn at the edge
LEAST_WIDTH = 900  # the legend's


def attributes(**values):
    return ''.join(f' {name.replace("_", "-")}="{value}"'
                   for name, value in values.items() if value != '')


def element(name, text='', **values):
    start = f'<{name}{attributes(**values)}'
    return f'{start}>{text}</{name}>' if text else f'{start}/>'


def text(x, y, words, anchor='middle', **values):
    return element('text', words, x=f'{x:.0f}', y=f'{y:.0f}',
                   text_anchor=anchor, **values)


class Scale:
    """Logarithmic, between the first of the ticks and the last."""

    def __init__(self, ticks, label, top):
        self.ticks = ticks
        self.label = label
        self.top = top

    def y(self, number):
        low, high = math.log(self.ticks[0]), math.log(self.ticks[-1])
        part = (math.log(number) - low) / (high - low)
        return self.top + PANEL_HEIGHT * (1 - min(max(part, 0), 1))

    def lines(self, right):
        for tick in self.ticks:
            y = f'{self.y(tick):.0f}'
            yield element('line', x1=LEFT, x2=right, y1=y, y2=y, stroke='#ddd')
            yield text(LEFT - 6, self.y(tick) + 4, self.label(tick), 'end')


def powers(numbers):
    """Of ten, around them."""
    low = math.floor(math.log10(min(numbers)))
    high = max(math.ceil(math.log10(max(numbers))), low + 1)
    return [10.0 ** power for power in range(low, high + 1)]


def over_hoop(lines):
    own = lines.get('hoop', {})
    return {name: {place: number / own[place]
                   for place, number in points.items() if place in own}
            for name, points in lines.items()}


def ratio_label(ratio):
    return f'{ratio:g} x' if ratio >= 1 else f'1/{1 / ratio:g} x'


def x_at(left, n_places, place):
    step = (PANEL_WIDTH - 20) / max(n_places - 1, 1)
    return left + 10 + step * place


def line(points, style):
    colour, width, dashes = style
    path = ' '.join(f'{x:.1f},{y:.1f}' for x, y in points)
    yield element('polyline', points=path, fill='none', stroke=colour,
                  stroke_width=width, stroke_dasharray=dashes)
    for x, y in () if dashes else points:
        yield element('circle', cx=f'{x:.1f}', cy=f'{y:.1f}',
                      r=f'{1.2 + width / 2:.1f}', fill=colour)


def panel(left, places, lines, scale):
    yield element('rect', x=left, y=scale.top, width=PANEL_WIDTH,
                  height=PANEL_HEIGHT, fill='none', stroke='#bbb')
    for number, place in enumerate(places):
        yield text(x_at(left, len(places), number),
                   scale.top + PANEL_HEIGHT + 16, place)
    # hoop on top of the others.
    for name in sorted(lines, key=lambda name: name == 'hoop'):
        points = [(x_at(left, len(places), number), scale.y(value))
                  for number, place in enumerate(places)
                  if (value := lines[name].get(place))]
        if points:
            yield from line(points, STYLES.get(name, OTHER))


def legend(names):
    x = LEFT
    for name in names:
        colour, width, dashes = STYLES.get(name, OTHER)
        yield element('line', x1=x, x2=x + 22, y1=16, y2=16, stroke=colour,
                      stroke_width=width, stroke_dasharray=dashes)
        yield text(x + 27, 20, name, 'start')
        x += 44 + 7 * len(name)


def picture(panels, places, label):
    """panels: (title, {name: {place: number}}); label makes a number of the y
    axis a text. None if there is nothing to draw."""
    numbers = [number for _, lines in panels for points in lines.values()
               for number in points.values()]
    if not numbers:
        return None
    right = LEFT + len(panels) * (PANEL_WIDTH + GAP) - GAP
    width = max(right + 12, LEAST_WIDTH)
    below = TOP + PANEL_HEIGHT + BOTTOM
    height = below + PANEL_HEIGHT + BOTTOM
    times = Scale(powers(numbers), label, TOP)
    ratios = Scale(RATIOS, ratio_label, below)
    names = [name for name in STYLES
             if any(lines.get(name) for _, lines in panels)]
    parts = [element('rect', width='100%', height='100%', fill='#fff'),
             *legend(names), *times.lines(right), *ratios.lines(right)]
    for number, (title, lines) in enumerate(panels):
        left = LEFT + number * (PANEL_WIDTH + GAP)
        parts.append(text(left + PANEL_WIDTH / 2, TOP - 8, title,
                          font_weight='bold'))
        parts += panel(left, places, lines, times)
        parts += panel(left, places, over_hoop(lines), ratios)
    start = attributes(xmlns='http://www.w3.org/2000/svg', width=width,
                       height=height, viewBox=f'0 0 {width} {height}',
                       font_family='sans-serif', font_size=12)
    return f'<svg{start}>\n' + '\n'.join(parts) + '\n</svg>\n'
