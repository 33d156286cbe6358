// The answer to an analysis of partial key grouping.

import { axis, boundMark, Chart } from '../../chart.js'
import { amount, count, counted, exactly } from '../../format.js'
import { html } from '../../html.js'
import { Card, choose, dataOf, firstOnly, plainTable, stats } from '../../parts.js'
import { setQuery } from '../../route.js'
import { fine, namedBars } from './drawing.js'

/** @typedef {API['PKGRun'] & { name: string }} Run */

/**
 * The imbalance of a run of d choices, with what is proven of it.
 *
 * @typedef {{ d: number, at: number, split?: number, topKey?: number, scheme?: string }} Point
 */

/** @type {Record<string, string>} */
const schemeWords = {
  hash: 'Key grouping',
  shuffle: 'Shuffle grouping',
  potc: 'PoTC',
  on_greedy: 'On-Greedy',
  off_greedy: 'Off-Greedy',
  pkg: 'PKG',
  d_choices: 'D-Choices',
  w_choices: 'W-Choices',
}
/** @type {Record<string, string>} */
const informationWords = { global: 'global', local: 'local', local_probing: 'probing' }
/** @type {Record<string, string>} */
const orderWords = { shuffled: ', shuffled', independent: ', drawn independently' }
const least = 1e-9 // of a log axis: what is below, zero too, is not drawn

/**
 * Names of runs that say no more than it takes to tell them apart.
 *
 * @param {API['PKGRun'][]} runs
 * @returns {Run[]}
 */
function named(runs) {
  /** @param {(run: API['PKGRun']) => unknown} of */
  const several = (of) => new Set(runs.map(of).filter((x) => x !== undefined)).size > 1
  const [d, s, l] = [several((r) => r.choices), several((r) => r.sources), several((r) => r.load_information)]
  return runs.map((r) => ({
    ...r,
    name: [
      schemeWords[r.scheme] ?? r.scheme,
      d && r.choices && `d = ${r.choices}`,
      s && `S = ${r.sources}`,
      l && r.load_information && informationWords[r.load_information],
    ]
      .filter(Boolean)
      .join(', '),
  }))
}

/** @param {{ result: API['PKGResult'], query: Query }} props */
export function PKG({ result, query }) {
  const runs = named(result.runs)
  const best = runs.reduce((a, b) => (b.imbalance < a.imbalance ? b : a), runs[0])
  const fraction = query.y !== 'messages'
  /** @type {(title: string, words: string, of: (run: Run) => number, unit: string) => Children} */
  const bars = (title, words, of, unit) =>
    html`<${Card} class="half" title=${title}>
      ${namedBars(
        runs.map((r) => ({ name: r.name, value: of(r) })).sort((a, b) => b.value - a.value),
        'Run',
        words,
        amount,
        { unit, full: exactly },
      )}
    <//>`
  const chooser = choose(
    'Imbalance in',
    fraction ? '' : 'messages',
    Object.entries({ '': 'parts of the messages so far', messages: 'messages' }),
    (value) => setQuery({ y: value }),
  )
  return html`
    ${stats([
      {
        label: 'Messages m',
        value: count(result.messages),
        note: `${counted(result.keys, 'key')}${orderWords[result.order ?? ''] ?? ', in the order of the stream'}`,
      },
      {
        label: 'Workers W',
        value: count(result.workers),
        note: result.seeds > 1 ? `judged by ${result.seeds} seeds` : 'judged by one seed',
      },
      {
        label: 'Most frequent key p₁',
        value: fine(result.p1),
        note: `of the messages; 1/W is ${fine(1 / result.workers)}`,
      },
      { label: 'Least imbalance I(m)/m', value: fine(best.imbalance), note: best.name },
      { label: 'Heavy keys', value: count(result.heavy_key_count), note: 'above 1/(5W) of the messages' },
    ])}
    ${
      runs.some((r) => r.series.length > 0) &&
      html`<${Card} title="Imbalance over time" aside=${chooser}><${OverTime} runs=${runs} fraction=${fraction} /><//>`
    }
    <${OverChoices} runs=${runs} />
    <div class="grid">
      ${bars(
        'Memory: pairs of a worker and a key',
        'Pairs of a worker and a key held by each run',
        (r) => r.memory.pairs,
        'pairs',
      )}
      ${bars(
        'Aggregation: messages to merge in a period',
        'Messages that are sent on to be merged in a period, by run',
        (r) => r.aggregation.per_period,
        'messages',
      )}
    </div>
    <${Card} title="Runs"><${Runs} runs=${runs} /><//>
    ${result.heavy_keys.length > 0 && html`<${Card} title="Heavy keys"><${HeavyKeys} result=${result} /><//>`}
  `
}

const symbols = ['circle', 'diamond', 'triangle', 'rect']
const lineTypes = ['solid', 'dashed', 'dotted']

/** @param {{ runs: Run[], fraction: boolean }} props */
function OverTime({ runs, fraction }) {
  const drawn = runs.filter((r) => r.series.length > 0)
  /** @param {API['PKGPoint']} point */
  const y = (point) => (fraction ? point.imbalance / point.messages : point.imbalance)
  const format = fraction ? fine : amount
  const bounds = fraction ? topKeyBounds(drawn) : []
  const ends = drawn.slice(0, 8).map((r) => `${r.name} ${fine(r.imbalance)}`)
  const label =
    `Imbalance I(t)${fraction ? '/t' : ''} of ${counted(drawn.length, 'run')}` +
    ` over ${counted(drawn[0].series.at(-1)?.messages, 'message')}, on a logarithmic axis.` +
    ` At the end: ${ends.join('; ')}.`
  return html`
    <${Chart}
      height=${340}
      label=${label}
      depends=${[runs, fraction]}
      data=${dataOf(
        drawn[0].series.map((s, i) => [
          count(s.messages),
          ...drawn.map((r) => (r.series[i] ? format(y(r.series[i])) : '–')),
        ]),
        ['Messages', ...drawn.map((r) => r.name)].map((head, c) => [head, (row) => row[c], 'number']),
      )}
      option=${(p, width) => ({
        ...framed(width),
        tooltip: { trigger: 'axis', order: 'valueDesc', valueFormatter: (/** @type {number} */ v) => format(v) },
        xAxis: axis(p, {
          type: 'value',
          name: 'messages',
          nameLocation: 'middle',
          nameGap: 24,
          min: 0,
          max: 'dataMax',
          axisLabel: { formatter: amount },
        }),
        yAxis: axis(p, { type: 'log', axisLabel: { formatter: format } }),
        series: [
          ...drawn.map((r, i) => ({
            name: r.name,
            type: 'line',
            showSymbol: false,
            color: p.series[i % 10],
            lineStyle: { width: 1.8, type: lineTypes[i % 3] },
            connectNulls: true,
            data: r.series.map((s) => [s.messages, y(s) > least ? y(s) : null]),
          })),
          {
            name: 'proven bound',
            type: 'line',
            data: [],
            color: p.bound,
            markLine: boundMark(
              p,
              bounds.map(({ at, words }) => ({ yAxis: at, name: words })),
            ),
          },
        ],
      })}
    />
    ${
      bounds.length > 0 &&
      html`<p class="hint">
        Dashed: at the end of the stream no run with so many choices is below, as the most frequent key has so many
        workers only. Where the imbalance is 0 nothing is drawn.
      </p>`
    }
  `
}

/**
 * p₁/d − 1/W for each d, where it says something.
 *
 * @param {Run[]} runs
 */
function topKeyBounds(runs) {
  const byChoices = new Map(runs.map((r) => [r.bounds.top_key_choices, r.bounds.top_key]))
  return [...byChoices]
    .filter(([, at]) => at > least)
    .sort(([a], [b]) => a - b)
    .map(([d, at]) => ({ at, words: `bound for d = ${d}: ${fine(at)}` }))
}

/**
 * The imbalance at the end over d, as far as several were run.
 *
 * @param {{ runs: Run[] }} props
 */
function OverChoices({ runs }) {
  /** @type {Map<string, Point[]>} */
  const lines = new Map()
  for (const r of runs.filter((x) => x.choices)) {
    const name = r.name.replace(/, d = \d+/, '')
    lines.set(name, [
      ...(lines.get(name) ?? []),
      { d: r.choices ?? 0, at: r.imbalance, split: r.bounds.split, topKey: r.bounds.top_key, scheme: r.scheme },
    ])
  }
  const ds = [...new Set([...lines.values()].flat().map((x) => x.d))].sort((a, b) => a - b)
  if (ds.length < 2) return null
  /** @param {(point: Point) => number | undefined} of */
  const bound = (of) =>
    ds.map((d) =>
      Math.max(
        ...[...lines.values()]
          .flat()
          .filter((x) => x.d === d && x.scheme === 'pkg')
          .map((x) => of(x) ?? -Infinity),
        -Infinity,
      ),
    )
  const [split, topKey] = [bound((x) => x.split), bound((x) => x.topKey)]
  /** @param {number} x */
  const value = (x) => (x > least && Number.isFinite(x) ? x : null)
  /** @type {{ name: string, values: (number | null)[], bound?: boolean }[]} */
  const all = [
    ...[...lines].map(([name, points]) => ({ name, values: ds.map((d) => points.find((x) => x.d === d)?.at ?? null) })),
    { name: 'proven bound, most frequent key', values: topKey.map(value), bound: true },
    { name: 'proven bound, any splitting', values: split.map(value), bound: true },
  ].filter((l) => l.values.some((v) => v !== null))
  return html`<${Card} title="Imbalance over the number of choices">
    <${Chart}
      height=${300}
      label="Imbalance I(m)/m for d = ${ds.join(', ')}, with proven bounds, on a logarithmic axis."
      depends=${[runs]}
      data=${dataOf(
        ds.map((d, i) => [d, ...all.map((l) => fine(l.values[i]))]),
        ['d', ...all.map((l) => l.name)].map((head, c) => [head, (row) => row[c], 'number']),
      )}
      option=${(p, width) => ({
        ...framed(width),
        tooltip: { trigger: 'axis', valueFormatter: fine },
        xAxis: axis(p, {
          type: 'category',
          data: ds.map(String),
          name: 'choices d',
          nameLocation: 'middle',
          nameGap: 24,
        }),
        yAxis: axis(p, { type: 'log', axisLabel: { formatter: fine } }),
        series: all.map((l, i) => ({
          name: l.name,
          type: 'line',
          symbol: symbols[i % symbols.length],
          symbolSize: 8,
          data: l.values.map((v) => (v === null || v <= least ? null : v)),
          color: l.bound ? p.bound : p.series[i % 10],
          lineStyle: { type: l.bound ? (i % 2 === 0 ? 'dashed' : 'dotted') : lineTypes[i % 3] },
          connectNulls: true,
        })),
      })}
    />
  <//>`
}

/**
 * The places of a legend of many names and of what is below it.
 *
 * @param {number} width
 */
const framed = (width) => ({
  grid: { left: 8, right: 16, top: width < 600 ? 90 : 44, bottom: 24, containLabel: true },
  legend: { top: 0, left: 0, type: width < 600 ? 'plain' : 'scroll' },
})

/** @param {{ runs: Run[] }} props */
const Runs = ({ runs }) =>
  plainTable('Figures of each run', runs, [
    ['Run', (r) => r.name],
    ['I(m)/m', (r) => fine(r.imbalance), 'number'],
    [
      'Over seeds',
      (r) =>
        r.over_seeds.least === r.over_seeds.greatest
          ? '–'
          : `${fine(r.over_seeds.least)} – ${fine(r.over_seeds.greatest)}`,
      'number',
    ],
    ['Proven: not below', (r) => fine(Math.max(0, r.bounds.top_key, r.bounds.split)), 'number'],
    ['Mean', (r) => fine(r.average_imbalance), 'number'],
    ['Peak', (r) => fine(r.peak_imbalance), 'number'],
    ['θ', (r) => fine(r.theta), 'number'],
    ['Greatest load', (r) => count(r.max_load), 'number'],
    ['Pairs', (r) => count(r.memory.pairs), 'number'],
    ['Over key grouping', (r) => `${amount(r.memory.pairs / r.memory.key_grouping)} ×`, 'number'],
    ['Remembered', (r) => count(r.memory.remembered), 'number'],
    ['Merged in a period', (r) => amount(r.aggregation.per_period), 'number'],
    [
      'Head',
      (r) => (r.head ? html`<span class="nowrap">${counted(r.head.keys, 'key')}, d = ${r.head.choices}</span>` : '–'),
    ],
  ])

/** @param {{ result: API['PKGResult'] }} props */
const HeavyKeys = ({ result }) => html`
  ${firstOnly(result.heavy_keys.length, result.heavy_key_count, 'key')}
${plainTable('Heavy keys and the workers they need', result.heavy_keys, [
  ['Key', (k) => html`<code class="analyses-key">${k.key}</code>`],
  ['Messages', (k) => count(k.messages), 'number'],
  ['Share', (k) => fine(k.share), 'number'],
  ['Workers it needs at the least', (k) => count(k.least_workers), 'number'],
])}
`
