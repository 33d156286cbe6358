// What a plan does, and why: the parts that a stored plan and a result of a what-if share.

import { count, counted, percent, state, useStateUnit } from '../../format.js'
import { html, useMemo } from '../../html.js'
import { Course, Marks, outlook } from '../../judge.js'
import { newerOf, NewerFigures } from '../../newer.js'
import { stats } from '../../parts.js'
import { resourceStat } from '../../resources.js'
import { useRoute } from '../../route.js'
import { tableOf } from '../../words.js'
import { Expected } from './expected.js'
import { Flows, flowsOf } from './flow.js'
import { Headline } from './headline.js'
import { HotKeys } from './hotkeys.js'
import { Loads } from './loads.js'
import { isOfQueues, Queues, QueuesHeadline, QueuesStats, QueuesVerdict } from './queues.js'
import { Splits } from './splits.js'
import { InTheWay, Making, reasonsOf, Verdict, Why } from './why.js'

/** @import { FlowsKnown } from './flow.js' */

/** @typedef {{ flows?: FlowsKnown, counts?: Record<string, number> | null }} Summed */

/** @typedef {AnyPlan & { plan?: { migrations: API['Migrations'] } }} Shown */

/**
 * The figures of a plan of the API, or of a WhatIfResult. The query of the page says how
 * they are shown: loads, by, flow, from and to. flows is a resource of {items,
 * more} and counts are migrations by reason; without them both are summed from the
 * migrations that a result has in its plan, and left out where it has none. children
 * stand before the parameters.
 *
 * @param {object} props
 * @param {Shown} props.plan
 * @param {FlowsKnown} [props.flows]
 * @param {Record<string, number> | null} [props.counts]
 * @param {Children} [props.children]
 */
export function PlanFigures({ plan, flows, counts, children }) {
  useStateUnit()
  const { query } = useRoute()
  const own = useMemo(
    () =>
      plan.plan && !flows
        ? /** @type {Summed} */ ({
            flows: { data: { items: flowsOf(plan), more: false }, problem: null },
            counts: reasonsOf(plan),
          })
        : {},
    [plan, flows],
  )
  if (isOfQueues(plan))
    return html`
      <${QueuesHeadline} plan=${plan} />
      <${QueuesStats} plan=${plan} />
      <${InTheWay} pending=${plan.pending} thetaMax=${plan.parameters.theta_max} />
      <div class="grid plan-row"><${Queues} plan=${plan} /><${QueuesVerdict} plan=${plan} /></div>
      ${children}
      <${Making} plan=${plan} />
    `
  const newer = newerOf(plan)
  const shownFlows = flows ?? own.flows
  return html`
    <${Headline} plan=${plan} />
    ${newer && html`<${NewerFigures} newer=${newer} bound=${plan.parameters.theta_max} />`}
    <${PlanStats} plan=${plan} />
    <div class="grid plan-row">
      <${Verdict} plan=${plan} /><${Expected} forecast=${plan.forecast} thetaMax=${plan.parameters.theta_max} />
    </div>
    <${InTheWay} pending=${plan.pending} thetaMax=${plan.parameters.theta_max} />
    <${Loads} plan=${plan} query=${query} />
    <${HotKeys} plan=${plan} />
    <${Splits} plan=${plan} />
    <div class="grid plan-row">
      <div class=${shownFlows ? 'two-thirds' : ''} hidden=${!shownFlows}>
        ${shownFlows && html`<${Flows} plan=${plan} flows=${shownFlows} query=${query} />`}
      </div>
      <div class=${shownFlows ? 'third' : ''}><${Why} plan=${plan} counts=${counts ?? own.counts ?? null} /></div>
    </div>
    ${children}
    <${Making} plan=${plan} />
  `
}

/**
 * A plan in three figures, or four where it is of several resources; the proof has the certificate.
 *
 * @param {{ plan: Shown }} props
 */
function PlanStats({ plan }) {
  const table = tableOf(plan)
  const judged = outlook(plan)
  const limit = plan.parameters.table_limit
  const { keys, state: moved, fraction, forced } = plan.migration
  const unit = plan.affinity ? 'group' : 'key'
  return stats([
    {
      label: judged.missed === null ? 'Greatest overload θ' : 'θ expected next',
      value: html`<${Course} of=${judged} />`,
      note: html`<${Marks} of=${judged} />`,
      tone: judged.tone,
    },
    resourceStat(plan),
    {
      label: 'Migration',
      value: keys === 0 && moved === 0 ? 'None' : state(moved),
      note:
        keys === 0 && moved === 0
          ? 'everything stays'
          : `${counted(keys, unit)}, ${percent(fraction)} of all state${forcedWords(forced, moved)}`,
    },
    {
      label: table.name,
      value: [...new Set([count(table.size_before), count(table.size_after)])].join(' → '),
      note:
        limit === undefined
          ? wholes[table.unit]
          : limit === null
            ? 'entries, no limit'
            : `entries of ${count(limit)} at most`,
      tone: plan.table_within_limit ? undefined : 'bad',
    },
  ])
}

/**
 * How much of what moves has to, whatever the plan: off instances that were removed, or after a changed hash.
 *
 * @param {API['ForcedMigration'] | undefined} forced
 * @param {number} moved
 */
const forcedWords = (forced, moved) =>
  !forced || forced.keys === 0 ? '' : forced.state === moved ? '; all of it has to' : `; ${state(forced.state)} has to`

/**
 * What there is without a limit, by its unit.
 *
 * @type {Record<string, string>}
 */
const wholes = { tokens: 'on the ring', ranges: 'of the key space', 'head keys': 'keys with more candidates' }
