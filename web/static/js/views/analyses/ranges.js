// The answer to an analysis of key ranges.

import { amount, count, counted, percent, some, state, stateOnly, useStateUnit } from '../../format.js'
import { html } from '../../html.js'
import { Card, choose, firstOnly, plainTable, stats } from '../../parts.js'
import { setQuery } from '../../route.js'
import { cause } from '../../words.js'
import { loadsChart } from './drawing.js'
import { KeySpace } from './keyspace.js'

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
    choose(
      'Method',
      plan.method,
      result.plans.map((p) => [p.method, methodWords[p.method]]),
      (by) => setQuery({ by }),
    )
  return html`
    <div class="row bar"><h2 class="analyses-heading">${methodWords[plan.method]}</h2>${chooser}</div>
    ${stats(figures(result, plan))}
    <${Said} plan=${plan} result=${result} />
    <${KeySpace} plan=${plan} result=${result} width=${query.width === 'keys' ? 'keys' : 'cost'} />
    <div class="grid">
      <${Card} class="half" title="Load of each follower, as a share of the whole">
        ${loadsChart({
          rows: plan.followers.map((f) => ({
            id: f.id,
            before: f.before,
            after: f.after,
            bound: f.fair > 0 ? (1 + theta) * f.fair : null,
          })),
          member: 'Follower',
          unit: 'share',
          format: percent,
          full: percent,
          bound: 'bound by θ_max',
          what: `Shares of ${counted(plan.followers.length, 'follower')}`,
          theta: plan.theta,
        })}
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
    note: result.event === 'create' ? 'a first division' : `before ${percent(plan.theta.before)}`,
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
    ...(result.event === 'create' ? [] : plan.causes.map((code) => cause(code))),
    plan.lost > 0 && `${percent(plan.lost)} of the whole is lost: those that had it and their replicas are gone.`,
    plan.sent < plan.moved &&
      plan.lost === 0 &&
      plan.moved > 0 &&
      `${percent(plan.sent)} of the whole crosses the network; of the rest the new owner is the replica.`,
    result.event === 'create' && 'This is a first division, so nothing moves.',
  ].filter(Boolean)
  return said.length === 0 ? null : html`<p>${said.join(' ')}</p>`
}

/** @param {{ plans: API['RangesPlan'][] }} props */
const Compared = ({ plans }) =>
  plainTable('Figures of both methods', plans, [
    ['Method', (p) => methodWords[p.method]],
    ['θ after', (p) => percent(p.theta.after), 'number'],
    ['Moved', (p) => percent(p.moved), 'number'],
    ['Not less', (p) => percent(p.lower_bound), 'number'],
    ['Formula', (p) => percent(p.formula), 'number'],
    ['State moved', (p) => percent(p.state_fraction), 'number'],
    ['Intervals', (p) => count(p.owner_count), 'number'],
  ])

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
${plainTable('Transfers, the largest first', plan.transfers, [
  ['From key', (t) => bound(t.low, 'the beginning')],
  ['To key, exclusive', (t) => bound(t.high, 'the end')],
  ['From', (t) => t.from, 'number'],
  ['To', (t) => t.to, 'number'],
  ['Sent by', sourceWords],
  ['Share', (t) => percent(t.share), 'number'],
  ['Keys', (t) => count(t.keys), 'number'],
  ['Cost', (t) => amount(t.cost), 'number'],
  ['State', (t) => stateOnly(t.state), 'number'],
])}
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
  plainTable('Followers before and after', plan.followers, [
    ['Follower', (f) => followerWords(f)],
    ['Fair share', (f) => percent(f.fair), 'number'],
    ['Before', (f) => percent(f.before), 'number'],
    ['After', (f) => percent(f.after), 'number'],
    ['Intervals', (f) => arrow(f.intervals_before, f.intervals_after), 'number'],
    ['Keys', (f) => arrow(f.keys_before, f.keys_after), 'number'],
    ['In', (f) => percent(f.in), 'number'],
    ['Out', (f) => percent(f.out), 'number'],
    ['State in', (f) => stateOnly(f.state_in), 'number'],
    ['State out', (f) => stateOnly(f.state_out), 'number'],
  ])

/** @param {{ plan: API['RangesPlan'] }} props */
const HeavyKeys = ({ plan }) =>
  html`
    ${firstOnly(plan.heavy_keys.length, plan.heavy_key_count, 'key')}
${plainTable('Heavy keys', plan.heavy_keys, [
  ['Key', (k) => html`<code class="analyses-key">${k.key}</code>`],
  ['Follower', (k) => k.follower, 'number'],
  ['Share', (k) => percent(k.share), 'number'],
  ['Least θ because of it', (k) => percent(k.forced_theta), 'number'],
])}
`

/** @param {{ empty: API['RangesEmpty'][] }} props */
function EmptyFollowers({ empty }) {
  const crowded = empty.filter((e) => e.key !== null)
  const others = empty.filter((e) => e.key === null).map((e) => e.follower)
  return html`
    ${others.length > 0 && html`<p>${others.length === 1 ? 'Follower' : 'Followers'} ${some(others, 40)}.</p>`}
    ${
      crowded.length > 0 &&
      plainTable('Followers whose range one key covers', crowded, [
        ['Follower', (e) => e.follower],
        ['Key that covers all of its range', (e) => html`<code class="analyses-key">${e.key}</code>`],
        ['Share of that key', (e) => percent(e.share), 'number'],
      ])
    }
  `
}
