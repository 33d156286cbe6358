// The answer to an analysis of key ranges.

import { amount, count, counted, percent, some, state, stateOnly, useStateUnit } from '../../format.js'
import { html } from '../../html.js'
import { Card, PlainTable, Stats } from '../../parts.js'
import { setQuery } from '../../route.js'
import { cause } from '../../words.js'
import { Loads } from './drawing.js'
import { KeySpace } from './keyspace.js'

/** @import { Column, Stat } from '../../parts.js' */

/** @type {Record<string, string>} */
const methodWords = { min_movement: 'Least movement', quantile: 'Quantiles' }
/** @type {Record<string, string>} */
const statusWords = { joined: 'joins', left: 'leaves', crashed: 'crashed' }

/** @param {{ result: API['RangesResult'], query: Query, values: { theta_max?: number } }} props */
export function Ranges({ result, query, values }) {
  useStateUnit()
  const plan = result.plans.find((p) => p.method === query.by) ?? result.plans[0]
  const theta = values.theta_max ?? 0.08
  const chooser =
    result.plans.length > 1 &&
    html`<label class="analyses-choose">
      Method <select value=${plan.method} onChange=${(e) => setQuery({ by: e.currentTarget.value })}>
        ${result.plans.map((p) => html`<option value=${p.method} key=${p.method}>${methodWords[p.method]}</option>`)}
      </select>
    </label>`
  return html`
    <div class="bar"><h2 class="analyses-heading">${methodWords[plan.method]}</h2>${chooser}</div>
    <${Stats} items=${figures(result, plan)} />
    <${Said} plan=${plan} result=${result} />
    <${KeySpace} plan=${plan} result=${result} width=${query.width === 'keys' ? 'keys' : 'cost'} />
    <div class="grid">
      <${Card} class="half" title="Load of each follower, as a share of the whole">
        <${Loads}
          rows=${plan.followers.map((f) => ({
            id: f.id,
            before: f.before,
            after: f.after,
            bound: f.fair > 0 ? (1 + theta) * f.fair : null,
          }))}
          member="Follower"
          unit="share"
          format=${percent}
          full=${percent}
          bound="bound by θ_max"
          label="Shares of ${counted(
            plan.followers.length,
            'follower',
          )} before and after; the greatest overload goes from ${percent(plan.theta.before)} to ${percent(
            plan.theta.after,
          )}."
        />
      <//>
      <${Card} class="half" title="Both methods"><${Compared} plans=${result.plans} /><//>
    </div>
    <${Card} title="Transfers"><${Transfers} plan=${plan} /><//>
    <${Card} title="Followers"><${Followers} plan=${plan} /><//>
    ${
      plan.heavy_keys.length > 0 &&
      html`<${Card} title="Keys heavier than any follower may carry"><${HeavyKeys} plan=${plan} /><//>`
    }
    ${
      plan.empty.length > 0 &&
      html`<${Card} title="Followers without any known key"><${EmptyFollowers} empty=${plan.empty} /><//>`
    }
    ${result.sketch && html`<${Sketch} sketch=${result.sketch} plan=${plan} />`}
    ${
      result.table &&
      html`<${Card} title="All joins and leaves beside the formulas"><${Table} rows=${result.table} /><//>`
    }
  `
}

/**
 * @param {API['RangesResult']} result
 * @param {API['RangesPlan']} plan
 * @returns {Stat[]}
 */
const figures = (result, plan) => [
  { label: 'Keys', value: count(result.keys), note: `cost ${amount(result.cost)}, ${state(result.state)}` },
  {
    label: 'Greatest overload θ',
    value: percent(plan.theta.after),
    note:
      (result.event === 'create' ? 'a first division' : `before ${percent(plan.theta.before)}`) +
      (plan.theta_error.after > 0 ? `, ± ${percent(plan.theta_error.after)}` : ''),
    tone: plan.balanced ? 'good' : 'warn',
  },
  {
    label: 'Changes its owner',
    value: percent(plan.moved),
    note: `${counted(plan.keys_moved, 'key')}, ${state(plan.state_moved)}`,
  },
  {
    label: 'Proven: not less',
    value: percent(plan.lower_bound),
    note:
      plan.formula === null
        ? 'by any division within the tolerance'
        : `formula of the proposal: ${percent(plan.formula)}`,
  },
  { label: 'Intervals', value: count(plan.owner_count), note: counted(plan.transfer_count, 'transfer') },
]

/** @param {{ plan: API['RangesPlan'], result: API['RangesResult'] }} props */
function Said({ plan, result }) {
  const said = [
    ...(result.event === 'create' ? [] : plan.causes.map(cause)),
    plan.lost > 0 && `${percent(plan.lost)} of the whole is lost: those that had it and their replicas are gone.`,
    plan.sent < plan.moved &&
      plan.lost === 0 &&
      plan.moved > 0 &&
      `${percent(plan.sent)} of the whole crosses the network; of the rest the new owner is the replica.`,
    result.event === 'create' && 'This is a first division, so nothing moves.',
    plan.actual &&
      `For the true keys, not the sketch, θ goes from ${percent(plan.actual.theta.before)}` +
        ` to ${percent(plan.actual.theta.after)}, and ${percent(plan.actual.moved)} changes its owner.`,
  ].filter(Boolean)
  return said.length === 0 ? null : html`<p>${said.join(' ')}</p>`
}

/** @param {{ plans: API['RangesPlan'][] }} props */
const Compared = ({ plans }) =>
  html`<${PlainTable}
    caption="Figures of both methods"
    rows=${plans}
    rowKey=${(/** @type {{ method: string }} */ p) => p.method}
    columns=${
      /** @type {Column<API['RangesPlan']>[]} */ ([
        { head: 'Method', of: (p) => methodWords[p.method] },
        { head: 'θ after', of: (p) => percent(p.theta.after), number: true },
        { head: 'Moved', of: (p) => percent(p.moved), number: true },
        { head: 'Not less', of: (p) => percent(p.lower_bound), number: true },
        { head: 'Formula', of: (p) => percent(p.formula), number: true },
        { head: 'State moved', of: (p) => percent(p.state_fraction), number: true },
        { head: 'Intervals', of: (p) => count(p.owner_count), number: true },
      ])
    }
  />`

/**
 * @param {string | null} key
 * @param {string} open
 */
const bound = (key, open) =>
  key === null || key === '' ? html`<span class="muted">${open}</span>` : html`<code class="analyses-key">${key}</code>`

/**
 * Who sends an interval, and who answers for it meanwhile.
 *
 * @param {API['RangesTransfer']} transfer
 */
function sourceWords({ source, from, to }) {
  if (source === null) return 'lost'
  if (source === to) return 'the new owner has it as a replica'
  return source === from ? 'the old owner' : `follower ${source}, its replica`
}

/** @param {{ plan: API['RangesPlan'] }} props */
function Transfers({ plan }) {
  if (plan.transfers.length === 0) return html`<p class="muted">No interval changes its owner.</p>`
  return html`
    <p class="hint">
      ${
        plan.transfers.length < plan.transfer_count
          ? `The first ${count(plan.transfers.length)} of ${counted(plan.transfer_count, 'transfer')},` +
            ' the largest first. '
          : ''
      }
      While keys are asked for, whoever sends an interval answers for its keys until the new owner has them.
    </p>
    <div class="analyses-tall">
      <${PlainTable}
        caption="Transfers, the largest first"
        rows=${plan.transfers}
        rowKey=${(/** @type {{ low: string }} */ t) => t.low}
        columns=${
          /** @type {Column<API['RangesTransfer']>[]} */ ([
            { head: 'From key', of: (t) => bound(t.low, 'the beginning') },
            { head: 'To key, exclusive', of: (t) => bound(t.high, 'the end') },
            { head: 'From', of: (t) => t.from, number: true },
            { head: 'To', of: (t) => t.to, number: true },
            { head: 'Sent by', of: sourceWords },
            {
              head: 'Share',
              of: (t) => `${percent(t.share)}${t.share_error > 0 ? ` ± ${percent(t.share_error)}` : ''}`,
              number: true,
            },
            { head: 'Keys', of: (t) => count(t.keys), number: true },
            { head: 'Cost', of: (t) => amount(t.cost), number: true },
            { head: 'State', of: (t) => stateOnly(t.state), number: true },
          ])
        }
      />
    </div>
  `
}

/** @param {API['RangesLoad']} follower */
const followerWords = ({ id, status }) => (status ? `${id}, ${statusWords[status] ?? status}` : String(id))

/**
 * @param {number} before
 * @param {number} after
 */
const arrow = (before, after) => `${count(before)} → ${count(after)}`

/** @param {{ plan: API['RangesPlan'] }} props */
const Followers = ({ plan }) =>
  html`<div class="analyses-tall">
    <${PlainTable}
      caption="Followers before and after"
      rows=${plan.followers}
      rowKey=${(/** @type {{ id: number }} */ f) => f.id}
      columns=${
        /** @type {Column<API['RangesLoad']>[]} */ ([
          { head: 'Follower', of: (f) => followerWords(f) },
          { head: 'Fair share', of: (f) => percent(f.fair), number: true },
          { head: 'Before', of: (f) => percent(f.before), number: true },
          {
            head: 'After',
            of: (f) => `${percent(f.after)}${f.after_error > 0 ? ` ± ${percent(f.after_error)}` : ''}`,
            number: true,
          },
          { head: 'Intervals', of: (f) => arrow(f.intervals_before, f.intervals_after), number: true },
          { head: 'Keys', of: (f) => arrow(f.keys_before, f.keys_after), number: true },
          { head: 'In', of: (f) => percent(f.in), number: true },
          { head: 'Out', of: (f) => percent(f.out), number: true },
          { head: 'State in', of: (f) => stateOnly(f.state_in), number: true },
          { head: 'State out', of: (f) => stateOnly(f.state_out), number: true },
        ])
      }
    />
  </div>`

/** @param {{ plan: API['RangesPlan'] }} props */
const HeavyKeys = ({ plan }) =>
  html`
    ${
      plan.heavy_keys.length < plan.heavy_key_count &&
      html`<p class="hint">The first ${count(plan.heavy_keys.length)} of ${counted(plan.heavy_key_count, 'key')}.</p>`
    }
    <div class="analyses-tall">
      <${PlainTable}
        caption="Heavy keys"
        rows=${plan.heavy_keys}
        rowKey=${(/** @type {{ key: string }} */ k) => k.key}
        columns=${
          /** @type {Column<API['RangesHeavyKey']>[]} */ ([
            { head: 'Key', of: (k) => html`<code class="analyses-key">${k.key}</code>` },
            { head: 'Follower', of: (k) => k.follower, number: true },
            { head: 'Share', of: (k) => percent(k.share), number: true },
            { head: 'Least θ because of it', of: (k) => percent(k.forced_theta), number: true },
          ])
        }
      />
    </div>
  `

/** @param {{ empty: API['RangesEmpty'][] }} props */
function EmptyFollowers({ empty }) {
  const crowded = empty.filter((e) => e.key !== null)
  const others = empty.filter((e) => e.key === null).map((e) => e.follower)
  return html`
    ${others.length > 0 && html`<p>${others.length === 1 ? 'Follower' : 'Followers'} ${some(others, 40)}.</p>`}
    ${
      crowded.length > 0 &&
      html`<div class="analyses-tall">
        <${PlainTable}
          caption="Followers whose range one key covers"
          rows=${crowded}
          rowKey=${(/** @type {{ follower: number }} */ e) => e.follower}
          columns=${
            /** @type {Column<API['RangesEmpty']>[]} */ ([
              { head: 'Follower', of: (e) => e.follower },
              { head: 'Key that covers all of its range', of: (e) => html`<code class="analyses-key">${e.key}</code>` },
              { head: 'Share of that key', of: (e) => percent(e.share), number: true },
            ])
          }
        />
      </div>`
    }
  `
}

/** @param {{ sketch: API['RangesSketch'] }} props */
const Sketch = ({ sketch: s }) =>
  html`<${Card} title="The sketches">
    <${Stats}
      items=${[
        { label: 'Sketches merged', value: count(s.sketches), note: `k = ${count(s.k)}` },
        { label: 'Keys kept', value: count(s.kept), note: counted(s.bytes, 'byte') },
        {
          label: 'Bound on any rank',
          value: `± ${percent(s.rank_error)}`,
          note: `with a confidence of ${percent(s.confidence)}`,
        },
        { label: 'Greatest error in fact', value: percent(s.actual_error) },
      ]}
    />
  <//>`

/** @param {{ rows: API['RangesRow'][] }} props */
const Table = ({ rows }) =>
  html`
    <div class="analyses-tall">
      <${PlainTable}
        caption="All joins and leaves"
        rows=${rows.slice(0, 1_000)}
        columns=${
          /** @type {Column<API['RangesRow']>[]} */ ([
            { head: 'Event', of: (r) => r.event },
            { head: 'Followers', of: (r) => r.followers, number: true },
            { head: 'Left', of: (r) => r.left, number: true },
            { head: 'Right', of: (r) => r.right, number: true },
            { head: 'Formula', of: (r) => percent(r.formula), number: true },
            { head: 'Quantiles move', of: (r) => percent(r.quantile), number: true },
            { head: '1/n', of: (r) => percent(r.least), number: true },
            { head: 'Least movement moves', of: (r) => percent(r.min_movement), number: true },
            { head: 'Not less', of: (r) => percent(r.lower_bound), number: true },
            { head: 'θ, quantiles', of: (r) => percent(r.theta_quantile), number: true },
            { head: 'θ, least movement', of: (r) => percent(r.theta_min_movement), number: true },
          ])
        }
      />
    </div>
    ${
      rows.length > 1_000 &&
      html`<p class="hint">The first 1,000 of ${count(rows.length)} rows; the whole is in the answer of the API.</p>`
    }
  `
