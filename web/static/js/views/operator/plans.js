// The plans of an operator as its page needs them: loaded, renewed, and by interval.

import { request, useResource } from '../../api.js'
import { count } from '../../format.js'
import { useEffect, useRef } from '../../html.js'

/** @param {string} name */
const path = (name) => `v1/operators/${encodeURIComponent(name)}/plans`
const most = 5 // plans of an interval, on average, that are looked through

/**
 * How many plans are wanted, or those of how many intervals.
 *
 * @typedef {{ plans?: number, intervals?: number }} Wanted
 */

/** @typedef {{ plans: PlanSummary[], more: boolean }} Found */

/**
 * An interval and its plans: plan is the newest that has not come to nothing, ended are
 * those that have, any is the one to show for the statistics, which are of the interval
 * whatever became of the plan.
 *
 * @typedef {object} Interval
 * @property {number} epoch
 * @property {number} interval
 * @property {PlanSummary | null} plan
 * @property {PlanSummary[]} ended
 * @property {PlanSummary} any
 */

/**
 * The newest plan, asked for again and again.
 *
 * @param {string} name
 * @returns {Watched<{ id: string | null, status: string | null }>}
 */
export const useNewest = (name) =>
  useResource(path(name), {
    every: 5_000,
    load: async (signal) => {
      const { data } = await request('GET', path(name), { query: { page_size: 1 }, signal })
      return { data: data.plans[0] ?? { id: null, status: null } }
    },
  })

/**
 * The newest plans, {plans, more} as data: so many of them, or those of so many
 * intervals. They are loaded anew when the stamp changes; until they are there, and
 * those of another filter too, data is what it was and busy is true.
 *
 * @param {string | null} name
 * @param {Wanted & { filter?: Record<string, string>, stamp: string | null }} wanted
 */
export function usePlans(name, { filter = {}, plans = Infinity, intervals = Infinity, stamp }) {
  const wanted = useRef({ plans, intervals })
  wanted.current = { plans, intervals }
  const source = name === null ? null : `${path(name)}#${JSON.stringify(filter)}`
  const resource = useResource(source, {
    load: async (signal) => ({ data: await load(path(name ?? ''), filter, wanted, signal) }),
  })
  const loaded = useRef(source)
  useEffect(() => {
    // Another source is loaded by the resource itself.
    if (loaded.current === source) resource.reload()
    loaded.current = source
  }, [source, plans, intervals, stamp])
  const shown = useRef(/** @type {Found | null} */ (null))
  if (resource.data !== null) shown.current = resource.data
  const kept = resource.data === null && resource.problem === null && shown.current !== null
  return kept ? { ...resource, data: shown.current, loading: false, busy: true } : { ...resource, busy: false }
}

/**
 * @param {string} from
 * @param {Record<string, string>} filter
 * @param {{ current: Required<Wanted> }} wanted
 * @param {AbortSignal} signal
 * @returns {Promise<Found>}
 */
async function load(from, filter, wanted, signal) {
  /** @type {PlanSummary[]} */
  const out = []
  const seen = new Set()
  /** @type {string | null} */
  let page_token = null
  for (;;) {
    const { plans, intervals } = wanted.current
    const left = Number.isFinite(plans) ? plans - out.length : intervals - seen.size + 1
    /** @type {{ data: { plans: PlanSummary[], next_page_token: string | null } }} */
    const { data } = await request('GET', from, {
      query: { ...filter, page_size: Math.min(1000, Math.max(1, left)), page_token },
      signal,
    })
    for (const plan of data.plans) {
      out.push(plan)
      seen.add(keyOf(plan))
    }
    page_token = data.next_page_token
    // One interval more than is shown: only then all plans of the last one are known.
    if (page_token === null || out.length >= plans || seen.size > intervals || out.length >= most * intervals)
      return { plans: out, more: page_token !== null }
  }
}

/** @param {PlanSummary} plan */
const keyOf = (plan) => `${plan.epoch}.${plan.interval}`

const endedStatuses = new Set(['rejected', 'aborted', 'superseded', 'expired'])

/**
 * Whether a plan came to nothing: its moves were not made.
 *
 * @param {PlanSummary} plan
 */
const ended = (plan) => endedStatuses.has(plan.status)

/**
 * The intervals of plans, oldest first.
 * @param {PlanSummary[]} plans
 */
export function intervalsOf(plans) {
  /** @type {Map<string, Interval>} */
  const out = new Map()
  for (const plan of plans) {
    const { epoch, interval } = plan
    const of = out.get(keyOf(plan)) ?? { epoch, interval, plan: null, ended: [], any: plan }
    out.set(keyOf(plan), of)
    if (ended(plan)) of.ended.push(plan)
    else of.plan ??= plan
  }
  const all = [...out.values()].reverse()
  for (const of of all) of.any = of.plan ?? of.any
  return all
}

/**
 * "interval 42", and of which epoch if there is more than the first.
 *
 * @param {{ epoch: number, interval: number }} of
 */
export const intervalWords = ({ epoch, interval }) =>
  `interval ${count(interval)}${epoch > 0 ? ` of epoch ${count(epoch)}` : ''}`
