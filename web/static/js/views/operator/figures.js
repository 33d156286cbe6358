// The figures of an operator at a glance.

import { count, counted, percent, state, useStateUnit } from '../../format.js'
import { html } from '../../html.js'
import { Course, isWithin, judge, Marks } from '../../judge.js'
import { Stats } from '../../parts.js'
import { link } from '../../route.js'
import { certificate, movesOn, tableOf } from '../../words.js'
import { intervalWords } from './plans.js'

/**
 * @import { Stat } from '../../parts.js'
 * @import { Operator } from './page.js'
 * @import { Interval } from './plans.js'
 */

/** @param {PlanSummary} plan */
const to = (plan) => html`<a class="nowrap" href=${link(['plans', plan.id])}>${intervalWords(plan)}</a>`

/**
 * intervals are oldest first, plans newest first.
 *
 * @param {{ operator: Operator, intervals: Interval[], plans: PlanSummary[] }} props
 */
export function Figures({ operator, intervals, plans }) {
  useStateUnit()
  const newest = intervals.at(-1)
  if (!newest) return null
  return html`<${Stats}
    items=${[theta(newest), table(operator, newest.any), migration(plans, intervals.length), proof(plans)]}
  />`
}

/**
 * @param {Interval} interval
 * @returns {Stat}
 */
function theta({ plan, any }) {
  const bound = any.parameters.theta_max
  return {
    label: 'θ before → after',
    value: plan === null ? percent(any.theta.before) : html`<${Course} theta=${plan.theta} bound=${bound} />`,
    tone: plan !== null ? judge(plan.theta, bound).tone : isWithin(any.theta.before, bound) ? 'good' : 'bad',
    note: html`${
      plan === null
        ? 'before planning: its plan came to nothing, '
        : html`${movesOn(plan.status) && 'planned: '}<${Marks} theta=${plan.theta} bound=${bound} />${' '}`
    }${to(any)}`,
  }
}

/** @type {Record<string, [label: string, one: string, many: string]>} */
const named = {
  table: ['Routing table', 'entry', 'entries'],
  ring: ['Instances on the ring', 'instance', 'instances'],
  ranges: ['Ranges', 'range', 'ranges'],
}

/**
 * @param {Operator} operator
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
  const { gap, infeasible } = last.certificate
  const value = infeasible ? 'Infeasible' : gap === null ? 'No gap' : gap === 0 ? 'Optimal' : `Gap ${percent(gap)}`
  return {
    label,
    value,
    tone: infeasible ? 'bad' : gap === 0 && last.balanced && last.table_within_limit ? 'good' : '',
    note: html`${certificate(last)[0]} From ${to(last)}.`,
  }
}
