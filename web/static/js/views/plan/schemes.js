// What plans of the schemes ring, ranges and pkg change in place of a routing table.

import { request, useResource } from '../../api.js'
import { axis, Chart } from '../../chart.js'
import { count, counted } from '../../format.js'
import { html } from '../../html.js'
import { drawn, Instance } from '../../instances.js'
import { Card, FirstOf, loaded, plainTable, Trouble } from '../../parts.js'

/**
 * The tokens of an instance; before is undefined where it is not known.
 *
 * @typedef {{ id: number, before?: number, added: number, removed: number }} Row
 */

const ringSize = 2 ** 32
const ownersShown = 200

/**
 * The tokens, the owners or the head of a stored plan; nothing for a plan of scheme table.
 *
 * @param {{ plan: Plan }} props
 */
export function Scheme({ plan }) {
  const scheme = plan.ring ? 'ring' : plan.ranges ? 'ranges' : plan.pkg ? 'pkg' : null
  // Its lists are of some length and never change: they are asked for once.
  /** @type {Watched<Plan>} */
  const full = useResource(scheme && `v1/plans/${encodeURIComponent(plan.id)}`, {
    query: { include: 'routing_table' },
  })
  if (scheme === null) return null
  const { title, aside, draw } = lists[scheme]
  return html`<${Card} title=${title} class="plan-owners" aside=${aside?.(plan)}>
    ${loaded(full, (shown) => draw(shown, plan))}
  <//>`
}

/** @typedef {{ title: string, aside?: (plan: Plan) => string, draw: (full: Plan, plan: Plan) => Children }} List */

/** @type {Record<string, List>} */
const lists = {
  ranges: {
    title: 'Who owns which keys after the plan',
    aside: ({ ranges }) => counted(ranges?.size_after, 'range'),
    draw: ({ ranges }) => html`<${FirstOf} of=${ranges?.owners ?? []} step=${ownersShown} render=${ownersTable} />`,
  },
  pkg: {
    title: 'Candidates of keys',
    aside: ({ pkg }) => `${counted(pkg?.size_after, 'key')} in the head`,
    draw: ({ pkg }, plan) => html`<${Head} plan=${plan} pkg=${pkg} />`,
  },
  ring: { title: 'Tokens', draw: ({ ring }, plan) => html`<${Tokens} plan=${plan} ring=${ring} />` },
}

/**
 * What a plan changes in the head, and what its pairs and merges come to.
 *
 * @param {{ plan: Plan, pkg: API['PkgDiff'] }} props
 */
function Head({ plan, pkg }) {
  /** @param {(i: API['Load']) => number | undefined} of */
  const sum = (of) => count(plan.instances.reduce((all, i) => all + (of(i) ?? 0), 0))
  const rows = [
    ...(pkg.set ?? []).map(({ key, choices }) => ({ key, choices: `${count(choices)}` })),
    ...(pkg.unset ?? []).map((key) => ({ key, choices: `${count(plan.parameters.pkg?.choices)}, as others` })),
  ]
  return html`
    <p>
      After the plan at most ${sum((i) => i.keys_after)} pairs of a key and an instance hold
      state, ${sum((i) => i.keys_before)} before; of these ${sum((i) => i.merges_after)} are merged with others in each
      interval, ${sum((i) => i.merges_before)} before.
    </p>
    ${
      rows.length === 0
        ? html`<p class="muted">No key enters or leaves the head, or gets another number of candidates.</p>`
        : html`<${FirstOf} of=${rows} step=${ownersShown} render=${headTable} />`
    }
  `
}

/** @param {{ key: string, choices: string }[]} rows */
const headTable = (rows) =>
  plainTable('Keys that get another number of candidates', rows, [
    ['Key', (r) => html`<code class="plan-key clip" title=${r.key}>${r.key}</code>`],
    ['Candidates', (r) => r.choices, 'number'],
  ])

/** @param {API['RangeOwner'][]} owners */
const ownersTable = (owners) =>
  plainTable('Ranges of keys and the instances that own them', owners, [
    ['From', (o) => html`<${End} at=${o.from} none="the least key" />`],
    ['To, exclusive', (o) => html`<${End} at=${o.to} none="the greatest key" />`],
    ['Instance', (o) => html`<${Instance} id=${o.instance} />`, 'number'],
  ])

/** @param {{ at: string | null, none: string }} props */
const End = ({ at, none }) =>
  at === null || at === ''
    ? html`<span class="muted">${none}</span>`
    : html`<code class="plan-key clip" title=${at}>${at}</code>`

/** @param {{ plan: Plan, ring: API['RingDiff'] }} props */
function Tokens({ plan, ring }) {
  const added = ring.tokens_added ?? []
  const removed = ring.tokens_removed ?? []
  const path = `v1/operators/${encodeURIComponent(plan.operator)}/routing-table`
  /** @type {Watched<API['RoutingTable']>} */
  const before = useResource(path, {
    query: { version: plan.base_version },
    load: (signal) => request('GET', path, { query: { version: plan.base_version }, signal }),
  })
  if (before.problem && before.data === null && before.problem.status !== 410 && before.problem.status !== 404)
    return html`<${Trouble} problem=${before.problem} retry=${before.reload} />`
  const rows = tokensOf(plan, before.data?.tokens, added, removed)
  const changed = rows.filter((r) => r.added + r.removed > 0)
  return html`
    <p>
      ${counted(added.length, 'token')} ${added.length === 1 ? 'comes' : 'come'}
      , ${count(removed.length)} ${removed.length === 1 ? 'goes' : 'go'}: ${counted(ring.size_after, 'token')} on the
      ring after the plan, ${count(ring.size_before)} before.
    </p>
    ${
      changed.length > 0 &&
      html`<${Chart}
        height=${Math.min(460, 26 * changed.length + 84)}
        depends=${[plan.id, before.data]}
        label="Where on the ring tokens come and go, by instance"
        option=${(p) => positions(p, plan, changed, added, removed)}
      />`
    }
${plainTable('Tokens of each instance', rows, [
  ['Instance', (r) => html`<${Instance} id=${r.id} />`],
  ['Before', (r) => count(r.before), 'number'],
  ['Added', (r) => (r.added > 0 ? `+${count(r.added)}` : ''), 'number'],
  ['Removed', (r) => (r.removed > 0 ? `−${count(r.removed)}` : ''), 'number'],
  ['After', (r) => count(r.before === undefined ? undefined : r.before + r.added - r.removed), 'number'],
])}
${
  before.problem &&
  html`<p class="hint">
        How many tokens each instance had is not known any more: the base version is no longer kept.
      </p>`
}
  `
}

/**
 * Tokens by instance; before is undefined where the base version is not known.
 *
 * @param {Plan} plan
 * @param {API['RingTokens'][] | undefined} base
 * @param {API['RingToken'][]} added
 * @param {API['RingToken'][]} removed
 * @returns {Row[]}
 */
function tokensOf(plan, base, added, removed) {
  const [come, go] = [added, removed].map((tokens) => Map.groupBy(tokens, (t) => t.instance))
  const had = base && new Map(base.map((t) => [t.instance, t.tokens]))
  const ids = [...new Set([...plan.instances.map((i) => i.id), ...come.keys(), ...go.keys()])].sort((a, b) => a - b)
  return ids.map((id) => ({
    id,
    before: had && (had.get(id) ?? 0),
    added: come.get(id)?.length ?? 0,
    removed: go.get(id)?.length ?? 0,
  }))
}

/**
 * @param {Palette} p
 * @param {Plan} plan
 * @param {Row[]} rows
 * @param {API['RingToken'][]} added
 * @param {API['RingToken'][]} removed
 */
function positions(p, plan, rows, added, removed) {
  /** @param {API['RingToken'][]} tokens */
  const points = (tokens) => tokens.map((t) => ({ value: [t.position / ringSize, String(t.instance)], token: t }))
  return {
    grid: { left: 8, right: 16, top: 30, bottom: 4, containLabel: true },
    legend: { top: 0, left: 0, icon: 'circle' },
    tooltip: {
      trigger: 'item',
      formatter: (/** @type {{ seriesName: string, data: { token: API['RingToken'] } }} */ { seriesName, data }) =>
        `${seriesName}: token ${data.token.index} of instance ${drawn(plan, data.token.instance)}\n` +
        `position ${count(data.token.position)}`,
    },
    xAxis: axis(p, {
      type: 'value',
      min: 0,
      max: 1,
      axisLabel: {
        formatter: (/** @type {number} */ v) => (v === 0 ? '0' : v === 1 ? '2³²' : `${Number(v.toFixed(2))} · 2³²`),
      },
    }),
    yAxis: axis(p, {
      type: 'category',
      data: rows.map((r) => String(r.id)),
      inverse: true,
      axisLabel: { formatter: (/** @type {string} */ id) => drawn(plan, Number(id), 12) },
      splitLine: { show: true, lineStyle: { color: p.line } },
    }),
    series: [
      { name: 'Added', type: 'scatter', symbolSize: 9, color: p.after, data: points(added) },
      { name: 'Removed', type: 'scatter', symbol: 'emptyCircle', symbolSize: 9, color: p.muted, data: points(removed) },
    ],
  }
}
