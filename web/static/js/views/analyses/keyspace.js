// The key space as two bars of segments, before and after, and what changes its owner.

import { axis, Chart } from '../../chart.js'
import { amount, count, counted, percent, stateOnly } from '../../format.js'
import { html } from '../../html.js'
import { Card, choose, dataOf } from '../../parts.js'
import { setQuery } from '../../route.js'
import { colours, merged } from './drawing.js'

/** @typedef {API['RangesSegment']} Segment */

/** @typedef {'before' | 'moves' | 'after'} RowName */

/**
 * Segments that are drawn as one.
 *
 * @typedef {object} Joined
 * @property {number | null} owner
 * @property {number} size
 * @property {string} [low]
 * @property {string | null} [high]
 * @property {number} [keys]
 * @property {number} [cost]
 */

/**
 * What is drawn: in row y, from a position to another; count says of how many segments
 * it is merged.
 *
 * @typedef {{ y: number, from: number, to: number, of: Joined & { count: number } }} Bar
 */

/** @param {{ plan: API['RangesPlan'], width: 'cost' | 'keys' }} props */
export function KeySpace({ plan, width }) {
  const { segments } = plan
  // A first division has nothing before it.
  const divided = segments.some((s) => s.before !== null)
  const rows = /** @type {RowName[]} */ (divided ? ['before', 'moves', 'after'] : ['after'])
  const total = segments.reduce((sum, s) => sum + s[width], 0)
  const ids = plan.followers.map((f) => f.id)
  const chooser = choose('Width by', width, Object.entries({ cost: 'share of cost', keys: 'number of keys' }), (by) =>
    setQuery({ width: by === 'cost' ? null : by }),
  )
  const moving = segments.filter((s) => s.before !== null && s.before !== s.after)
  return html`<${Card} title="Owners along the key space" aside=${chooser}>
    <${Chart}
      height=${rows.length > 1 ? 190 : 110}
      depends=${[plan, width]}
      label="The key space in ${counted(
        segments.length,
        'segment',
      )}, from the lowest key on, with its owners before and after; ${counted(moving.length, 'segment')} ${
        moving.length === 1 ? 'changes its' : 'change their'
      } owner."
      option=${(p, pixels) => option(p, rows, bars(segments, rows, width, total, pixels), ids, total, width)}
      data=${tableOf(segments)}
    />
    ${
      segments.length < plan.segment_count &&
      html`<p class="hint">
        Only the first ${count(segments.length)} of ${counted(plan.segment_count, 'segment')} are shown: a greater
        length of lists shows more.
      </p>`
    }
    <p class="hint">
      ${rows.length > 1 && 'The middle row marks what changes its owner, in the colour of the new one. '}Segments
      thinner than a pixel are merged with their neighbours.
      ${ids.length > 10 ? ' There are ten colours: followers ten apart share one.' : ''}
    </p>
  <//>`
}

/**
 * What is drawn; stretches thinner than a pixel are merged.
 *
 * @param {Segment[]} segments
 * @param {RowName[]} rows
 * @param {'cost' | 'keys'} width
 * @param {number} total
 * @param {number} pixels
 * @returns {Bar[]}
 */
function bars(segments, rows, width, total, pixels) {
  /** @type {Record<RowName, (s: Segment) => number | null>} */
  const owner = {
    before: (s) => s.before,
    moves: (s) => (s.before !== null && s.before !== s.after ? s.after : null),
    after: (s) => s.after,
  }
  return rows.flatMap((row, y) => {
    let at = 0
    /** @type {Required<Joined>[]} */
    const joined = []
    for (const s of segments) {
      const last = joined.at(-1)
      const who = owner[row](s)
      if (last && last.owner === who)
        Object.assign(last, {
          size: last.size + s[width],
          high: s.high,
          keys: last.keys + s.keys,
          cost: last.cost + s.cost,
        })
      else joined.push({ owner: who, size: s[width], low: s.low, high: s.high, keys: s.keys, cost: s.cost })
    }
    return merged(
      joined.filter((s) => s.size > 0),
      total / Math.max(1, pixels),
    )
      .map((s) => {
        const bar = { y, from: at, to: at + s.size, of: s }
        at += s.size
        return bar
      })
      .filter((bar) => bar.of.owner !== null)
  })
}

/**
 * @param {string | null | undefined} key
 * @param {string} open
 */
const keyWords = (key, open) =>
  key === null || key === undefined || key === '' ? open : key.length > 40 ? `${key.slice(0, 40)}…` : key

/**
 * @param {Bar} bar
 * @param {RowName[]} rows
 * @param {number} total
 */
function words({ of: s, y, from, to }, rows, total) {
  const who = `${rows[y] === 'moves' ? 'goes to' : `${rows[y]}:`} follower ${s.owner}\n${percent((to - from) / total)}`
  return s.count > 1
    ? `${who}, ${s.count} segments merged`
    : `${who}, ${counted(s.keys, 'key')}, cost ${amount(s.cost)}\n` +
        `from ${keyWords(s.low, 'the beginning')} to below ${keyWords(s.high, 'the end')}`
}

/**
 * @param {Palette} p
 * @param {RowName[]} rows
 * @param {Bar[]} drawn
 * @param {number[]} ids
 * @param {number} total
 * @param {'cost' | 'keys'} width
 */
function option(p, rows, drawn, ids, total, width) {
  const colour = colours(p, ids)
  return {
    grid: { left: 8, right: 24, top: 6, bottom: 26, containLabel: true },
    tooltip: {
      trigger: 'item',
      formatter: (/** @type {{ data: number[] }} */ { data }) => words(drawn[data[3]], rows, total),
    },
    xAxis: axis(p, {
      type: 'value',
      min: 0,
      max: total || 1,
      interval: width === 'keys' ? undefined : (total || 1) / 4,
      name: width === 'keys' ? 'keys, in their order' : 'cost, in the order of the keys',
      nameLocation: 'middle',
      nameGap: 24,
      axisLabel: { formatter: (/** @type {number} */ v) => (width === 'keys' ? amount(v) : percent(v / (total || 1))) },
      splitLine: { show: false },
    }),
    yAxis: axis(p, {
      type: 'category',
      data: rows,
      inverse: true,
      axisLabel: { color: p.text },
      axisLine: { show: false },
    }),
    series: [
      {
        type: 'custom',
        animation: false,
        encode: { x: [1, 2], y: 0 },
        data: drawn.map((b, i) => [b.y, b.from, b.to, i]),
        renderItem: (/** @type {unknown} */ _, /** @type {import('../plan/loads.js').Drawn} */ api) => {
          const bar = drawn[api.value(3)]
          const [x, y] = api.coord([bar.from, bar.y])
          const [end] = api.coord([bar.to, bar.y])
          const high = api.size([0, 1])[1] * (rows[bar.y] === 'moves' ? 0.42 : 0.78)
          const wide = end - x
          const rect = {
            type: 'rect',
            shape: {
              x,
              y: y - high / 2,
              width: Math.max(wide - (wide > 3 ? 1 : 0), 0.5),
              height: high,
              r: wide > 8 ? 2 : 0,
            },
            style: { fill: colour(bar.of.owner) },
          }
          if (wide < 22) return rect
          return {
            type: 'group',
            children: [
              rect,
              {
                type: 'text',
                silent: true,
                style: {
                  text: String(bar.of.owner),
                  x: x + wide / 2,
                  y,
                  align: 'center',
                  verticalAlign: 'middle',
                  fill: p.surface,
                  font: '600 12px system-ui, sans-serif',
                },
              },
            ],
          }
        },
      },
    ],
  }
}

const mostListed = 1_000

/** @param {Segment[]} segments */
const tableOf = (segments) =>
  dataOf(segments.slice(0, mostListed), [
    ['From key', (s) => html`<code class="analyses-key">${keyWords(s.low, '–')}</code>`],
    ['To key, exclusive', (s) => html`<code class="analyses-key">${keyWords(s.high, '–')}</code>`],
    ['Before', (s) => s.before ?? '–', 'number'],
    ['After', (s) => s.after, 'number'],
    ['Keys', (s) => count(s.keys), 'number'],
    ['Cost', (s) => amount(s.cost), 'number'],
    ['State', (s) => stateOnly(s.state), 'number'],
  ])
