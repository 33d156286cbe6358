// A plan beside another one of its operator: what both cost and gain, and which keys they move otherwise.

import { useList, useResource } from '../../api.js'
import { amount, count, counted, levelText, percent, state, stateOnly } from '../../format.js'
import { html, useState } from '../../html.js'
import { Instance } from '../../instances.js'
import { Dialog, firstOnly, loaded, plainTable, selectField } from '../../parts.js'
import { beside } from '../../resources.js'
import { statusWords } from '../../words.js'

const offered = 50 // plans to compare with
const shownKeys = 100

/** @param {{ plan: Plan }} props */
export function Compare({ plan }) {
  const [open, setOpen] = useState(false)
  if (plan.migrates !== 'keys') return null
  return html`
    <button type="button" onClick=${() => setOpen(true)}>Compare with…</button>
    ${open && html`<${With} plan=${plan} onClose=${() => setOpen(false)} />`}
  `
}

/** @param {PlanSummary} p */
const nameOf = (p) =>
  `Interval ${count(p.interval)}${p.epoch > 0 ? `, epoch ${count(p.epoch)}` : ''}, ${statusWords[p.status]}`

/** @param {{ plan: Plan, onClose: () => void }} props */
function With({ plan, onClose }) {
  const [chosen, choose] = useState(/** @type {string | null} */ (null))
  /** @type {Watched<Items<PlanSummary>>} */
  const plans = useList(`v1/operators/${encodeURIComponent(plan.operator)}/plans`, 'plans', { limit: offered })
  return html`<${Dialog} title=${`Compare the plan of interval ${count(plan.interval)}`} onClose=${onClose}>
    ${loaded(
      plans,
      ({ items }) => {
        const at = items.findIndex((p) => p.id === plan.id)
        const others = items.filter((p) => p.id !== plan.id && p.migrates === 'keys')
        const before = items.slice(at + 1).find((p) => p.migrates === 'keys' && p.migration.keys > 0)
        const other = others.find((p) => p.id === chosen) ?? before ?? others[0]
        return other
          ? html`
              ${selectField(
                'With',
                other.id,
                others.map((p) => [p.id, nameOf(p)]),
                choose,
              )}
              <${Differences} key=${other.id} plan=${plan} other=${other.id} />
            `
          : html`<p>The operator has no other plan that moves keys.</p>`
      },
      6,
    )}
    <footer class="row form-foot"><button type="button" onClick=${onClose}>Close</button></footer>
  <//>`
}

/** @param {{ plan: Plan, other: string }} props */
function Differences({ plan, other }) {
  /** @type {Watched<API['PlanDiff']>} */
  const diff = useResource(`v1/plans/${encodeURIComponent(plan.id)}/diff`, {
    query: { with: other, page_size: shownKeys },
  })
  /** @type {Watched<Plan>} */
  const full = useResource(plan.resources ? `v1/plans/${encodeURIComponent(other)}` : null)
  return loaded(
    diff,
    (d) => {
      /** @type {[string, (p: API['ComparedPlan'], whole: Plan | null) => Children][]} */
      const figures = [
        ['θ before', (p) => percent(p.theta.before)],
        ['θ after', (p) => percent(p.theta.after)],
        ['Keys that move', (p) => count(p.migration.keys)],
        ['State that moves', (p) => `${state(p.migration.state)}, ${percent(p.migration.fraction)}`],
        ...beside(plan).map(({ name, limit }) => levels(name, limit)),
      ]
      return html`
        ${plainTable('What both plans cost and gain', figures, [
          ['', ([name]) => name],
          ['This plan', ([, cell]) => cell(d.this, plan), 'number'],
          ['The other', ([, cell]) => cell(d.other, full.data), 'number'],
        ])}
        <p>
          ${counted(d.same, 'key')} ${d.same === 1 ? 'moves' : 'move'} alike, ${count(d.elsewhere)} to another instance;
          ${' '}${count(d.only_this)} ${d.only_this === 1 ? 'moves' : 'move'} in this plan alone,
          ${' '}${count(d.only_other)} in the other.
        </p>
        ${
          d.keys.length > 0 &&
          plainTable('Keys that the plans do not move alike, the costliest first', d.keys, [
            ['Key', (k) => k.key],
            ['This plan', (k) => course(k.from, k.to)],
            ['The other', (k) => course(k.other_from, k.other_to)],
            ['Cost', (k) => amount(k.cost), 'number'],
            ['State', (k) => stateOnly(k.state), 'number'],
          ])
        }
        ${firstOnly(d.keys.length, d.total_size, 'key')}
      `
    },
    6,
  )
}

/**
 * The levels of a resource before and after plans.
 *
 * @param {string} name
 * @param {boolean} limit
 * @returns {[string, (p: API['ComparedPlan'], whole: Plan | null) => Children]}
 */
const levels = (name, limit) => [
  `${name}: ${limit ? 'of the fullest instance' : 'θ'} before → after`,
  (_, whole) => {
    const level = whole?.resources?.find((r) => r.name === name)?.level
    return `${levelText(level?.before)} → ${levelText(level?.after)}`
  },
]

/**
 * @param {number | null} from
 * @param {number | null} to
 */
const course = (from, to) =>
  from === null || to === null
    ? html`<span class="muted">stays</span>`
    : html`<${Instance} id=${from} /> → <${Instance} id=${to} />`
