// A ring and its tokens before, inside, and after, outside.

import { Chart } from '../../chart.js'
import { count, counted, percent } from '../../format.js'
import { html, useMemo } from '../../html.js'
import { dataOf, Empty } from '../../parts.js'
import { colours, merged } from './drawing.js'
import { arcsOf, mostDrawn, positions, tokensChanged } from './tokens.js'

/** @import { Arc, Token } from './tokens.js' */

/** @typedef {{ size: number, owner: number | null, count: number }} Drawn */

/** @typedef {{ position: number, added: boolean, tokens: Token[] }} Mark */

const radii = { before: [0.42, 0.64], marks: 0.69, after: [0.74, 0.96] }
const size = 380 // pixels across, where there is so much room
const legendHeight = 26
const mostListed = 500 // nodes in the table of shares

/** @param {{ nodes: API['RingNodeChange'][] }} props */
export function RingDrawing({ nodes }) {
  const tokens = nodes.reduce((n, x) => n + x.tokens_before + x.tokens_after, 0)
  const ring = useMemo(
    () =>
      tokens > mostDrawn
        ? null
        : {
            before: arcsOf(nodes.map((n) => ({ id: n.id, tokens: n.tokens_before }))),
            after: arcsOf(nodes.map((n) => ({ id: n.id, tokens: n.tokens_after }))),
            changed: tokensChanged(nodes.map((n) => ({ id: n.id, before: n.tokens_before, after: n.tokens_after }))),
          },
    [nodes],
  )
  if (ring === null)
    return html`<${Empty} title="Too many tokens to draw">
      <p>${count(tokens)} tokens before and after; up to ${count(mostDrawn)} are drawn.</p>
    <//>`
  const drawn = { before: thinned(ring.before, radii.before), after: thinned(ring.after, radii.after) }
  const marks = marksOf(ring.changed)
  const lost = ring.before.length + ring.after.length - drawn.before.length - drawn.after.length
  const added = ring.changed.filter((t) => t.added).length
  const label =
    `A ring of ${counted(nodes.length, 'node')}, before inside and after outside:` +
    ` ${counted(added, 'token')} added, ${counted(ring.changed.length - added, 'token')} removed.`
  return html`<div>
    <h3>The ring: before inside, after outside</h3>
    <${Chart}
      height=${size + (marks.length > 0 ? legendHeight : 0)}
      label=${label}
      depends=${[nodes]}
      option=${(p, width) =>
        option(p, { drawn, marks, ids: nodes.map((n) => n.id), radius: Math.min(width, size) / 2 })}
      data=${sharesOf(ring, nodes)}
    />
    ${
      lost > 0 &&
      html`<p class="hint">
        Arcs thinner than a pixel are merged with their neighbours: ${count(ring.before.length)} arcs before
        and ${count(ring.after.length)} after are drawn
        as ${count(drawn.before.length)} and ${count(drawn.after.length)}, each in the colour of the node that has most
        of it.
      </p>`
    }
    ${marks.length < ring.changed.length && html`<p class="hint">Tokens less than a few pixels apart share a mark.</p>`}
    ${nodes.length > 10 && html`<p class="hint">There are ten colours: nodes ten apart share one.</p>`}
  </div>`
}

/**
 * Arcs of a pixel at least, in the middle of a ring of these radii.
 *
 * @param {Arc[]} arcs
 * @param {number[]} radius
 */
const thinned = (arcs, [inner, outer]) => merged(arcs, positions / ((Math.PI * (inner + outer) * size) / 2))

/**
 * The marks of tokens, those within five pixels as one.
 *
 * @param {Token[]} changed
 */
function marksOf(changed) {
  const least = (5 * positions) / ((Math.PI * 2 * radii.marks * size) / 2)
  /** @type {Mark[]} */
  const out = []
  for (const t of [...changed].sort((a, b) => a.position - b.position)) {
    const near = out.findLast((m) => m.added === t.added)
    if (near && t.position - near.position < least) near.tokens.push(t)
    else out.push({ position: t.position, added: t.added, tokens: [t] })
  }
  return out
}

/** @param {Mark} mark */
const markWords = ({ added, tokens }) =>
  tokens.length === 1
    ? `token ${tokens[0].token} of node ${tokens[0].node} ${added ? 'added' : 'removed'}`
    : `${tokens.length} tokens ${added ? 'added' : 'removed'}, the first of node ${tokens[0].node}`

/**
 * @param {Palette} p
 * @param {{ drawn: { before: Drawn[], after: Drawn[] }, marks: Mark[], ids: number[], radius: number }} of
 */
function option(p, { drawn, marks, ids, radius }) {
  const colour = colours(p, ids)
  const center = ['50%', radius]
  /**
   * @param {string} name
   * @param {Drawn[]} arcs
   * @param {number[]} radius
   */
  const pie = (name, arcs, [inner, outer]) => ({
    name,
    type: 'pie',
    radius: [inner * radius, outer * radius],
    center,
    startAngle: 90,
    clockwise: true,
    label: { show: false },
    emphasis: { scale: false },
    animation: false,
    itemStyle: { borderWidth: arcs.length > 300 ? 0 : 0.5, borderColor: p.surface },
    data: arcs.map((a) => ({ value: a.size, arc: a, itemStyle: { color: colour(a.owner) } })),
  })
  /** @param {boolean} added */
  const points = (added) => ({
    name: added ? 'token added' : 'token removed',
    type: 'scatter',
    coordinateSystem: 'polar',
    symbol: added ? 'circle' : 'diamond',
    symbolSize: 7,
    color: added ? p.good : p.bad,
    animation: false,
    z: 5,
    data: marks.filter((m) => m.added === added).map((m) => ({ value: [radii.marks, m.position], mark: m })),
  })
  const shown = [true, false].filter((added) => marks.some((m) => m.added === added))
  return {
    legend:
      shown.length === 0
        ? undefined
        : {
            bottom: 0,
            data: shown.map((added) => ({
              name: added ? 'token added' : 'token removed',
              icon: added ? 'circle' : 'diamond',
            })),
            selectedMode: false,
          },
    tooltip: {
      trigger: 'item',
      formatter: (/** @type {{ seriesName: string, data: { mark?: Mark, arc: Drawn } }} */ { seriesName, data }) =>
        data.mark
          ? markWords(data.mark)
          : `${seriesName}: node ${data.arc.owner}\n${percent(data.arc.size / positions)} of the ring` +
            (data.arc.count > 1 ? `, ${data.arc.count} arcs merged` : ''),
    },
    polar: { radius: [0, radius], center },
    angleAxis: { type: 'value', min: 0, max: positions, startAngle: 90, clockwise: true, show: false },
    radiusAxis: { type: 'value', min: 0, max: 1, show: false },
    series: [
      pie('before', drawn.before, radii.before),
      pie('after', drawn.after, radii.after),
      points(true),
      points(false),
    ],
  }
}

/**
 * @param {{ before: Arc[], after: Arc[] }} ring
 * @param {API['RingNodeChange'][]} nodes
 */
function sharesOf(ring, nodes) {
  const [before, after] = [ring.before, ring.after].map((arcs) => Map.groupBy(arcs, (a) => a.owner))
  /** @param {Arc[]} [arcs] */
  const share = (arcs = []) => percent(arcs.reduce((sum, a) => sum + a.size, 0) / positions)
  return dataOf(nodes.slice(0, mostListed), [
    ['Node', (n) => n.id, 'number'],
    ['Share of the ring before', (n) => share(before.get(n.id)), 'number'],
    ['after', (n) => share(after.get(n.id)), 'number'],
    ['Arcs before', (n) => count(before.get(n.id)?.length ?? 0), 'number'],
    ['Arcs after', (n) => count(after.get(n.id)?.length ?? 0), 'number'],
  ])
}
