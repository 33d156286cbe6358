// Which plan put a key where it is, and what the plan under way would do with it.

import { request, useResource } from '../../api.js'
import { count } from '../../format.js'
import { html } from '../../html.js'
import { named } from '../../instances.js'
import { Status, Time } from '../../parts.js'
import { link } from '../../route.js'
import { reasonWords } from '../../words.js'
import { partsText } from '../plan/splits.js'

const most = 50 // committed plans that are looked through

/**
 * What a plan does to a key: to its entry, and to where its state is.
 *
 * @typedef {object} Doing
 * @property {PlanSummary} plan
 * @property {API['TableChange'] | null} change
 * @property {API['Migration'] | null} migration
 */

/** @typedef {{ by: Doing | null, looked: number, next: Doing | null }} Known */

/**
 * What a plan does to a key; null where it moves no single keys.
 *
 * @param {PlanSummary} plan
 * @param {Record<string, string | null>} key
 * @param {AbortSignal} signal
 * @returns {Promise<Doing | null>}
 */
async function doingOf(plan, key, signal) {
  if (plan.migrates !== 'keys') return null
  /**
   * The item of that very key: of all that begin like it, it comes first.
   *
   * @param {string} list
   * @param {string} member
   */
  const one = async (list, member) => {
    const query = { ...key, page_size: 1 }
    const { data } = await request('GET', `v1/plans/${encodeURIComponent(plan.id)}/${list}`, { query, signal })
    const [first] = data[member]
    return first?.key === key.key_prefix ? first : null
  }
  const [change, migration] = await Promise.all([one('routing-table', 'changes'), one('migrations', 'migrations')])
  return { plan, change, migration }
}

/**
 * @param {API['Operator']} operator
 * @param {Record<string, string | null>} key
 * @param {AbortSignal} signal
 * @returns {Promise<{ data: Known }>}
 */
async function load(operator, key, signal) {
  const path = `v1/operators/${encodeURIComponent(operator.name)}/plans`
  const query = { status: 'committed', page_size: most }
  /** @type {{ data: { plans: PlanSummary[] } }} */
  const { data } = await request('GET', path, { query, signal })
  let by = null
  for (const plan of data.plans) {
    const doing = await doingOf(plan, key, signal)
    if (!doing?.change && !doing?.migration) continue
    by = doing
    break
  }
  let next = null
  if (operator.current_plan) {
    const current = await request('GET', `v1/plans/${encodeURIComponent(operator.current_plan)}`, { signal })
    next = await doingOf(current.data, key, signal)
  }
  return { data: { by, looked: data.plans.length, next } }
}

/** @param {{ plan: PlanSummary, the?: string }} props */
const Named = ({ plan, the = 'the' }) =>
  html`<a href=${link(['plans', plan.id])}>${the} plan of interval ${count(plan.interval)}</a>${' '}<${Status}
      status=${plan.status}
    />`

/**
 * @param {API['Operator']} operator
 * @param {API['Migration']} migration
 */
const fromTo = (operator, { from, to }) => `from instance ${named(operator, from)} to instance ${named(operator, to)}`

/** @param {API['Migration'] | null} migration */
const why = (migration) => (migration ? ` (${reasonWords[migration.reason] ?? migration.reason})` : '')

/**
 * @param {API['Operator']} operator
 * @param {Known} known
 */
function past(operator, { by, looked }) {
  if (by === null)
    return looked < most
      ? 'No plan that is kept has moved it or changed its entry.'
      : `None of the newest ${count(most)} committed plans has moved it or changed its entry.`
  const { plan, change, migration } = by
  const did = migration
    ? `it was moved ${fromTo(operator, migration)}${why(migration)}`
    : change?.instance === null
      ? 'its entry was removed'
      : change?.parts
        ? `it was split over instances ${partsText(change.parts, operator)}, without moving anything`
        : `its entry was set to instance ${named(operator, change?.instance ?? null)}, without moving it`
  return html`By <${Named} plan=${plan} />${' '}${did}; that was made <${Time} at=${plan.created_at} />.`
}

/**
 * @param {API['Operator']} operator
 * @param {Known} known
 */
function future(operator, { next }) {
  if (next === null) return null
  const { plan, change, migration } = next
  const does = migration
    ? `would move it ${fromTo(operator, migration)}${why(migration)}`
    : change?.parts
      ? `would split it over instances ${partsText(change.parts, operator)}`
      : change
        ? `would leave it there, and ${change.instance === null ? 'remove its entry' : 'give it an entry'}`
        : 'would leave it where it is'
  return html`<p><${Named} plan=${plan} the="The" />${' '}${does}.</p>`
}

/**
 * @param {{ operator: API['Operator'], asked: string, encoding: string }} props
 */
export function Story({ operator, asked, encoding }) {
  const key = { key_prefix: asked, key_encoding: encoding || null }
  const stamp = `${operator.table_version}.${operator.current_plan}.${operator.current_plan_status}`
  const known = useResource(`story/${operator.name}/${encoding}/${asked}#${stamp}`, {
    load: (signal) => load(operator, key, signal),
  })
  if (known.data === null) return known.problem ? null : html`<p class="muted">Looking through the plans …</p>`
  return html`<div class="operator-story">
    <p>${past(operator, known.data)}</p>
    ${future(operator, known.data)}
  </div>`
}
