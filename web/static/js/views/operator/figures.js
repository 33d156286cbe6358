// The figures of an operator at a glance.

import { count, counted, levelText, percent, state, useStateUnit } from '../../format.js'
import { useResource } from '../../api.js'
import { html, useEffect, useRef } from '../../html.js'
import { Course, isWithin, Marks, outlook } from '../../judge.js'
import { stats } from '../../parts.js'
import { resourceStat } from '../../resources.js'
import { link } from '../../route.js'
import { certificate, movesOn, tableOf } from '../../words.js'
import { intervalWords } from './plans.js'

/** @import { Interval } from './plans.js' */

/** @param {PlanSummary} plan */
const to = (plan) => html`<a class="nowrap" href=${link(['plans', plan.id])}>${intervalWords(plan)}</a>`

/**
 * intervals are oldest first, plans newest first.
 *
 * @param {{ operator: API['Operator'], intervals: Interval[], plans: PlanSummary[] }} props
 */
export function Figures({ operator, intervals, plans }) {
  useStateUnit()
  const { data } = useRealised(operator, plans)
  const newest = intervals.at(-1)
  // Plans of a list are without their resources.
  /** @type {Watched<Plan>} */
  const full = useResource(operator.resources && newest ? `v1/plans/${newest.any.id}` : null)
  if (!newest) return null
  return stats([
    theta(newest),
    full.data && resourceStat(full.data),
    data?.recent && realised(data.recent.realised),
    data?.recent && broken(operator, data.recent.realised),
    table(operator, newest.any),
    migration(plans, intervals.length),
    proof(plans),
  ])
}

/**
 * The operator with what came true over its plans, asked for anew when these are others.
 *
 * @param {API['Operator']} operator
 * @param {PlanSummary[]} plans
 * @returns {Watched<API['Operator']>}
 */
function useRealised(operator, plans) {
  const resource = useResource(`v1/operators/${encodeURIComponent(operator.name)}`, {
    query: { include: 'recent', window: plans.length },
  })
  const known = useRef(plans)
  useEffect(() => {
    if (known.current !== plans) resource.reload()
    known.current = plans
  }, [plans])
  return resource
}

/**
 * @param {API['Realised']} r
 * @returns {Stat}
 */
function realised(r) {
  return {
    label: 'Intervals above θ_max',
    value: percent(r.above),
    note: html`of ${counted(r.intervals, 'interval')}: θ realised ${percent(r.theta?.median)} in the median,
    p95 ${percent(r.theta?.p95)}. ${counted(r.plans, 'plan')} moved ${percent(r.moved)} of all state,
    of which ${percent(r.returned)} went back where it came from: it moved for nothing`,
  }
}

/**
 * How often the bounds of the resources beside cost were broken.
 *
 * @param {API['Operator']} operator
 * @param {API['Realised']} r
 * @returns {Stat | null}
 */
function broken(operator, { resources: [, ...beside] = [] }) {
  const most = beside.toSorted((a, b) => b.broken - a.broken)[0]
  if (!most) return null
  const limited = (/** @type {string} */ name) => operator.resources?.find((of) => of.name === name)?.limit
  return {
    label: `Intervals above the bound of ${most.name}`,
    value: most.intervals === 0 ? '–' : percent(most.broken / most.intervals),
    note: beside
      .map(
        ({ name, intervals, broken: n, level, greatest }) =>
          `${name}: in ${count(n)} of ${counted(intervals, 'interval')}; ${limited(name) ? 'filling' : 'θ'} realised` +
          ` ${levelText(level?.median)} in the median, ${levelText(greatest)} at most`,
      )
      .join('. '),
  }
}

/**
 * @param {Interval} interval
 * @returns {Stat}
 */
function theta({ plan, any }) {
  const bound = any.parameters.theta_max
  return {
    label: 'θ before → after',
    value: plan === null ? percent(any.theta.before) : html`<${Course} of=${outlook(plan)} />`,
    tone: plan !== null ? outlook(plan).tone : isWithin(any.theta.before, bound) ? 'good' : 'bad',
    note: html`${
      plan === null
        ? 'before planning: its plan was not carried out, '
        : html`${movesOn(plan.status) && 'planned: '}<${Marks} of=${outlook(plan)} />${' '}`
    }${to(any)}`,
  }
}

/** @type {Record<string, [label: string, one: string, many: string]>} */
const named = {
  table: ['Routing table', 'entry', 'entries'],
  ring: ['Instances on the ring', 'instance', 'instances'],
  ranges: ['Ranges', 'range', 'ranges'],
  pkg: ['Head', 'key', 'keys'],
}

/**
 * @param {API['Operator']} operator
 * @param {PlanSummary} newest
 * @returns {Stat}
 */
function table(operator, newest) {
  const [label, one, many] = named[operator.scheme]
  if (operator.table_owner === 'engine')
    return {
      label,
      value: count(tableOf(newest).size_before),
      note: 'keys off their hash instance; the engine holds the table',
    }
  const limit = operator.table_limit ?? null
  const note =
    operator.scheme !== 'table'
      ? `in version ${operator.table_version}`
      : limit === null
        ? 'no limit'
        : `of ${count(limit)} allowed`
  return {
    label,
    value: counted(operator.table_size, one, many),
    tone: limit !== null && operator.table_size > limit ? 'bad' : '',
    note,
  }
}

/**
 * Of the last plan that moved keys and was committed.
 *
 * @param {PlanSummary[]} plans
 * @param {number} intervals
 * @returns {Stat}
 */
function migration(plans, intervals) {
  const last = plans.find((p) => p.status === 'committed' && p.migration.keys > 0)
  const label = 'Last migration'
  if (!last) return { label, value: 'None', note: `no committed plan moved keys in ${counted(intervals, 'interval')}` }
  return {
    label,
    value: state(last.migration.state),
    note: html`${counted(last.migration.keys, 'key')}, ${percent(last.migration.fraction)} of all state, ${to(last)}`,
  }
}

/**
 * @param {PlanSummary[]} plans
 * @returns {Stat}
 */
function proof(plans) {
  const last = plans.find((p) => p.certificate !== null)
  const label = 'Certificate'
  if (!last?.certificate) return { label, value: 'None', note: certificate(plans[0])[0] }
  const { gap, infeasible, scope, lower_bound } = last.certificate
  if (scope === 'candidates')
    return { label, value: `θ ≥ ${percent(lower_bound)}`, note: html`${certificate(last)[0]} From ${to(last)}.` }
  const value = infeasible ? 'Infeasible' : gap === null ? 'No bound' : gap === 0 ? 'Optimal' : `Gap ${percent(gap)}`
  return {
    label,
    value,
    tone: infeasible ? 'bad' : gap === 0 && outlook(last).tone === 'good' && last.table_within_limit ? 'good' : '',
    note: html`${certificate(last)[0]} From ${to(last)}.`,
  }
}
